"""Reduce arrays of replications to estimates with Monte-Carlo errors. Pure functions of NumPy arrays."""
