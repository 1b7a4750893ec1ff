"""The command line, `fredholm`: at the edge of the library, and nothing in the library imports it. `fredholm/__main__.py` runs it."""
