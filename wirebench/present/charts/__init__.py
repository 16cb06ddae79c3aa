"""Charts as SVG, one module a kind: drawn once, shown by the report, the pages, and as files."""
