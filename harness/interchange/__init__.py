"""Write the cube or the replications of a store to files that other programs read: NetCDF, Parquet, CSV."""
