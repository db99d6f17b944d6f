"""From the cube to conclusions: estimates with honest errors, verdicts, precision, tables."""
