"""Draw the paper's eight figures in our style: the same panels, from the author's random numbers.

Figures 1, 2 and 4 show bands on single samples, and figure 8 surfaces: they are computed while drawing. Figures 3, 5, 6
and 7 are drawn from the stores of `paper/gp1` and `paper/heaviside`.
"""
