"""Shared nouns of the harness: types, errors, protocols, the schema of measures, seeds and text.

Imports nothing else of ours, and no NumPy at run time, so that light commands start at once.
"""
