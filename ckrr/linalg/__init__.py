"""Triangular algebra in tiles, and the buffers that it works in."""
