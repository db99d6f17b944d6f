"""One module for each kind of cluster: a context manager that yields a connected Dask client."""
