"""Statistics, comparisons and verdicts: numbers only."""
