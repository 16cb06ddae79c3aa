"""The built-in application and the Python variants that serve it."""
