"""The pages: results as charts, one run, two compared."""
