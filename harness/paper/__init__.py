"""Reproduce the paper's four tables and eight figures, and compare every printed number: `ckrr paper`.

The printed numbers are in `printed.csv`; the θ̂ that SciPy 1.17.1 found when they were reproduced, in `theta_ml.csv`.
`figures` draws the figures (`ckrr paper --figures`), `page` writes the report (`ckrr paper --report`).
"""
