"""Equations that are solved and not trained: u is linear in its parameters, and rows of residuals make a system of equations."""
