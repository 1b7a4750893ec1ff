"""Files: run folders in plain formats, and settings as text."""
