"""Run folders, and what is made of them: index database, queries, exports."""
