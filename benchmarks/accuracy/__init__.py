"""`make accuracy`: what load tools measure, against a server whose latency is known (tests/accuracy/truth)."""
