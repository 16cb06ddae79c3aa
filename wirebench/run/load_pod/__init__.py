"""What runs in a load pod, and the harness's side of it."""
