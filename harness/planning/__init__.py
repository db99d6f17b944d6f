"""What is left to compute, in which blocks, and at what cost. Pure: numbers in, a plan out."""
