"""Choose θ by maximum likelihood."""
