"""Bundled families of procedures. Within the harness, only these modules import `ckrr`.

A scenario names a family; `harness.scenario.families` finds it.
"""
