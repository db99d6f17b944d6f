"""The tables of what is bundled, which spare imports, agree with what is bundled."""

from __future__ import annotations

from cluster.load import KINDS
from harness.core import packaged
from harness.families import baselines, krr, peers
from harness.scenario.families import FAMILIES
from scenarios import SOURCES


def test_families_and_their_procedures() -> None:
    made = {"krr": krr.FAMILY, "baselines": baselines.FAMILY, "peers": peers._FAMILY}
    assert {name: tuple(made[name].procedures) for name in FAMILIES} == packaged.FAMILIES


def test_sources_and_clusters() -> None:
    assert tuple(SOURCES) == packaged.SOURCES
    assert tuple(KINDS) == packaged.CLUSTERS
