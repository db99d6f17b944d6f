"""Triangular linear algebra, whole or in tiles, and reusable buffers."""
