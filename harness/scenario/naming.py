"""Check the names of procedures and searches in a scenario against those that its families have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from harness.core.families import MODEL_AXES
from harness.core.protocols import FindsLam, LimitedFamily, SupportsKernel
from harness.core.text import shorten_repr
from harness.scenario.errors import Complaint
from harness.scenario.families import LoadedFamily

_EXAMPLES = {"theta": '10, 100, "ml"', "lam": "0.1"}


def make_context(families: Sequence[LoadedFamily]) -> dict[str, Any]:
    """Return what the validation of a scenario needs to know of its families.

    A search for θ must be one that all families with a θ have.
    """
    searching = [one for one in families if "theta" in _get_axes(one)]
    searches = searching[0].family.searches if searching else ()
    given = {"searches": [each for each in searches if all(each in one.family.searches for one in searching)]}
    return {
        **(given if searching else {}),  # without a family that uses θ, any label will do
        "families": [one.entry.name for one in families],
        "procedures": list(dict.fromkeys(label for one in families for label in one.labels)),
        "finds_lam": _list_searches_for_lam(families),
        "axes": [axis for axis in MODEL_AXES if any(axis in _get_axes(one) for one in families)],
    }


def _list_searches_for_lam(families: Sequence[LoadedFamily]) -> list[str]:
    """Return the searches with which no family uses λ."""
    using = [one for one in families if "lam" in _get_axes(one)]
    found = [set(_get_searches_for_lam(one)) for one in using]
    return sorted(set.intersection(*found)) if found else []


def _get_searches_for_lam(one: LoadedFamily) -> Sequence[str]:
    return one.family.finds_lam if isinstance(one.family, FindsLam) and "theta" in _get_axes(one) else ()


def _get_axes(one: LoadedFamily) -> Sequence[str]:
    return one.family.axes if isinstance(one.family, LimitedFamily) else MODEL_AXES


def explain_missing_axis(complaint: Complaint, families: Sequence[LoadedFamily]) -> Complaint:
    """Add to a complaint about a missing θ or λ who needs it, and what to write."""
    axis = complaint.key.removeprefix("grid.")
    if axis not in MODEL_AXES or complaint.text != "is missing":
        return complaint
    names = ", ".join(one.entry.use for one in families if axis in _get_axes(one)) or "krr"
    return replace(complaint, text=f"is missing: {names} needs it, as in {axis} = [{_EXAMPLES[axis]}]")


def check_searches(families: Sequence[LoadedFamily], thetas: Sequence[object], kernel: str) -> Iterator[Complaint]:
    """Yield complaints about searches for θ that a family doesn't have with the kernel of the scenario."""
    for one in (each for each in families if isinstance(each.family, SupportsKernel)):
        known = f"only {', '.join(one.family.searches)}" if one.family.searches else "no search for θ"
        for i, theta in enumerate(thetas):
            if isinstance(theta, str) and theta not in one.family.searches:
                text = f"must not be {shorten_repr(theta)}: with kernel = {shorten_repr(kernel)} there is {known}"
                yield Complaint(f"grid.theta[{i}]", text)


def check_procedures(families: Sequence[LoadedFamily], asked: Sequence[str]) -> Iterator[Complaint]:
    """Yield complaints about procedures that two families have, and about families of which none is asked for."""
    for i, one in enumerate(families):
        for other in families[:i]:
            both = [label for label in one.labels if label in other.labels and label in asked]
            if both:
                yield Complaint(one.entry.key, _describe_clash(one, other, both))
        if not any(label in asked for label in one.labels):
            how = f"add one of {', '.join(list(one.labels)[:6])}, or leave the family out"
            if not one.labels:
                how = "leave it out: the families before it have all of its procedures"
            yield Complaint(one.entry.key, f"is {one.entry.use!r}, of which grid.procedure has nothing: {how}")


def _describe_clash(one: LoadedFamily, other: LoadedFamily, both: Sequence[str]) -> str:
    how = f'give one of them another name, as in {{ use = "{one.entry.use}", name = "mine" }}'
    return (
        f"is {one.entry.use!r}, which has {', '.join(both[:3])}, as {other.entry.use!r} has: names must differ; {how}"
    )
