"""Reduce replications to the cube, and open it with xarray."""
