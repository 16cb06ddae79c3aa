"""The same cases against all transports and runtimes."""
