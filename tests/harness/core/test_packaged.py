"""The tables of what is bundled, which spare imports, agree with what is bundled."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

import pytest

from cluster.load import KINDS
from harness.core import packaged
from harness.scenario.families import FAMILIES
from scenarios import SOURCES


def test_every_family_is_listed() -> None:
    assert list(packaged.FAMILIES) == list(FAMILIES)


@pytest.mark.parametrize("name", [name for name in FAMILIES if find_spec(f"harness.families.{name}")])
def test_families_have_these_procedures(name: str) -> None:
    module = importlib.import_module(f"harness.families.{name}")
    try:
        family = getattr(module, "_FAMILY", None) or module.FAMILY
    except ImportError as error:  # it needs an optional package
        pytest.skip(str(error))
    assert tuple(family.procedures) == packaged.FAMILIES[name]


def test_sources_and_clusters_are_listed() -> None:
    assert tuple(SOURCES) == packaged.SOURCES
    assert list(KINDS) == list(packaged.CLUSTERS)
