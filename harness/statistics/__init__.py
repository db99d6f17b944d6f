"""From arrays of replications to numbers with Monte-Carlo errors. Pure: NumPy and SciPy only."""
