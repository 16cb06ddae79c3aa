"""wirebench: REST, gRPC or a plain socket? Measured, with 95 % confidence intervals."""
