"""The variables of a store: those of each replication, and those of the cube."""
