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
from harness.core.schema.cube import CUBE_DIMS
from harness.core.text import suggest_name
from harness.parsing.selections import Selection, parse_where
from harness.results.replications import ReplicationReader, find_value, open_reader, parse_number
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
    readers = [open_reader(str(store)) for store in stores]
    _check_distinct(readers)
    names = _name_studies(readers)
    studies, asked = [Study(name, reader) for name, reader in zip(names, readers, strict=True)], parse_where(where)
    _check_known(studies, asked)
    _check_found(studies, asked)
    chosen = [_select_values(study, asked) for study in studies]
    chosen = _select_common_levels(chosen)
    chosen = [_take_first(study, [axis for axis in AXES if axis in asked]) for study in chosen]
    _check_single(chosen, studies, asked)
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
    """Raise UserError if requested values are in no study."""
    wrong = [
        f"{axis}={value} is in no study: {_list_values(studies, axis)}{_suggest_value(studies, axis, value)}"
        for axis, values in asked.items()
        for value in values
        if all(find_value(one.manifest, axis, value) is None for one in studies)
    ]
    if wrong:
        raise UserError("; ".join(wrong))


def _suggest_value(studies: Sequence[Study], axis: str, value: object) -> str:
    return suggest_name(str(value), [label for one in studies for label in _list_labels(one, axis)])


def _check_found(studies: Sequence[Study], asked: Mapping[str, Sequence[object]]) -> None:
    """Raise UserError if studies have none of the values that are requested along an axis."""
    misses = [
        f"{axis}={','.join(map(str, values))} isn't in {one.name}, which has {', '.join(_list_labels(one, axis))}"
        for axis, values in asked.items()
        for one in studies
        if not _find_values(one, axis, values)
    ]
    if misses:
        example = _make_example(studies, asked, _list_open_axes(studies))
        raise UserError(f"{'; '.join(misses)}: add one of these, as in --where {example}")


def _find_values(study: Study, axis: str, values: Sequence[object]) -> list[object]:
    """Return the values that a study has, each once, in the order in which they are named."""
    found = (find_value(study.manifest, axis, value) for value in values)
    return list(dict.fromkeys(value for value in found if value is not None))


def _select_values(study: Study, asked: Mapping[str, Sequence[object]]) -> Study:
    """Select the requested values that a study has."""
    return _narrow(study, {axis: _find_values(study, axis, values) for axis, values in asked.items()})


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


def _check_single(chosen: Sequence[Study], studies: Sequence[Study], asked: Mapping[str, Sequence[object]]) -> None:
    """Raise UserError if several values of an axis are left in a study.

    Parameters
    ----------
    chosen, studies : sequence of Study
        The studies with what was selected, and with all that they have.
    asked : mapping
        The requested values.
    """
    several = {study: axes for study in chosen if (axes := _list_open_axes([study]))}
    if not several:
        return
    told = [
        f"{study.name} has {' and '.join(_format_values(study, axis) for axis in axes)}"
        for study, axes in list(several.items())[:_MOST_NAMED]
    ]
    more = f"; {len(several) - _MOST_NAMED} more have several, too" if len(several) > _MOST_NAMED else ""
    example = _make_example(studies, asked, _list_open_axes(chosen))
    raise UserError(f"select one cell of each study: {'; '.join(told)}{more}: for example --where {example}")


def _list_open_axes(studies: Sequence[Study]) -> list[str]:
    """Return the axes along which a study has several values left."""
    return [axis for axis in AXES if any(len(study.reader.select_values(axis)) > 1 for study in studies)]


def _make_example(studies: Sequence[Study], asked: Mapping[str, Sequence[object]], others: Sequence[str]) -> str:
    """Return a selection that leaves one cell of each study: the requested values and others, completed for all."""
    axes = [axis for axis in CUBE_DIMS if axis in asked or axis in others]
    found = {axis: _complete_values(studies, axis, [str(value) for value in asked.get(axis, ())]) for axis in axes}
    return ",".join(f"{axis}={','.join(values)}" for axis, values in found.items())


def _complete_values(studies: Sequence[Study], axis: str, named: Sequence[str]) -> list[str]:
    """Return named values, and as many more as it takes that every study has one of them.

    These are common to all studies where that is possible, and else each study's nearest to the first.
    """
    labels = [_list_labels(study, axis) for study in studies]
    common = [label for label in labels[0] if all(label in some for some in labels)]
    values = list(named) or [(common or labels[0])[-1]]
    for study, known in zip(studies, labels, strict=True):
        if not _find_values(study, axis, values):
            values.append(_find_nearest(values[0], common or known))
    return values


def _find_nearest(text: str, labels: Sequence[str]) -> str:
    """Return the label nearest to a number; the last one if that isn't a number, or none of them is."""
    numbers = [label for label in labels if parse_number(label) is not None]
    number = parse_number(text)
    if number is None or not numbers:
        return labels[-1]
    return min(numbers, key=lambda label: abs(float(label) - number))


def _list_labels(study: Study, axis: str) -> list[str]:
    return [format_label(value) for value in study.reader.sort_values(axis)]


def _format_values(study: Study, axis: str) -> str:
    return f"{axis} = {', '.join(_list_labels(study, axis))}"


def _list_values(studies: Sequence[Study], axis: str) -> str:
    """List the values of an axis in the first studies."""
    return "; ".join(f"{one.name} has {_format_values(one, axis)}" for one in studies[:_MOST_NAMED])
