"""Read and write the Zarr store of a study: manifest, arrays, receipts of completed units, driver's heartbeat."""
