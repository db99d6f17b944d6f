"""The layout of a study's Zarr store: what is where, how it is written, and what proves that it is complete."""
