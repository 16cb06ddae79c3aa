"""Validation of a scenario: each function yields the fields that are invalid, with a hint."""
