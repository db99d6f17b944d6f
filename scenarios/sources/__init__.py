"""Data sources (synthetic functions, Gaussian processes, tables) and their types."""
