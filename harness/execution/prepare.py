"""What a run would do: the store is read and checked, and what is left is planned. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from harness.backends.base import Place, place
from harness.core.errors import Mistake
from harness.core.protocols import Family, Sparing
from harness.core.types import Grid
from harness.execution import clusters
from harness.execution.remove import remove_smoke_store
from harness.planning.blocks import cut
from harness.planning.cost import Shape
from harness.planning.machine import Machine
from harness.planning.plan import Plan, make_plan, prepared_first
from harness.scenario.load import Loaded
from harness.scenario.probe import check_source
from harness.scenario.spec import Replications
from harness.store import artifacts, locate, receipts
from harness.store.checks.manifest import MOST_UNITS
from harness.store.inventory import incomplete_units
from harness.store.manifest import FILES, LARGEST_FILE, Levels, Record, all_joined, digest, joined
from harness.store.manifest_io import load


@dataclass(frozen=True)
class Prepared:
    """A study that could start now: nothing is written yet."""

    loaded: Loaded
    there: Place
    record: Record
    is_new: bool
    plan: Plan
    machine: Machine
    failed: int
    """Replications of cells that failed in earlier runs, in units that are not to be done again."""
    retry: bool = False
    """Whether what failed is to be done again."""
    grows: bool = False
    """Whether the store has to grow for what is asked."""
    cluster: Any = None
    """The cluster file that it is to run on; None for workers of its own on this machine."""
    command: str | None = None
    """What somebody typed to have it done, if that isn't this process's own command."""
    damaged: tuple[receipts.Receipt, ...] = ()
    """Receipts of units that lack a chunk: they are computed again."""
    accept_changed: bool = False
    """Whether files of the source may have been edited since the store was made."""


def default_store(loaded: Loaded) -> str:
    """Where results go unless told otherwise."""
    return locate.default_store(loaded.scenario.name)


def smoked(loaded: Loaded) -> Loaded:
    """Two replications of the smallest n, in a store of its own."""
    scenario = loaded.scenario
    n = min(scenario.grid.n)
    rules = tuple(rule for rule in scenario.exclude if n in (rule.n or (n,)))
    small = scenario.model_copy(
        update={
            "name": f"{scenario.name}-smoke",
            "grid": scenario.grid.model_copy(update={"n": (n,)}),
            "replications": scenario.replications.model_copy(update=_two(scenario.replications)),
            "exclude": rules,
        }
    )
    return replace(loaded, scenario=small, is_smoke=True)


def make_room(loaded: Loaded, url: str | None, find_active: Callable[[Place], str | None], cluster: Any = None) -> None:
    """Remove the store of an earlier smoke run of the same study, so that this one begins anew.

    In the default store its name says whose it is, however the scenario was edited since; elsewhere the fingerprint
    must be the same.
    """
    loaded = loaded if cluster is None else loaded.threaded(cluster.threads)
    there = place(default_store(loaded) if url is None else str(url))
    remove_smoke_store(there, loaded.scenario.name, None if url is None else digest(loaded.fingerprint), find_active)


def _two(asked: Replications) -> dict[str, int]:
    """Two paths with a draw each; where there is one path, two draws on it."""
    return {"paths": 2, "draws": 1} if asked.paths > 1 or asked.draws == 1 else {"paths": 1, "draws": 2}


def prepare(
    loaded: Loaded,
    url: str | None = None,
    workers: int | None = None,
    speed: float | None = None,
    retry: bool = False,
    cluster: Any = None,
    client: Any = None,
    accept_changed: bool = False,
) -> Prepared:
    """Read the store, check that it is this study's, and plan what is left. Nothing is written.

    Parameters
    ----------
    loaded : Loaded
        The scenario.
    url : str, optional
        The store; results/<name>.zarr by default.
    workers, speed : optional
        How many workers there are on this machine, and operations a second of each.
    retry : bool
        Whether what failed in earlier runs is left to do.
    cluster : optional
        A cluster file (`clusters.described`).
    client : optional
        A client to plan for: its workers count.
    accept_changed : bool
        Whether files of the source may have been edited since the store was made.
    """
    loaded = loaded if cluster is None else loaded.threaded(cluster.threads)
    there = place(default_store(loaded) if url is None else str(url))
    found = load(there)
    machine = clusters.machine(there.url, workers, speed, cluster, client)
    if found is not None:
        loaded = _with_known_files(loaded, there, found)
        check_fingerprint(there.url, found.fingerprint, loaded.fingerprint, accept_changed)
    source = artifacts.provided(loaded.built.source, there)
    whole = loaded.extent if found is None else found.grown(loaded.extent).extent  # units have all that the store has
    lacking = artifacts.missing(there, artifacts.needed(source, whole.grid))
    drawing = Shape.drawing if lacking else check_source(source, loaded.seeds, loaded.extent, loaded.where)
    shape = Shape(source.test_points, loaded.scenario.keep, drawing)
    record = _record(loaded, found, shape, machine)
    check_unit_count(record, loaded.where)
    done = receipts.listed(there, record.extent.grid.n) if found else {}
    damaged = [done.pop(name) for name in ([] if found is None else incomplete_units(there, found, done))]
    plan = make_plan(record, loaded.extent, done, shape, loaded.family, machine, retry)
    plan = prepared_first(plan, lacking, machine)
    again = {unit.name for unit in plan.units}
    failed = sum(receipt.failed for name, receipt in done.items() if name not in again)
    grows = found is not None and found.extents != record.extents
    shared = (loaded, there, record, found is None, plan, machine, failed, retry, grows, cluster)
    return Prepared(*shared, damaged=tuple(damaged), accept_changed=accept_changed)


def _record(loaded: Loaded, found: Record | None, shape: Shape, machine: Machine) -> Record:
    """The store's record as it will be."""
    scenario = loaded.scenario.model_dump(mode="json", exclude_defaults=False)
    if found is None:
        groups = cut(loaded.extent, shape, loaded.family, machine)
        shared = (scenario, loaded.fingerprint, (loaded.extent,), groups, loaded.scenario.keep, shape.test_points)
        levels, spared = promised(loaded.family, loaded.extent.grid), promised_apart(loaded.family, loaded.extent.grid)
        return Record(*shared, loaded.built.source.test, levels, spared=spared, is_smoke=loaded.is_smoke)
    grown = found.grown(loaded.extent)
    levels = joined(found.levels, promised(loaded.family, grown.extent.grid))
    spared = all_joined(found.spared, promised_apart(loaded.family, grown.extent.grid))
    fresh = {n: group for n, group in cut(grown.extent, shape, loaded.family, machine).items() if n not in found.groups}
    groups = {**found.groups, **fresh}
    smoke = found.is_smoke and loaded.is_smoke
    grown = replace(grown, scenario=scenario, fingerprint=loaded.fingerprint, groups=groups)
    return replace(grown, levels=levels, spared=spared, is_smoke=smoke)


