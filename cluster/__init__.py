"""A cluster file → a connected Dask client, and nothing else. (Being built: see the changelog.)"""
