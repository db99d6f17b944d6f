"""What a run would do: the store is read and checked, and what is left is planned. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from harness.backends.base import Backend, open_backend
from harness.core.errors import UserError
from harness.core.protocols import Family, SupportsHoldout
from harness.core.types import Grid
from harness.execution import clusters
from harness.execution.remove import remove_smoke_store
from harness.planning.blocks import choose_blocks
from harness.planning.cost import ReplicationShape
from harness.planning.machine import Machine
from harness.planning.plan import Plan, add_preparations, make_plan
from harness.scenario.load import Loaded
from harness.scenario.probe import check_source
from harness.scenario.spec import Replications
from harness.store import artifacts, locate, receipts
from harness.store.checks.manifest import MOST_UNITS
from harness.store.inventory import list_incomplete_units
from harness.store.manifest import (
    FILES,
    LARGEST_FILE,
    Levels,
    Manifest,
    hash_fingerprint,
    merge_holdout_levels,
    merge_levels,
)
from harness.store.manifest_io import load_manifest


@dataclass(frozen=True)
class Prepared:
    """A study that could start now: nothing is written yet."""

    loaded: Loaded
    backend: Backend
    manifest: Manifest
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


def get_default_store(loaded: Loaded) -> str:
    """Where results go unless told otherwise."""
    return locate.get_default_store(loaded.scenario.name)


def reduce_to_smoke(loaded: Loaded) -> Loaded:
    """Two replications of the smallest n, in a store of its own."""
    scenario = loaded.scenario
    n = min(scenario.grid.n)
    rules = tuple(rule for rule in scenario.exclude if n in (rule.n or (n,)))
    small = scenario.model_copy(
        update={
            "name": f"{scenario.name}-smoke",
            "grid": scenario.grid.model_copy(update={"n": (n,)}),
            "replications": scenario.replications.model_copy(update=_limit_replications(scenario.replications)),
            "exclude": rules,
        }
    )
    return replace(loaded, scenario=small, is_smoke=True)


def remove_earlier_smoke(
    loaded: Loaded, url: str | None, find_active: Callable[[Backend], str | None], cluster: Any = None
) -> None:
    """Remove the store of an earlier smoke run of the same study, so that this one begins anew.

    In the default store its name says whose it is, however the scenario was edited since; elsewhere the fingerprint
    must be the same.
    """
    loaded = loaded if cluster is None else loaded.with_threads(cluster.threads)
    backend = open_backend(get_default_store(loaded) if url is None else str(url))
    remove_smoke_store(
        backend, loaded.scenario.name, None if url is None else hash_fingerprint(loaded.fingerprint), find_active
    )


def _limit_replications(asked: Replications) -> dict[str, int]:
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
    loaded = loaded if cluster is None else loaded.with_threads(cluster.threads)
    backend = open_backend(get_default_store(loaded) if url is None else str(url))
    found = load_manifest(backend)
    machine = clusters.measure_machine(backend.url, workers, speed, cluster, client)
    if found is not None:
        loaded = _with_known_files(loaded, backend, found)
        check_fingerprint(backend.url, found.fingerprint, loaded.fingerprint, accept_changed)
    source = artifacts.attach(loaded.built.source, backend)
    whole = loaded.extent if found is None else found.extend(loaded.extent).extent  # units have all that the store has
    lacking = artifacts.list_missing(backend, artifacts.list_needed(source, whole.grid))
    drawing = (
        ReplicationShape.draw_seconds if lacking else check_source(source, loaded.seeds, loaded.extent, loaded.where)
    )
    shape = ReplicationShape(source.test_points, loaded.scenario.keep, drawing)
    manifest = _make_manifest(loaded, found, shape, machine)
    check_unit_count(manifest, loaded.where)
    done = receipts.list_receipts(backend, manifest.extent.grid.n) if found else {}
    damaged = [done.pop(name) for name in ([] if found is None else list_incomplete_units(backend, found, done))]
    plan = make_plan(manifest, loaded.extent, done, shape, loaded.family, machine, retry)
    plan = add_preparations(plan, lacking, machine)
    again = {unit.name for unit in plan.units}
    failed = sum(receipt.failed for name, receipt in done.items() if name not in again)
    grows = found is not None and found.extents != manifest.extents
    shared = (loaded, backend, manifest, found is None, plan, machine, failed, retry, grows, cluster)
    return Prepared(*shared, damaged=tuple(damaged), accept_changed=accept_changed)


def _make_manifest(loaded: Loaded, found: Manifest | None, shape: ReplicationShape, machine: Machine) -> Manifest:
    """The store's record as it will be."""
    scenario = loaded.scenario.model_dump(mode="json", exclude_defaults=False)
    if found is None:
        groups = choose_blocks(loaded.extent, shape, loaded.family, machine)
        shared = (scenario, loaded.fingerprint, (loaded.extent,), groups, loaded.scenario.keep, shape.test_points)
        levels, spared = (
            compute_exact_levels(loaded.family, loaded.extent.grid),
            compute_holdout_levels(loaded.family, loaded.extent.grid),
        )
        return Manifest(*shared, loaded.built.source.test, levels, holdout_levels=spared, is_smoke=loaded.is_smoke)
    grown = found.extend(loaded.extent)
    levels = merge_levels(found.exact_levels, compute_exact_levels(loaded.family, grown.extent.grid))
    spared = merge_holdout_levels(found.holdout_levels, compute_holdout_levels(loaded.family, grown.extent.grid))
    fresh = {
        n: group
        for n, group in choose_blocks(grown.extent, shape, loaded.family, machine).items()
        if n not in found.groups
    }
    groups = {**found.groups, **fresh}
    smoke = found.is_smoke and loaded.is_smoke
    grown = replace(grown, scenario=scenario, fingerprint=loaded.fingerprint, groups=groups)
    return replace(grown, exact_levels=levels, holdout_levels=spared, is_smoke=smoke)


