"""The application that every variant serves: validation and stores, without any transport."""
