"""Run a prepared study until its store is complete. The only package that uses Dask and `cluster`."""
