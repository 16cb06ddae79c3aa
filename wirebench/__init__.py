"""wirebench: REST, gRPC or a plain socket? Measured, with intervals, and no more than the numbers support."""
