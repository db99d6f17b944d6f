"""Read and write bytes at keys, in a directory or in a bucket. Knows nothing of studies."""
