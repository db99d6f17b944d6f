"""Compute one unit: data, factorisations, scores, one block of results. Pure: no disk, no Dask."""
