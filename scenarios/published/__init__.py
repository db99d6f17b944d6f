"""The data of the published study, drawn from the random numbers of its author."""
