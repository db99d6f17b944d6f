"""The paper's eight figures, in our style: the same panels, from the author's random numbers.

Figures 1, 2 and 4 are bands on single samples and 8 is of surfaces: computed as they are drawn. Figures 3, 5, 6 and 7
are from the stores of `paper/gp1` and `paper/heaviside`.
"""
