"""What every room uses: checks of input, keys, small linear algebra, caches."""
