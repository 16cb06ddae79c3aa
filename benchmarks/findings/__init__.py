"""docs/findings.md: what the bundles in docs/findings/ say about the questions of the shipped scenarios."""
