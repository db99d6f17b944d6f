"""Prepare a run: read and check the store, and plan the remaining work. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.backends.base import Backend, open_backend
from harness.core.errors import UserError
from harness.core.families import FamilyRecord, list_placeholder_rules
from harness.core.packaged import SOURCES
from harness.core.protocols import Source, SupportsBox
from harness.core.schema.cube import CUBE_VERSION
from harness.core.schema.measures import COVERAGE_EXPECTED, SCALE_HAT
from harness.core.types import Extent
from harness.execution import clusters
from harness.execution.remove import remove_smoke_store
from harness.planning.blocks import choose_blocks
from harness.planning.cost import FitTiming, ReplicationShape
from harness.planning.levels import compute_exact_levels, compute_holdout_levels
from harness.planning.machine import Machine
from harness.planning.matching import check_families, check_fingerprint
from harness.planning.plan import Plan, add_preparations, make_plan
from harness.scenario.families import FAMILIES
from harness.scenario.family_probe import Probe, probe_families
from harness.scenario.load import Loaded
from harness.scenario.probe import check_source
from harness.scenario.sources import knows_noise_law
from harness.scenario.spec import Replications
from harness.store import artifacts, locate, receipts
from harness.store.checks.manifest import MOST_UNITS
from harness.store.inventory import list_incomplete_units
from harness.store.manifest import (
    FILES,
    LARGEST_FILE,
    Manifest,
    hash_fingerprint,
    merge_holdout_levels,
    merge_levels,
    split_fingerprint,
)
from harness.store.manifest_io import load_manifest

_QUICK = 2.0
"""Seconds that a family may take, by a cautious guess, to be timed at a second n."""
_TINY = 1.0
"""Seconds of work that take less time in this process than in others, which have to be started."""
_SHORT = 60.0
"""Seconds of a run without a cluster, whose start takes 3 to 5: more time than processes without Dask, which heal
nothing themselves."""
_SHORT_ROWS = 4000
"""Largest n in such a study: a matrix of 128 MB, whatever its rank."""
_ROUND_PATHS = 50
"""Largest number of paths of a unit in a study that adds paths in rounds."""


@dataclass(frozen=True)
class Prepared:
    """A study that is ready to run; nothing is written yet."""

    loaded: Loaded
    backend: Backend
    manifest: Manifest
    is_new: bool
    plan: Plan
    machine: Machine
    failed: int
    """Replications of cells that failed in earlier runs, in units that will not be recomputed."""
    retry: bool = False
    """Whether failed cells are recomputed."""
    grows: bool = False
    """Whether the store has to grow, or takes an edited source: no other driver may be active then."""
    cluster: Any = None
    """The cluster file to run on; None for new workers on this machine."""
    command: str | None = None
    """The command that the user typed, if it is not that of this process (a submitted study)."""
    damaged: tuple[receipts.Receipt, ...] = ()
    """Receipts of units that lack a chunk: they are recomputed."""
    accept_changed: bool = False
    """Whether files of the source may have been edited since the store was created."""
    runs_here: bool = False
    """Whether a short study of bundled code is computed in the driver's process, or in some that it starts, without
    Dask."""

    @property
    def is_tiny(self) -> bool:
        """Whether the work that is left takes less time than starting a process."""
        return self.runs_here and self.plan.seconds <= _TINY


def get_default_store(loaded: Loaded) -> str:
    """Return the URL of the store that a study uses by default."""
    return locate.get_default_store(loaded.scenario.name)


def reduce_to_smoke(loaded: Loaded) -> Loaded:
    """Reduce a study to two replications of its smallest n, in a separate store."""
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
    """Remove the store of an earlier smoke run of the same study, so that this one starts afresh.

    The default store is identified by its name, even if the scenario was edited since; any other store must have the
    same fingerprint.
    """
    loaded = loaded if cluster is None else loaded.with_threads(cluster.threads)
    backend = open_backend(get_default_store(loaded) if url is None else str(url))
    remove_smoke_store(
        backend, loaded.scenario.name, None if url is None else hash_fingerprint(loaded.fingerprint), find_active
    )


def _limit_replications(asked: Replications) -> dict[str, int | None]:
    """Return two paths with one draw each, or two draws of the only path."""
    few = {"paths": 2, "draws": 1} if asked.most_paths > 1 or asked.draws == 1 else {"paths": 1, "draws": 2}
    return {**few, "until": None, "budget": None}


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
    """Read the store, check that it belongs to this study, and plan the remaining work. Writes nothing.

    Parameters
    ----------
    loaded : Loaded
        The scenario.
    url : str, optional
        URL of the store. Default: results/<name>.zarr.
    workers : int, optional
        Workers on this machine. Default: one per core.
    speed : float, optional
        Operations per second of a worker. Default: measured.
    retry : bool
        Whether to recompute cells that failed in earlier runs.
    cluster : ClusterFile, optional
        The cluster file to run on (`clusters.read_file`).
    client : distributed.Client, optional
        A client whose current workers to plan for.
    accept_changed : bool
        Whether files of the source may have been edited since the store was created.
    """
    loaded = loaded if cluster is None else loaded.with_threads(cluster.threads)
    backend = open_backend(get_default_store(loaded) if url is None else str(url))
    found = load_manifest(backend)
    machine = clusters.measure_machine(backend.url, workers, speed, cluster, client)
    if found is not None:
        loaded = _with_known_files(loaded.with_variables_of(found.keep), backend, found)
        study, older = split_fingerprint(found.fingerprint)
        check_fingerprint(backend.url, study, loaded.fingerprint, accept_changed)
        check_families(backend.url, found.families, loaded.records, accept_changed)
        loaded = replace(loaded, fingerprint={**loaded.fingerprint, **older})
        _check_noise_law(loaded, backend.url)
    _check_budget(loaded, found, backend.url)
    source = artifacts.attach(loaded.built.source, backend)
    whole = loaded.extent if found is None else found.extend(loaded.extent).extent  # units span the whole store
    lacking = artifacts.list_missing(backend, artifacts.list_needed(source, whole.grid))
    shape = ReplicationShape(source.test_points, loaded.keep, source.dimension)
    if not lacking:
        drawing = check_source(source, loaded.seeds, loaded.extent, loaded.where, loaded.keep)
        timings = _probe_families(loaded, source)
        shape = replace(shape, draw_seconds=drawing.seconds, ranges=drawing.ranges, timings=timings)
    manifest = _make_manifest(loaded, found, shape, machine)
    check_unit_count(manifest, loaded.where)
    done = receipts.list_receipts(backend, manifest.extent.grid.n) if found else {}
    damaged = [done.pop(name) for name in ([] if found is None else list_incomplete_units(backend, found, done))]
    plan = make_plan(manifest, loaded.extent, done, shape, loaded.families, machine, retry)
    plan = add_preparations(plan, lacking, machine)
    runs_here = workers is None and cluster is None and client is None and _is_short(plan, loaded)
    if runs_here and plan.seconds <= _TINY:
        machine, plan = replace(machine, workers=1), replace(plan, duration=plan.seconds)
    again = {unit.name for unit in plan.units}
    failed = sum(receipt.failed for name, receipt in done.items() if name not in again)
    before = None if found is None else (found.extents, found.fingerprint, found.families)
    grows = before is not None and before != (manifest.extents, manifest.fingerprint, manifest.families)
    shared = (loaded, backend, manifest, found is None, plan, machine, failed, retry, grows, cluster)
    return Prepared(*shared, damaged=tuple(damaged), accept_changed=accept_changed, runs_here=runs_here)


def _is_short(plan: Plan, loaded: Loaded) -> bool:
    """Return whether starting a cluster would take much of the run's time, and no unit needs what a cluster does.

    Code of the user, large arrays and limits of time need processes that may end without harm.
    """
    if loaded.scenario.replications.seconds is not None or max(loaded.extent.grid.n) > _SHORT_ROWS:
        return False
    bundled = loaded.scenario.source["function"] in SOURCES and all(
        one.use in FAMILIES for one in loaded.records.values()
    )
    return bundled and bool(plan.units) and not plan.preparations and plan.duration <= _SHORT


def _make_manifest(loaded: Loaded, found: Manifest | None, shape: ReplicationShape, machine: Machine) -> Manifest:
    """Return the manifest that the store will have once the run has started."""
    scenario = loaded.scenario.model_dump(mode="json", exclude_defaults=False)
    if found is None:
        groups = choose_blocks(loaded.extent, shape, loaded.families, machine, _get_most_paths(loaded))
        shared = (scenario, loaded.fingerprint, (loaded.extent,), groups, loaded.keep, shape.test_points)
        levels, spared = (
            compute_exact_levels(loaded.families, loaded.extent.grid),
            compute_holdout_levels(loaded.families, loaded.extent.grid),
        )
        rounds = loaded.scenario.replications.until is not None
        test, smoke = loaded.built.source.test, loaded.is_smoke
        source = loaded.built.source
        box = tuple(source.box) if "bins" in loaded.keep and isinstance(source, SupportsBox) else ()
        made = Manifest(*shared, test, levels, holdout_levels=spared, is_smoke=smoke, had_rounds=rounds, box=box)
        made = replace(made, dimension=source.dimension if SCALE_HAT.name in loaded.keep else 0)
        return replace(made, families=dict(loaded.records))
    families = {**found.families, **_extend_records(found, loaded)}
    grown = found.extend(_adapt_extent(found, families, loaded))
    levels = merge_levels(found.exact_levels, compute_exact_levels(loaded.families, grown.extent.grid))
    spared = merge_holdout_levels(found.holdout_levels, compute_holdout_levels(loaded.families, grown.extent.grid))
    fresh = {
        n: group
        for n, group in choose_blocks(grown.extent, shape, loaded.families, machine, _get_most_paths(loaded)).items()
        if n not in found.groups
    }
    groups = {**found.groups, **fresh}
    smoke = found.is_smoke and loaded.is_smoke
    grown = replace(grown, scenario=scenario, fingerprint=loaded.fingerprint, groups=groups, cube_version=CUBE_VERSION)
    rounds = found.had_rounds or loaded.scenario.replications.until is not None
    fixed = max(found.asked_paths, loaded.scenario.replications.paths or 0) if rounds else 0
    grown = replace(grown, had_rounds=rounds, fixed_paths=fixed)
    return replace(grown, exact_levels=levels, holdout_levels=spared, is_smoke=smoke, families=families)


def _probe_families(loaded: Loaded, source: Source) -> Mapping[str, FitTiming]:
    """Try custom families on a sample, and time those that don't estimate their work, at two n if that is quick."""
    sizes, points = sorted(loaded.extent.grid.n), source.test_points
    custom = [one for one in loaded.families if loaded.records[one.name].use not in FAMILIES]
    unknown = [one for one in loaded.families if one.family.flops(sizes[0], points, 1, False) is None]
    tried = [one for one in loaded.families if one in custom or one in unknown]
    probe = Probe(source, loaded.seeds, loaded.extent, loaded.extent.paths)
    found = {name: {sizes[0]: seconds} for name, seconds in probe_families(probe, tried, loaded.where).items()}
    for n in sizes[1:2]:
        quick = [
            one for one in unknown if one.name in found and found[one.name][sizes[0]] * (n / sizes[0]) ** 3 < _QUICK
        ]
        larger = replace(probe, extent=replace(loaded.extent, grid=replace(loaded.extent.grid, n=(n,))))
        for name, seconds in probe_families(larger, quick, loaded.where).items():
            found[name][n] = seconds
    return {one.name: FitTiming(found[one.name]) for one in unknown if one.name in found}


