"""What can be done to a store between runs: verify, merge, replay, list failures."""
