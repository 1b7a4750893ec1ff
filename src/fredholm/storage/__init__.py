"""What is on disk: run folders in plain formats, and settings as text."""
