"""What all three services share: settings, lifecycle, health, metrics."""
