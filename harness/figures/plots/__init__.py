"""The figures of a study, one module each."""
