"""How far a study is, read from its store. Light: needs no NumPy, Zarr or Dask."""
