"""The systems under test: one application behind three transports."""
