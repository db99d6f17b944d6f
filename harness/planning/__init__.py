"""Plan a run: what is left to compute, in which blocks, at what cost. Pure, except for measuring the machine."""
