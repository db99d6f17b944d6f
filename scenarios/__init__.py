"""Scenario files, and the sources of data that they name. (Being built: see the changelog.)"""
VERSION = 1
SOURCES = {}