def check_unit_count(manifest: Manifest, where: str) -> None:
    """Refuse a study of more units than anybody could list, before they are listed."""
    for n in manifest.extent.grid.n:
        units = manifest.count_units(n)
        if units > MOST_UNITS:
            what = f"{manifest.extent.paths} paths × {manifest.extent.draws} draws are {units} units at n = {n}"
            raise UserError(f"{where}: replications: {what}, and {MOST_UNITS} are the most: ask for fewer")


def compute_holdout_levels(family: Family, grid: Grid) -> Mapping[str, Levels]:
    """Those with searches for θ that leave some of the train points alone: by how many these are."""
    searches = [theta for theta in grid.theta if isinstance(theta, str)]
    return {
        theta: compute_exact_levels(family, grid, theta)
        for theta in searches
        if isinstance(family, SupportsHoldout) and family.left(theta, grid.n[0]) is not None
    }


def compute_exact_levels(family: Family, grid: Grid, theta: str | None = None) -> Levels:
    """The exact levels of the procedures that have one; those with a search for θ, if one is named."""
    found: dict[str, dict[int, dict[float, float]]] = {}
    for name, n, alpha in product(grid.procedure, grid.n, grid.alpha):
        left = family.left(theta, n) if theta is not None and isinstance(family, SupportsHoldout) else n
        level = None if left is None else family.level(name, left, alpha)
        if level is not None:
            found.setdefault(name, {}).setdefault(n, {})[alpha] = level
    return found


def _with_known_files(loaded: Loaded, backend: Backend, found: Manifest) -> Loaded:
    """Let files that have the bytes which the store keeps have the store's hashes: version 0.1 made others."""
    old, new = found.fingerprint["files"], loaded.fingerprint["files"]
    if old == new or old.keys() != new.keys():
        return loaded
    kept = {name: backend.get(f"{FILES}/{name}", LARGEST_FILE) for name in new}
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
        raise UserError(f"{url}: {names} was edited since the store was made (the old text is in {url}/{FILES}): {how}")
    if differing:
        text = "; ".join(f"{key} was {old.get(key)!r} and is {new.get(key)!r}" for key in differing)
        text += f" (threads = {old.get('blas_threads')} in a cluster file)" * (differing == ["blas_threads"])
        raise UserError(f"{url} belongs to another study: {text}. Choose another place with --store")
