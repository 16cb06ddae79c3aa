"""The data that the rest speaks: application, scenario, cell, record, metric, histogram file, run."""
