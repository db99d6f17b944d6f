"""Read a cluster file: its keys, units and errors."""
