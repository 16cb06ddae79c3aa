"""The application behind gRPC."""
