"""Check that families can compute on a sample, and time them, before any work starts."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from harness.compute.unit import make_factor, make_target
from harness.core.errors import UserError
from harness.core.families import NO_VALUE, StudyFamily
from harness.core.protocols import Family, Sample, Scores, Source, SupportsPath
from harness.core.seeds import Seeds
from harness.core.text import format_error
from harness.core.types import Extent, Theta, Values
from harness.scenario.code import locate_error

_FIELDS = {"hits": "b", "lower": "f", "upper": "f", "length": "f", "count": "iu"}
"""Kind of the data type of each field of `Scores`; `hits_f` is as `hits`."""
_KINDS = {"b": "bool", "f": "float", "iu": "int"}
_ATTEMPTS = 3
"""Number of samples that must all fail before a family counts as broken."""
_SLOW = 20.0
"""Seconds from which on a family isn't tried a second time. The first time also loads modules."""


@dataclass(frozen=True, eq=False)
class Probe:
    """A sample on which families are tried, on a path outside the study."""

    source: Source
    seeds: Seeds
    extent: Extent
    path: int

    @cached_property
    def sample(self) -> Sample:
        """The sample, of the smallest n."""
        grid = self.extent.grid
        first = {"gamma": grid.gamma[0], "theta": grid.theta[0], "lam": grid.lam[0], "path": 0, "draw": 0}
        streams = self.seeds.make_path_streams(self.path), self.seeds.make_draw_streams(self.path, 0)
        at = {axis: first[axis] for axis in self.source.redraws}
        return self.source.path(streams[0]).draw(streams[1], min(grid.n), at)

    def run(self, family: StudyFamily) -> tuple[Scores, float]:
        """Return a family's scores for the first γ, and the seconds they took."""
        sample, start = self.sample, perf_counter()
        bound: Family = family.family
        if isinstance(bound, SupportsPath):
            bound = bound.on_path(self.seeds.make_path_streams(self.path))
        target = make_target(self.source, sample, self.extent.grid.gamma[:1])
        factor = make_factor(bound.inputs(sample.X, sample.X_test), target, *self._choose_model(family))
        streams, alpha = [self.seeds.make_draw_streams(self.path, 0)], self.extent.grid.alpha
        found = family.family.score([factor], [target], family.list_scored(self.extent.grid), alpha, streams)
        if len(found) != 1:
            raise ValueError(f"score returned {len(found)} results for one factor, it must be a list of one")
        return found[0], perf_counter() - start

    def _choose_model(self, family: StudyFamily) -> tuple[Theta, float]:
        """Return the first given θ, or a search if there is none, and the first λ."""
        grid = self.extent.grid
        given = [theta for theta in grid.theta if not isinstance(theta, str)]
        theta: Theta = (given or grid.theta)[0] if "theta" in family.given else NO_VALUE
        return theta, grid.lam[0] if "lam" in family.given else NO_VALUE


def probe_families(probe: Probe, families: Sequence[StudyFamily], where: str) -> Mapping[str, float]:
    """Return the seconds that each family takes for one target of a sample; raise UserError if one is broken.

    Parameters
    ----------
    probe : Probe
        The sample to try them on.
    families : sequence of StudyFamily
        The families to check.
    where : str
        Name of the scenario file, for error messages.

    Returns
    -------
    mapping
        Seconds by name; without families whose matrices are singular, which is a result and no mistake.

    Notes
    -----
    A family counts as broken only if several samples in a row fail: single failures are results, and are stored.
    """
    found = {}
    for family in families:
        errors: list[Exception] = []
        while len(errors) < _ATTEMPTS:
            one = probe if not errors else replace(probe, path=probe.path + len(errors))
            try:
                found[family.name] = _try_family(one, family, where)
                break
            except UserError:
                raise
            except Exception as error:
                errors.append(error)
        if len(errors) == _ATTEMPTS and not isinstance(errors[0], np.linalg.LinAlgError):
            raise UserError(_describe_error(family, errors[0], where)) from errors[0]
    return found


def _try_family(probe: Probe, family: StudyFamily, where: str) -> float:
    """Return the seconds that a family takes on a sample; raise UserError if it returns what no region can have."""
    scores, seconds = probe.run(family)
    for problem in _find_problems(scores, family, probe):
        raise UserError(f"{where}: family {family.name!r} returned {problem} ({_locate(family.family)})")
    if seconds > _SLOW:
        return seconds
    again, seconds = probe.run(family)
    if any(not np.array_equal(getattr(scores, end), getattr(again, end), equal_nan=True) for end in ("lower", "upper")):
        what = "gives other numbers when it is called again on the same sample"
        how = "draw all random numbers from rng (or streams), and keep nothing between calls"
        raise UserError(f"{where}: family {family.name!r} {what}: {how} ({_locate(family.family)})")
    return seconds


def _describe_error(family: StudyFamily, error: Exception, where: str) -> str:
    place = locate_error(error) or _locate(family.family)
    return f"{where}: family {family.name!r} can't compute on a sample: {format_error(error)} ({place})"


def _locate(family: Any) -> str:
    """Return file and line of the method `score` of a family, or of what the family says it is made from."""
    made_from = getattr(family, "function", None) or type(family)
    try:
        code = inspect.unwrap(made_from if inspect.isfunction(made_from) else made_from.score).__code__
    except AttributeError:
        return f"its class is {type(family).__qualname__}"
    return f"{Path(code.co_filename).name}, line {code.co_firstlineno}"


def _find_problems(scores: Scores, family: StudyFamily, probe: Probe) -> Iterator[str]:
    """Describe what is wrong with the shapes, types and values of scores."""
    grid = probe.extent.grid
    shape = (1, len(family.list_scored(grid)), len(probe.sample.X_test), len(grid.alpha))
    arrays: dict[str, Values] = {}
    for name, kinds in {**_FIELDS, "hits_f": "b"}.items():
        values = getattr(scores, name, None)
        if values is None and name == "hits_f" and hasattr(scores, name):
            continue
        if values is None:
            yield f"scores without {name}"
            return
        arrays[name] = np.asarray(values)
        yield from _find_form_problems(name, arrays[name], shape, kinds)
    yield from _find_value_problems(arrays)


def _find_form_problems(name: str, values: Values, shape: tuple[int, ...], kinds: str) -> Iterator[str]:
    if values.shape != shape:
        axes = "(targets, procedures, test points, levels)"
        yield f"{name} of shape {values.shape}, it must be {shape}: {axes}"
    elif values.dtype.kind not in kinds:
        yield f"{name} of type {values.dtype}, it must be {_KINDS[kinds]}"


def _find_value_problems(arrays: Mapping[str, Values]) -> Iterator[str]:
    """Describe values that no region can have; an empty region has count 0 and may have NaN as ends."""
    some = arrays["count"] > 0
    if not some.any():
        yield "an empty region at every test point and level"
        return
    for name in ("lower", "upper", "length"):
        wrong = int((np.isnan(arrays[name]) & some).sum())
        if wrong:
            yield f"{name} with {wrong} NaN of {some.size}, in regions that have count > 0"
    if (arrays["count"] < 0).any():
        yield "count below 0"
    crossed = int(((arrays["lower"] > arrays["upper"]) & some).sum())
    if crossed:
        yield f"lower above upper in {crossed} of {some.size} regions"
