"""What the services do, with no transport in sight."""
