"""The data that the rest of wirebench speaks: typed, frozen, each with its own file format."""
