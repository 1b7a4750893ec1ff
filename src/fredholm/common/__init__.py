"""Helpers for all packages: checks of input, keys, small linear algebra, caches."""
