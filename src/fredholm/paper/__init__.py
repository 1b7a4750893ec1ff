"""The paper: its figures beside the published numbers, and its theory as code."""
