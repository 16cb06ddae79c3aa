"""The application behind REST."""
