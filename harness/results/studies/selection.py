"""Open several studies, and select one cell of every procedure in each.

A study has many cells, and a comparison over studies needs one of each procedure: a γ, θ, λ and n, which may differ
between studies, and an α that all of them have. Nothing is chosen silently. Of the values that the user names, a study
takes the first that it has, and says which others it has; where none is named and several are left, the user is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.backends.address import is_url
from harness.core.errors import UserError
from harness.core.labels import format_label
from harness.core.procedures import is_for_function
from harness.core.schema import CUBE_DIMS
from harness.core.text import suggest_name
from harness.parsing.selections import Selection, parse_where
from harness.results.replications import ReplicationReader, find_value, open_replications
from harness.store.manifest import Manifest

AXES = tuple(axis for axis in CUBE_DIMS if axis != "procedure")
"""Axes on which one value of each study is compared."""
_MOST_NAMED = 3
"""Studies that an error names at most."""


@dataclass(frozen=True, eq=False)
class Study:
    """A study, with the cell of every procedure that is compared."""

    name: str
    reader: ReplicationReader
    """Reads the selected cells: one value along each of `AXES`."""
    unused: Mapping[str, Sequence[object]] = field(default_factory=dict)
    """Values that were named and are in the study, but aren't compared."""

    @property
    def url(self) -> str:
        """Path or URL of the store."""
        return self.reader.url

    @property
    def manifest(self) -> Manifest:
        """Manifest of the store."""
        return self.reader.manifest

    @cached_property
    def cell(self) -> dict[str, Any]:
        """Selected value of each axis."""
        return {axis: self.reader.select_values(axis)[0] for axis in AXES}

    @property
    def procedures(self) -> list[str]:
        """Selected procedures."""
        return list(self.reader.select_values("procedure"))

    def format_cell(self, axes: Sequence[str] = AXES) -> str:
        """Format the selected values, as captions have them."""
        return ", ".join(f"{axis} = {format_label(self.cell[axis])}" for axis in axes)


def select_studies(stores: Sequence[str | Path], where: Selection | None = None) -> list[Study]:
    """Open stores, and select one cell of every procedure in each.

    Parameters
    ----------
    stores : sequence of str or Path
        Paths or URLs of two or more stores, or scenarios, which stand for their default stores.
    where : mapping or str, optional
        Values to select along some axes. Of several, a study takes the first that it has, and all procedures:
        "theta=ml,10" is θ = ml, or θ = 10 in studies that have no θ = ml.

    Raises
    ------
    UserError
        If a store is given twice, a selection leaves no value, an axis with several has none selected, or the studies
        have no common level.
    """
    readers = [open_replications(str(store)) for store in stores]
    _check_distinct(readers)
    names = _name_studies(readers)
    studies, asked = [Study(name, reader) for name, reader in zip(names, readers, strict=True)], parse_where(where)
    _check_known(studies, asked)
    chosen = [_select_values(study, asked) for study in studies]
    chosen = _select_common_levels(chosen)
    chosen = [_take_first(study, [axis for axis in AXES if axis in asked]) for study in chosen]
    _check_single(chosen)
    return chosen


def choose_reference(studies: Sequence[Study], requested: str | None, preferred: Set[str]) -> str:
    """Return the procedure that others are compared with.

    That is the requested one, or the first of the preferred ones, or else of all, that all studies have. A procedure
    whose intervals are for f(x*) isn't chosen unless it is requested.

    Raises
    ------
    UserError
        If a study doesn't have the requested procedure, or they have none in common.
    """
    common = [name for name in studies[0].procedures if all(name in one.procedures for one in studies)]
    if requested is not None and requested not in common:
        lacking = next(one for one in studies if requested not in one.procedures)
        raise UserError(
            f"procedure {requested!r} isn't in {lacking.name}, which has {', '.join(lacking.procedures)}: "
            f"all studies have {', '.join(common) or 'none in common'}"
        )
    usual = [name for name in common if not is_for_function(name)]
    if requested is None and not usual:
        told = _list_values(studies, "procedure")
        raise UserError(f"the studies have no procedure for y* in common: {told}: run one of these in all studies")
    return requested or next((name for name in usual if name in preferred), usual[0])


