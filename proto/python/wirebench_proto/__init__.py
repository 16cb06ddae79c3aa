"""Messages, stubs and servicers generated from `proto/wirebench/v1` (`make proto`)."""
