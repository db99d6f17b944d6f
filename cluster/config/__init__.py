"""Read and validate cluster files."""
