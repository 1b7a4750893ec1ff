"""What `solve` returns."""
