"""Families of procedures, and the only modules that import `ckrr`.

A scenario names a family; `harness.scenario.families` finds it.
"""
