"""Tests of compose.yaml, with a real engine."""
