"""Residuals, their crossings and the prediction regions that follow, for blocks of test points."""
