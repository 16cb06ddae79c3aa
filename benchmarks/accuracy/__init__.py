"""`make accuracy`: what drivers measure, against a server whose latency is known (tests/accuracy/truth)."""
