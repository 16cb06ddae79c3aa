"""What the instrument and the verdicts are worth: `make accuracy`, `make coverage` and `make replicate`."""
