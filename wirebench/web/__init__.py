"""Results over HTTP: an API for programs under `/api/v1`, and pages for people; and a run's page as a file."""
