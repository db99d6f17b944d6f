"""Read files that may come from strangers: regular files of bounded size, TOML and JSON checked value by value."""
