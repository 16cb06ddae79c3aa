"""A run as one file, for others to import."""
