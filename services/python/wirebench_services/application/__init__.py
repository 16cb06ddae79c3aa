"""The application that every variant serves: validation and stores, with no transport in sight."""
