"""What every scheduler and worker that we start needs: TLS, private directories, limits, signals, a fork server."""
