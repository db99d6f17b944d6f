"""Data of the published study, reproduced from the author's random streams."""
