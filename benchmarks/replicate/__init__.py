"""Whether verdicts replicate: `make replicate`."""
