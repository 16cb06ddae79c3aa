"""Run folders, and what is made of them: index database and queries."""
