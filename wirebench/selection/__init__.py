"""Which results are asked for: the same words on the command line, in the API and in the addresses of pages."""
