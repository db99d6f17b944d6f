"""Key-value access to bytes in a directory or a bucket. Independent of what the bytes mean."""
