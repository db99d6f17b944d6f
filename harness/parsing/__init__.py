"""Read files from untrusted sources: regular files of bounded size, TOML and JSON checked value by value."""
