"""Tests of the services' modules."""
