"""Run units on a Dask cluster: the only package of the harness that submits tasks."""
