"""Processes, ports, signals, files, cgroups and TLS files: nothing that knows what a benchmark is."""
