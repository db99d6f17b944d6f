"""The commands, a file for those that belong together. What one needs is loaded when it runs."""
