"""How results are shown: one object for a run, one for a comparison, with their tables, sentences and pictures."""
