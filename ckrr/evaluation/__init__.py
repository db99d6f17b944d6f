"""Evaluate many test points, procedures and problems at once."""
