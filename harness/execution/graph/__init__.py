"""The study as a Dask graph: preparations → units → cube, for any of Dask's schedulers."""
