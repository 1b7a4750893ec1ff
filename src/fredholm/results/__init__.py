"""The `Solution` that `solve` returns, the errors that it raises, and `load`."""
