"""Sources of data: synthetic functions, Gaussian processes and tables, with their types."""