def _extend_records(found: Manifest, loaded: Loaded) -> dict[str, FamilyRecord]:
    """Return the records of the families that are asked for, with the procedures that the store has of them."""
    return {
        name: found.families[name].extend(one) if name in found.families else one
        for name, one in loaded.records.items()
    }


def _adapt_extent(found: Manifest, families: Mapping[str, FamilyRecord], loaded: Loaded) -> Extent:
    """Return what is asked for, without what can't be computed in a store that has other families and values.

    No code of families that aren't asked for is run. Procedures that use θ or λ have no results where the axis has no
    value, because no family used it; and those of a family not at searches that it doesn't have.
    """
    others = {label for name, one in families.items() if name not in loaded.records for label in one.procedures}
    held, asked = found.extent.grid, loaded.extent.grid
    rules = list_placeholder_rules(families, held, asked)
    for one in loaded.families:
        searches = [each for each in (*held.theta, *asked.theta) if isinstance(each, str)]
        unknown = tuple(dict.fromkeys(each for each in searches if each not in one.family.searches))
        if unknown and "theta" in one.given:
            rules.append({"theta": unknown, "procedure": families[one.name].procedures})
    for each in found.extent.exclude:  # what was known of families whose code isn't loaded now
        if set(each) == {"theta", "procedure"} and others.issuperset(map(str, each["procedure"])):
            rules.append(each)
    exclude = (*loaded.extent.exclude, *(each for each in rules if each not in loaded.extent.exclude))
    return replace(loaded.extent, exclude=exclude, left_out=tuple(label for label in held.procedure if label in others))


