"""The command line, `fredholm`: at the edge of the library, and nothing in the library imports it."""

from fredholm.cli.entry import main

__all__ = ["main"]
