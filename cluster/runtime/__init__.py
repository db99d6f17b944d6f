"""Shared parts of the schedulers and workers that we start: TLS, private directories, limits, signals, fork server."""
