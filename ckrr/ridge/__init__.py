"""Kernel ridge regression from one factorisation, exact or on random features."""
