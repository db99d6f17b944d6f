"""Determine the status of a store from its manifest and receipts alone, without Zarr, Dask or the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.backends.base import Backend, open_backend
from harness.core.extent import list_extra_values
from harness.core.types import Extent
from harness.monitor.text import StatusFacts
from harness.store.heartbeat import from_bytes
from harness.store.locate import find_store, lookup_scenario_file, read_scenario
from harness.store.manifest import DRIVER, Manifest
from harness.store.manifest_io import load_manifest
from harness.store.receipts import count_done
from harness.store.requests import (
    count_units,
    get_requested_extent,
    is_different_scenario,
    make_block_counter,
)
from harness.store.rounds import Round, count_shown_paths, count_wanted_paths, get_target, is_over, list_rounds
from harness.submit import submission
from harness.submit.locate import submission_to_dict
from harness.submit.submission import Submission


def status(store: str) -> StatusFacts:
    """Return the status of a study as plain values: units done and in total, failures, the last run, the driver.

    Parameters
    ----------
    store : str
        URL of a store, or a scenario, which stands for its default store.
    """
    backend, file = open_backend(find_store(str(store), begun=False)), lookup_scenario_file(str(store))
    manifest, one = load_manifest(backend), submission.read(backend)
    edited = manifest is not None and file is not None and is_different_scenario(read_scenario(file), manifest)
    facts = {
        **(_compute_progress(backend, manifest) if manifest else _make_empty_status(one)),
        "edited": edited,
        **_get_activity(backend, one),
    }
    more = manifest is not None and one is not None and _has_pending_changes(one, manifest)
    lost = manifest is not None and manifest.root_is_lost
    facts |= {"root_is_lost": lost}
    done = facts["complete"] and not more
    return StatusFacts({"store": backend.url, **facts, "more_to_come": more, "complete": done})


def _has_pending_changes(one: Submission, manifest: Manifest) -> bool:
    """Return whether a submitted scenario differs from the manifest because its driver has not started yet."""
    begun = manifest.history and manifest.history[-1]["start"] >= one.submitted
    return one.ended is None and not begun and is_different_scenario(one.scenario, manifest)


def _make_empty_status(one: Submission | None) -> dict[str, Any]:
    """Return the status of a submitted study whose driver has not created the store yet."""
    return {
        "scenario": "" if one is None else one.scenario.get("name", ""),
        "until": None,
        "complete": False,
        "settled": False,
        "share": 0.0,
        "share_of_everything": 0.0,
        "also_stored": {},
        "sizes": [],
        "failed": 0,
        "last_run": {},
    }


def _compute_progress(backend: Backend, manifest: Manifest) -> dict[str, Any]:
    """Return how much is done of what the latest run asked for, and of everything that results are made from."""
    asked, all_sizes = get_requested_extent(manifest), manifest.extent.grid.n
    rounds = list_rounds(backend, manifest, asked.grid.n)
    wanted = {n: replace(asked, paths=_count_asked_paths(manifest, rounds, n, asked)) for n in all_sizes}
    found = count_done(backend, {n: make_block_counter(manifest, n, wanted[n]) for n in all_sizes})
    sizes = [
        {"n": n, "units": count_units(manifest, n, wanted[n]), "done": found[n][0], **_describe_round(rounds.get(n))}
        for n in sorted(asked.grid.n)
    ]
    finished = sum(min(one["done"], one["units"]) for one in sizes)
    total = sum(one["units"] for one in sizes)
    share, is_decided = finished / total, all(is_over(manifest, rounds, n) for n in asked.grid.n)
    everything = {n: replace(manifest.extent, paths=count_shown_paths(backend, manifest, n)) for n in all_sizes}
    more = _list_unrequested(wanted, everything, asked.grid.n)
    return {
        "scenario": manifest.scenario["name"],
        "until": get_target(manifest),
        "complete": finished == total and is_decided,
        "settled": manifest.is_settled,
        "share": share,
        "share_of_everything": _compute_total_share(backend, manifest, everything) if more else share,
        "also_stored": more,
        "sizes": sizes,
        "failed": sum(failed for _, failed in found.values()),
        "last_run": dict(manifest.history[-1]) if manifest.history else {},
    }


def _count_asked_paths(manifest: Manifest, rounds: Mapping[int, Round], n: int, asked: Extent) -> int:
    """Return the paths at one n that were asked for, or that the rounds so far want."""
    return asked.paths if get_target(manifest) is None else count_wanted_paths(manifest, rounds, n)


def _describe_round(one: Round | None) -> dict[str, Any]:
    """Return what is known after the latest round at one n; nothing for studies without rounds."""
    if one is None:
        return {}
    return {"paths": one.paths, "open": one.open, "borderline": one.borderline, "expected_paths": one.expected}


def _list_unrequested(
    wanted: Mapping[int, Extent], everything: Mapping[int, Extent], sizes: Sequence[int]
) -> dict[str, Any]:
    """Return what results are made from besides the latest request.

    Parameters
    ----------
    wanted, everything : mapping
        What was asked for, and what results are made from, at each n of the store.
    sizes : sequence of int
        The n that were asked for.

    Returns
    -------
    dict
        Values by axis, and the largest number of `paths` or `draws` where that is larger than the one asked for.
    """
    extra = {axis: list(values) for axis, values in list_extra_values(everything[sizes[0]], wanted[sizes[0]]).items()}
    paths = [everything[n].paths for n in sizes if everything[n].paths > wanted[n].paths]
    draws = [everything[n].draws for n in sizes if everything[n].draws > wanted[n].draws]
    return {**extra, **({"paths": max(paths)} if paths else {}), **({"draws": max(draws)} if draws else {})}


def _compute_total_share(backend: Backend, manifest: Manifest, everything: Mapping[int, Extent]) -> float:
    """Return the share of units done of everything that results are made from, and that the latest run can compute.

    Procedures of families that it left out have the results that they have.
    """
    out = manifest.extent.left_out
    computed = tuple(name for name in manifest.extent.grid.procedure if name not in out)
    everything = {n: replace(each, grid=replace(each.grid, procedure=computed)) for n, each in everything.items()}
    found = count_done(backend, {n: make_block_counter(manifest, n, each) for n, each in everything.items()})
    total = sum(count_units(manifest, n, each) for n, each in everything.items())
    return sum(done for done, _ in found.values()) / total


def _get_activity(backend: Backend, one: Submission | None) -> dict[str, Any]:
    """Return the active or most recent driver with the progress that it reported, and the submission."""
    found = from_bytes(backend.get(DRIVER))
    told = None if one is None else submission_to_dict(one, backend.url)
    alive = found is not None and found.alive
    return {
        "at_work": alive or (told is not None and told["waits"] is not None),
        "driver": None
        if found is None
        else {"name": str(found), "alive": alive, "silent": round(found.seconds_silent, 1), **found.progress},
        "submission": told,
    }
