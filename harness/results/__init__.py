"""Analyse the replications of a store: estimates with standard errors, verdicts, required paths, tables."""
