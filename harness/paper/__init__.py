"""The paper's four tables, computed again and compared with the printed numbers, one by one: `ckrr paper`.

Its figures are drawn by `figures`: `ckrr paper --figures`.

What was printed is in `printed.csv`, the θ̂ that the search found for it with SciPy 1.17.1 in `theta_ml.csv`.
"""
