"""The one place that executes a plan: run, resume."""
