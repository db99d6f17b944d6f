"""Make the graph of a study: create or grow its store as a run does, and leave the computing to the user.

Keys of tasks contain a token of the run that the graph begins in the history of its store. So all tasks of a graph
have the same keys whenever it is computed, and those of another graph have others. `dask.delayed` would take seconds
for ten thousand units, since it merges the graphs of all arguments; here there are three layers, however many units.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from harness.core.errors import UserError
from harness.core.types import Limits
from harness.execution.graph.tasks import PlainLimits, StudyArguments, compute_unit, prepare_array, refresh_cube
from harness.execution.lifecycle import (
    acquire_store,
    begin_run,
    check_other_driver,
    list_sizes_to_refresh,
    record_failure,
)
from harness.execution.prepare import Prepared
from harness.execution.tasks import list_limits, list_preparations, list_study_modules
from harness.planning.plan import check_fits
from harness.scenario.load import Loaded
from harness.store.heartbeat import Heartbeat, run_heartbeat
from harness.store.manifest import Manifest, cache_key, hash_fingerprint
from harness.store.manifest_io import load_manifest
from harness.worker.compatibility import environment_facts

Layer = dict[Any, Any]
"""Tasks by key, each a tuple of a function and the keys of its arguments."""


def _check_has_fixed_size(loaded: Loaded) -> None:
    """Raise UserError for a study with `until`: nobody knows its units before it runs."""
    if loaded.scenario.replications.until is not None:
        what = "replications.until adds paths while the study runs, and a graph has a fixed number of units"
        raise UserError(f"{loaded.where}: {what}: use `study.run`, or set replications.paths instead")


def make_graph(prepared: Prepared, client: Any = None) -> Delayed:
    """Create or grow the store of a study, and return the graph that computes what it lacks.

    Parameters
    ----------
    prepared : Prepared
        The study and its plan (`prepare`).
    client : distributed.Client, optional
        A client whose workers were planned for.

    Raises
    ------
    UserError
        If the plan does not fit the machine, or the store cannot grow or be written.
    ClusterError
        If the store doesn't answer.
    """
    _check_has_fixed_size(prepared.loaded)
    check_fits(prepared.plan, prepared.machine, prepared.loaded.where)
    check_other_driver(prepared)
    if _is_complete(prepared):
        return build_graph(prepared, prepared.manifest, ())
    with run_heartbeat(Heartbeat(prepared.backend)):
        claimed = replace(acquire_store(prepared, client), command=f"{' '.join(sys.argv)} (as a Dask graph)")
        with record_failure(prepared.backend):
            manifest = begin_run(claimed, as_graph=True)
    return build_graph(claimed, manifest, list_sizes_to_refresh(claimed, manifest))


def _is_complete(prepared: Prepared) -> bool:
    """Return whether a store has everything already, so that nothing is written to it."""
    old = load_manifest(prepared.backend)
    if old is None or prepared.plan.units or prepared.plan.preparations or prepared.grows or prepared.damaged:
        return False
    current = old.is_settled and old.cube_version == prepared.manifest.cube_version
    return current and not list_sizes_to_refresh(prepared, prepared.manifest)


def build_graph(prepared: Prepared, manifest: Manifest, sizes: Collection[int]) -> Delayed:
    """Build the graph of a study whose run has begun. Writes nothing.

    Parameters
    ----------
    prepared : Prepared
        The study and its plan.
    manifest : Manifest
        The store's manifest, with the run as its last history entry.
    sizes : collection of int
        The n at which the cube has to be refreshed even if no unit is computed there.
    """
    study: StudyArguments = (prepared.backend.url, cache_key(manifest), manifest.generation, prepared.retry)
    run = (len(manifest.history) - 1, str(manifest.history[-1]["start"]))
    ours, limits = environment_facts(list_study_modules(prepared)), list_limits(prepared)
    token = hash_fingerprint({"study": study, "run": run})
    first, middle, last = (f"ckrr-{what}-{token}" for what in ("prepare", "unit", "cube"))
    preparations: Layer = {
        (first, one.name): (partial(prepare_array, study, one.name, _to_plain(care), ours),)
        for one, care in list_preparations(prepared)
    }
    units: Layer = {
        (middle, unit.name): (
            partial(compute_unit, study, (unit.n, unit.path_block, unit.draw_block), _to_plain(limits[unit.n]), ours),
            list(preparations),
        )
        for unit in prepared.plan.units
    }
    cube: Layer = {last: (partial(refresh_cube, study, run, sorted(sizes)), list(units), list(preparations))}
    layers = {name: tasks for name, tasks in ((first, preparations), (middle, units), (last, cube)) if tasks}
    before = {first: set[str](), middle: {first}, last: {first, middle}}
    return Delayed(last, HighLevelGraph(layers, {name: before[name] & layers.keys() for name in layers}))


def _to_plain(care: Limits) -> PlainLimits:
    return care.seconds, care.user_set, care.planned
