"""Scenario → plan → Dask tasks → Zarr cube → tables, figures, report. (Being built: see the changelog.)"""
