"""The tests: unit, contract, accuracy and cluster."""
