"""Report the progress of a study from its store. Imports no NumPy, Zarr or Dask, so that it starts quickly."""
