"""Tests of single modules: milliseconds each, no servers."""
