"""One module for each figure of a study."""
