"""Load a scenario file with everything that a run needs, or report all mistakes in it at once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from harness.compute import measures
from harness.core.errors import UserError
from harness.core.families import FamilyRecord, StudyFamily
from harness.core.labels import format_label
from harness.core.packaged import list_scenario_files
from harness.core.protocols import FindsScales, LimitedSource, Source, SupportsBox, SupportsDistributions
from harness.core.schema.measures import COVERAGE_EXPECTED, DISTRIBUTION, LAM_HAT, SCALE_HAT
from harness.core.seeds import Seeds
from harness.core.text import shorten_repr, suggest_name
from harness.core.types import Extent
from harness.families.weights import weights_option
from harness.parsing.hashing import hash_file
from harness.parsing.toml import read_toml
from harness.scenario.datasets import check_gamma, name_source
from harness.scenario.entries import parse_entries
from harness.scenario.errors import (
    Complaint,
    ScenarioError,
    from_pydantic,
    make_key_lookup,
    make_user_error,
    refuse_cluster_file,
    suggest_table,
)
from harness.scenario.families import (
    LoadedFamily,
    configure_axes,
    configure_families,
    kernel_options,
    load_family,
    share_procedures,
    weigh_families,
)
from harness.scenario.naming import check_procedures, check_searches, explain_missing_axis, make_context
from harness.scenario.settings import apply_setting, apply_until, convert_lengthscale, quote_input
from harness.scenario.sources import Built, build_source, check_noise, knows_noise_law
from harness.scenario.spec import GridPart, Replications, Scenario
from harness.store.locate import refuse_suite

BLAS_THREADS = 1
"""BLAS threads of a worker, unless a cluster file says otherwise."""


@dataclass(frozen=True)
class Loaded:
    """A validated scenario with its source and its families."""

    where: str
    scenario: Scenario
    built: Built
    families: tuple[StudyFamily, ...]
    records: Mapping[str, FamilyRecord]
    """What a store records of each family, by its name."""
    files: Mapping[str, bytes]
    """Content of the files that the source and the families need, by the names that they have next to the scenario."""
    fingerprint: Mapping[str, Any]
    """Everything that all results depend on; what those of a family depend on is in its record."""
    keep: tuple[str, ...] = ()
    """Optional variables of the replications: some of `schema.KEPT`."""
    is_smoke: bool = False
    """Whether the scenario is reduced to a quick check (`--smoke`)."""

    @property
    def extent(self) -> Extent:
        """Grid, paths, draws and exclusions that the scenario asks for."""
        return self.scenario.make_extent()

    @property
    def stored_files(self) -> Mapping[str, bytes]:
        """The same files by the names that they have in a store."""
        keys = {key: name for one in self.records.values() for name, key in one.file_keys.items()}
        return {**self.built.files, **{key: self.files[name] for key, name in keys.items()}}

    @property
    def seeds(self) -> Seeds:
        """Random streams of the study."""
        return Seeds.from_source(self.scenario.seed, self.built.non_default)

    def with_variables_of(self, keep: Sequence[str]) -> Loaded:
        """Return the scenario for a store that keeps these variables, unless it asks for others itself."""
        asked = self.scenario.expected_coverage
        expected = COVERAGE_EXPECTED in (keep if asked is None else self.keep)
        mine = _list_kept(self.scenario, expected, [name for name in _FOUND if name in keep])
        return replace(self, keep=mine, fingerprint={**self.fingerprint, "keep": sorted(mine)})

    def with_threads(self, threads: int) -> Loaded:
        """Return the scenario for workers with this number of BLAS threads, which is part of the fingerprint."""
        return replace(self, fingerprint={**self.fingerprint, "blas_threads": threads})


def load(reference: str, settings: Iterable[str] = (), until: str | None = None, budget: int | None = None) -> Loaded:
    """Load and validate a scenario.

    Parameters
    ----------
    reference : str
        Path of a .toml file, or name of a bundled scenario.
    settings : iterable of str
        Overrides as `key=value`, for example "grid.n=[25,50]".
    until : str, optional
        What to reach by adding paths, in place of the scenario's number of paths: "verdict", "verdict=0.99", "se=0.002"
        or "width=0.02", or several of these separated by commas.
    budget : int, optional
        Most paths, with `until`.

    Raises
    ------
    UserError
        If the file can't be read or has mistakes; the message lists all of them.
    """
    path = find_scenario_file(reference)
    plain = _read(path)
    refuse_cluster_file(plain, str(path))
    refuse_suite(plain, path)
    changed = {apply_setting(plain, setting): f"--set {quote_input(setting)}" for setting in settings}
    apply_until(plain, until, budget)
    return check(plain, str(path), path.parent, changed)


def find_scenario_file(reference: str) -> Path:
    """Return the path of a scenario file, given that path or the name of a bundled scenario."""
    path, mode = Path(reference), _get_mode(reference)
    if mode is not None and stat.S_ISREG(mode):
        return path
    known = list_scenario_files()
    if reference in known:
        return known[reference]
    if mode is not None:
        what = "a directory" if stat.S_ISDIR(mode) else "no regular file"
        raise UserError(f"{reference} is {what}; a scenario is a .toml file")
    raise UserError(
        f"{quote_input(reference)}: no such file, and no bundled scenario of that name (`ckrr list` shows them)"
        f"{suggest_name(reference, known)}"
    )


def _get_mode(path: str) -> int | None:
    """Return the mode of the file at a path as given by `os.stat`, or None if there is none or it is inaccessible."""
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):  # ValueError for names that no file can have
        return None


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path)
    except ValueError as error:
        raise UserError(f"{path}: {error}") from None


def check(
    plain: Mapping[str, Any], where: str, folder: Path, changed: Mapping[str, str] = MappingProxyType({})
) -> Loaded:
    """Validate a scenario and build its source and families.

    Parameters
    ----------
    plain : mapping
        The scenario as parsed from TOML.
    where : str
        Name of its file, for error messages.
    folder : Path
        Folder that paths in the scenario are relative to.
    changed : mapping
        Keys changed by `--set`, with the setting.

    Raises
    ------
    UserError
        If there are mistakes; the message lists all of them.
    """
    plain = name_source(plain)
    plain, wrong = convert_lengthscale(plain)
    complaints: list[Complaint] = [*check_gamma(plain), *wrong]
    known = _load_families(plain, folder, complaints)
    built = _load_source(plain, folder, complaints)
    scenario = _parse_scenario(plain, known, built, complaints)
    if scenario is not None and built is not None:
        complaints += _check_sizes(scenario, built)
        complaints += _check_available(scenario, built.source.only) if isinstance(built.source, LimitedSource) else []
        known = _configure_families(scenario, known, built, complaints)
        complaints += [*check_noise(scenario, built.source), *_check_bins(scenario, built.source)]
        complaints += [] if known is None else _check_distributions(scenario, known)
        complaints += [] if known is None else check_procedures(known, scenario.grid.procedure)
        complaints += [] if known is None else check_searches(known, scenario.grid.theta, scenario.kernel)
    if complaints or scenario is None or built is None or known is None:
        tables = _get_table_keys(built)
        ordered = sorted(complaints, key=lambda one: "is missing" in one.text)
        raise make_user_error(where, [suggest_table(one, tables) for one in ordered], changed)
    families = tuple(one.make_study_family(built.source.redraws) for one in known)
    expected = knows_noise_law(built.source) and scenario.expected_coverage is not False
    keep = _list_kept(scenario, expected, _list_found(scenario, families))
    asked, thetas = scenario.grid.procedure, scenario.grid.theta
    records = {one.name: each.make_record(asked, one, thetas) for one, each in zip(families, known, strict=True)}
    files = _join_files(where, [built.files, *(one.files for one in known)])
    return Loaded(where, scenario, built, families, records, files, _make_fingerprint(scenario, built, keep), keep)


def _join_files(where: str, each: Iterable[Mapping[str, bytes]]) -> dict[str, bytes]:
    """Return all files of a study; raise UserError if two of them have the same name and other content."""
    found: dict[str, bytes] = {}
    for files in each:
        for name, data in files.items():
            if found.setdefault(name, data) != data:
                raise UserError(f"{where}: two files are called {name}: the store keeps both, so rename one of them")
    return found


def _check_bins(scenario: Scenario, source: Source) -> Iterable[Complaint]:
    if "bins" not in scenario.keep:
        return
    if source.dimension > 2:
        yield Complaint(
            "keep", f"must be without 'bins': {source.dimension} input variables are too many for bins of x"
        )
    elif not isinstance(source, SupportsBox):
        yield Complaint("keep", "must be without 'bins': this source doesn't know the box of its inputs (box)")
    elif len(source.box) != source.dimension or not all(-inf < low < high < inf for low, high in source.box):
        yield Complaint(
            "source", f"must have a box of {source.dimension} × (low, high), all finite, got {shorten_repr(source.box)}"
        )


def _check_distributions(scenario: Scenario, known: Sequence[LoadedFamily]) -> Iterable[Complaint]:
    if DISTRIBUTION in scenario.keep and not any(isinstance(one.family, SupportsDistributions) for one in known):
        place = scenario.keep.index(DISTRIBUTION)
        text = f"must not be {DISTRIBUTION!r}: no procedure of the scenario's families has a predictive distribution"
        yield Complaint(f"keep[{place}]", text)


_FOUND = (LAM_HAT.name, SCALE_HAT.name)
"""What a new store keeps if the scenario has a search that finds it."""


def _list_found(scenario: Scenario, families: Sequence[StudyFamily]) -> list[str]:
    """Return the variables for what the searches of a scenario find besides θ."""
    asked = set(scenario.grid.theta)
    scales = [one.family.finds_scales for one in families if isinstance(one.family, FindsScales)]
    has = (any(asked & {*one.finds_lam} for one in families), any(asked & {*each} for each in scales))
    return [name for name, is_found in zip(_FOUND, has, strict=True) if is_found]


def _list_kept(scenario: Scenario, expected: bool, found: Sequence[str]) -> tuple[str, ...]:
    return (*scenario.keep, *[COVERAGE_EXPECTED] * expected, *found)


def _get_table_keys(built: Built | None) -> dict[str, Iterable[str]]:
    """Return the keys allowed in each table of a scenario file."""
    return {
        "[grid]": GridPart.model_fields,
        "[replications]": Replications.model_fields,
        "[source]": built.parameters if built else (),
        "no table: put it above the first one": Scenario.model_fields,
    }


def _load_families(
    plain: Mapping[str, Any], folder: Path, complaints: list[Complaint]
) -> Sequence[LoadedFamily] | None:
    try:
        return share_procedures([load_family(entry, folder) for entry in parse_entries(plain.get("family", "krr"))])
    except ScenarioError as wrong:
        complaints += wrong.complaints
        return None


def _configure_families(
    scenario: Scenario, known: Sequence[LoadedFamily] | None, built: Built, complaints: list[Complaint]
) -> Sequence[LoadedFamily] | None:
    """Return the families with the kernel, smoothing and weights of the scenario, or None after adding complaints."""
    try:
        if known is None:
            return None
        told, smoothed = kernel_options(scenario.model_dump()), scenario.smoothed
        dimension, is_noise_known = built.source.dimension, scenario.sigma == "known"
        known = configure_families(known, told, smoothed, dimension, is_noise_known)
        return weigh_families(known, scenario.weights, scenario.grid.procedure, built.source, smoothed)
    except ScenarioError as wrong:
        complaints += wrong.complaints
        return None


def _load_source(plain: Mapping[str, Any], folder: Path, complaints: list[Complaint]) -> Built | None:
    table = plain.get("source")
    try:
        return build_source(table, folder) if isinstance(table, dict) else None
    except ScenarioError as wrong:
        complaints += wrong.complaints
        return None


def _parse_scenario(
    plain: Mapping[str, Any], known: Sequence[LoadedFamily] | None, built: Built | None, complaints: list[Complaint]
) -> Scenario | None:
    if known is not None and "kernel" in plain:
        known = configure_axes(known, plain["kernel"], 1 if built is None else built.source.dimension)
    context = {} if known is None else make_context(known)
    try:
        return Scenario.model_validate(plain, context=context)
    except ValidationError as error:
        complaints += [
            explain_missing_axis(one, known or ()) for one in from_pydantic(error, make_key_lookup(Scenario))
        ]
        return None


def _check_sizes(scenario: Scenario, built: Built) -> Iterable[Complaint]:
    largest = built.source.largest_n
    for i, n in enumerate(scenario.grid.n):
        if largest is not None and n > largest:
            yield Complaint(
                f"grid.n[{i}]",
                f"must be at most {largest}, got {n}: the source has no more training points ({_explain_limit(built)})",
            )


def _check_available(scenario: Scenario, only: Mapping[str, Sequence[object]]) -> Iterable[Complaint]:
    """Yield complaints about grid values, paths and draws for which a source has no data."""
    for axis in ("gamma", "theta", "lam", "n"):
        for i, value in enumerate(getattr(scenario.grid, axis)):
            if value not in only.get(axis, (value,)):
                known = ", ".join(map(format_label, only[axis]))
                yield Complaint(
                    f"grid.{axis}[{i}]",
                    f"must be one of {known}, for which the source has data, got {shorten_repr(value)}",
                )
    for axis, count in (("path", scenario.replications.most_paths), ("draw", scenario.replications.draws)):
        if axis in only and count > len(only[axis]):
            text = f"must be at most {len(only[axis])}, for which the source has data, got {count}"
            yield Complaint(f"replications.{axis}s", text)


def _explain_limit(built: Built) -> str:
    """Return what limits n for a source."""
    return "its pool" if "pool" in built.non_default else "a table's rows less test_points"


def _make_fingerprint(scenario: Scenario, built: Built, keep: Sequence[str]) -> dict[str, Any]:
    """Return everything that all results depend on besides grid values, path and draw.

    Kernel, smoothing, weights and σ are included only where they differ from the defaults.
    """
    told = kernel_options(scenario.model_dump())
    return {
        **({"kernel": told} if told else {}),
        **({"smoothed": True} if scenario.smoothed else {}),
        **weights_option(scenario.weights),
        **({"sigma": scenario.sigma} if scenario.sigma != "estimated" else {}),
        "seed": scenario.seed,
        "source": dict(built.non_default),
        "files": {name: hash_file(data) for name, data in sorted(built.files.items())},
        "keep": sorted(keep),
        "numerics": {"measures": measures.VERSION, "sources": _get_sources_version()},
        "blas_threads": BLAS_THREADS,
    }


def _get_sources_version() -> int:
    import scenarios

    return int(scenarios.VERSION)
