"""Turn a scenario file into a checked scenario with its objects, and back into TOML."""