def _check_distinct(readers: Sequence[ReplicationReader]) -> None:
    places = [reader.url if is_url(reader.url) else str(Path(reader.url).resolve()) for reader in readers]
    for reader, place in zip(readers, places, strict=True):
        if places.count(place) > 1:
            raise UserError(f"{reader.url} is given twice: name every store once")


def _name_studies(readers: Sequence[ReplicationReader]) -> list[str]:
    """Return the names of the scenarios; those of the stores, or else their paths, where names are equal."""
    names = [str(reader.manifest.scenario.get("name", "study")) for reader in readers]
    files = [reader.url.rstrip("/").rpartition("/")[2].removesuffix(".zarr") for reader in readers]
    paths = [reader.url for reader in readers]
    for others in (files, paths):
        counts = Counter(names)
        names = [other if counts[name] > 1 else name for name, other in zip(names, others, strict=True)]
    return names


def _check_known(studies: Sequence[Study], asked: Mapping[str, Sequence[object]]) -> None:
    """Raise UserError if a requested value is in no study."""
    for axis, values in asked.items():
        for value in values:
            if all(find_value(one.manifest, axis, value) is None for one in studies):
                known = [label for one in studies for label in _list_labels(one, axis)]
                hint = suggest_name(str(value), known)
                raise UserError(f"{axis}={value} is in no study: {_list_values(studies, axis)}{hint}")


def _select_values(study: Study, asked: Mapping[str, Sequence[object]]) -> Study:
    """Select the requested values that a study has."""
    where: dict[str, list[object]] = {}
    for axis, values in asked.items():
        found = [find_value(study.manifest, axis, value) for value in values]
        where[axis] = list(dict.fromkeys(value for value in found if value is not None))
        if not where[axis]:
            text, known = ",".join(map(str, values)), _list_labels(study, axis)
            raise UserError(
                f"{axis}={text} isn't in {study.name}, which has {', '.join(known)}: add one of these, as in "
                f"--where {axis}={text},{known[0]}"
            )
    return _narrow(study, where)


def _narrow(study: Study, where: Mapping[str, Sequence[object]]) -> Study:
    return replace(study, reader=replace(study.reader, where={**study.reader.where, **where}))


def _select_common_levels(studies: Sequence[Study]) -> list[Study]:
    """Select the levels that all studies have, among those that were named."""
    levels = [list(study.reader.select_values("alpha")) for study in studies]
    common = [alpha for alpha in levels[0] if all(alpha in some for some in levels)]
    if not common:
        told = _list_values(studies, "alpha")
        raise UserError(f"the studies have no common level: {told}: select or compute an alpha that all have")
    return [_narrow(study, {"alpha": common}) for study in studies]


def _take_first(study: Study, axes: Sequence[str]) -> Study:
    """Select the first of the values that are left along some axes."""
    found = {axis: list(study.reader.select_values(axis)) for axis in axes}
    unused = {axis: values[1:] for axis, values in found.items() if len(values) > 1}
    return replace(_narrow(study, {axis: values[:1] for axis, values in found.items()}), unused=unused)


def _check_single(studies: Sequence[Study]) -> None:
    """Raise UserError if several values of an axis are left in a study."""
    several = {
        study: axes
        for study in studies
        if (axes := [axis for axis in AXES if len(study.reader.select_values(axis)) > 1])
    }
    if not several:
        return
    told = [
        f"{study.name} has {' and '.join(_format_values(study, axis) for axis in axes)}"
        for study, axes in list(several.items())[:_MOST_NAMED]
    ]
    more = f"; {len(several) - _MOST_NAMED} more have several, too" if len(several) > _MOST_NAMED else ""
    study, axes = next(iter(several.items()))
    example = ",".join(f"{axis}={_list_labels(study, axis)[-1]}" for axis in axes)
    raise UserError(f"select one cell of each study: {'; '.join(told)}{more}: for example --where {example}")


def _list_labels(study: Study, axis: str) -> list[str]:
    return [format_label(value) for value in study.reader.sort_values(axis)]


def _format_values(study: Study, axis: str) -> str:
    return f"{axis} = {', '.join(_list_labels(study, axis))}"


def _list_values(studies: Sequence[Study], axis: str) -> str:
    """List the values of an axis in the first studies."""
    return "; ".join(f"{one.name} has {_format_values(one, axis)}" for one in studies[:_MOST_NAMED])
