"""Turn a prepared study into a complete store. The only package that talks to Dask and to `cluster`."""
