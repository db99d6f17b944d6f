"""Verify, merge and replay stores between runs, and list their failures."""