def check_unit_count(record: Record, where: str) -> None:
    """Refuse a study of more units than anybody could list, before they are listed."""
    for n in record.extent.grid.n:
        units = record.unit_count(n)
        if units > MOST_UNITS:
            what = f"{record.extent.paths} paths × {record.extent.draws} draws are {units} units at n = {n}"
            raise Mistake(f"{where}: replications: {what}, and {MOST_UNITS} are the most: ask for fewer")


def promised_apart(family: Family, grid: Grid) -> Mapping[str, Levels]:
    """Those with searches for θ that leave some of the train points alone: by how many these are."""
    searches = [theta for theta in grid.theta if isinstance(theta, str)]
    return {
        theta: promised(family, grid, theta)
        for theta in searches
        if isinstance(family, Sparing) and family.left(theta, grid.n[0]) is not None
    }


def promised(family: Family, grid: Grid, theta: str | None = None) -> Levels:
    """The exact levels of the procedures that have one; those with a search for θ, if one is named."""
    found: dict[str, dict[int, dict[float, float]]] = {}
    for name, n, alpha in product(grid.procedure, grid.n, grid.alpha):
        left = family.left(theta, n) if theta is not None and isinstance(family, Sparing) else n
        level = None if left is None else family.level(name, left, alpha)
        if level is not None:
            found.setdefault(name, {}).setdefault(n, {})[alpha] = level
    return found


def _with_known_files(loaded: Loaded, there: Place, found: Record) -> Loaded:
    """Let files that have the bytes which the store keeps have the store's hashes: version 0.1 made others."""
    old, new = found.fingerprint["files"], loaded.fingerprint["files"]
    if old == new or old.keys() != new.keys():
        return loaded
    kept = {name: there.get(f"{FILES}/{name}", LARGEST_FILE) for name in new}
    files = {name: old[name] if kept[name] == loaded.built.files[name] else new[name] for name in new}
    return replace(loaded, fingerprint={**loaded.fingerprint, "files": files})


def check_fingerprint(url: str, old: Mapping[str, Any], new: Mapping[str, Any], accept_changed: bool = False) -> None:
    """Refuse to mix two studies in one store, and say how they differ.

    Parameters
    ----------
    url : str
        The store.
    old, new : mapping
        Its fingerprint, and that of the scenario.
    accept_changed : bool
        Whether the files of the source may differ: their author says that the numbers don't.
    """
    keys = sorted({*old, *new} - ({"files"} if accept_changed else set()))
    differing = [key for key in keys if old.get(key) != new.get(key)]
    if differing == ["files"] and old["files"].keys() == new["files"].keys():
        names = ", ".join(name for name, hashed in old["files"].items() if new["files"][name] != hashed)
        how = "choose another --store, or add --accept-changed-source if it gives the same numbers"
        raise Mistake(f"{url}: {names} was edited since the store was made (the old text is in {url}/{FILES}): {how}")
    if differing:
        text = "; ".join(f"{key} was {old.get(key)!r} and is {new.get(key)!r}" for key in differing)
        text += f" (threads = {old.get('blas_threads')} in a cluster file)" * (differing == ["blas_threads"])
        raise Mistake(f"{url} belongs to another study: {text}. Choose another place with --store")