def _get_most_paths(loaded: Loaded) -> int | None:
    """Return the largest number of paths of a unit: few, if the study adds paths in rounds."""
    return None if loaded.scenario.replications.until is None else _ROUND_PATHS


def _check_noise_law(loaded: Loaded, url: str) -> None:
    """Raise UserError if a store has expected coverage, and the edited source doesn't know its noise any more."""
    if COVERAGE_EXPECTED in loaded.keep and not knows_noise_law(loaded.built.source):
        text = f"{url} has expected coverage, and the edited source doesn't know f and its noise (noise_cdf)"
        raise UserError(f"{loaded.where}: {text}: put noise_cdf back, or choose another --store")


def _check_budget(loaded: Loaded, found: Manifest | None, url: str) -> None:
    """Raise UserError if a budget has fewer paths than a store: what was asked for before isn't taken back."""
    budget = loaded.scenario.replications.budget
    if budget is not None and found is not None and budget.paths < found.extent.paths:
        how = "ask for at least as many, or choose another --store"
        text = f"replications.budget.paths is {budget.paths}, and {url} was made for {found.extent.paths}"
        raise UserError(f"{loaded.where}: {text}: {how}")


def check_unit_count(manifest: Manifest, where: str) -> None:
    """Raise UserError if a study has more units than can be listed, before listing them."""
    for n in manifest.extent.grid.n:
        units = manifest.count_units(n)
        if units > MOST_UNITS:
            what = f"{manifest.extent.paths} paths × {manifest.extent.draws} draws are {units} units at n = {n}"
            raise UserError(f"{where}: replications: {what}, and {MOST_UNITS} are the most: ask for fewer")


def _with_known_files(loaded: Loaded, backend: Backend, found: Manifest) -> Loaded:
    """Use the store's hashes for files whose bytes equal the stored copies: version 0.1 hashed differently."""
    old, new = found.fingerprint["files"], loaded.fingerprint["files"]
    if old == new or old.keys() != new.keys():
        return loaded
    kept = {name: backend.get(f"{FILES}/{name}", LARGEST_FILE) for name in new}
    lost = [name for name in new if kept[name] is None and old[name] != new[name]]
    if lost:
        how = "put the file that the store was made with there, or choose another --store"
        raise UserError(f"{backend.url}/{FILES}/{lost[0]}, the store's copy of that file, is lost: {how}")
    files = {name: old[name] if kept[name] == loaded.built.files[name] else new[name] for name in new}
    return replace(loaded, fingerprint={**loaded.fingerprint, "files": files})
