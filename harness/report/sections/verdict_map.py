"""Render the map of verdicts: one symbol for every cell, along n."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product

from markupsafe import Markup

from harness.core.families import list_unused_axes
from harness.core.procedures import format_procedure, is_for_function
from harness.report.html.choices import Choices
from harness.report.html.templating import TEMPLATES
from harness.report.sections.columns import MARK, find_main_alpha, format_fixed_axes, list_labels, list_varying_axes
from harness.report.sections.facts import Facts
from harness.report.sections.glossary import AXES
from harness.report.sections.verdict_cards import CLASSES, SYMBOLS
from harness.statistics.verdicts import EMPTY

ROOM = 700_000
"""Bytes that the map may take."""
_SETTINGS = ("gamma", "theta", "lam")


@dataclass(frozen=True)
class SignRun:
    """Equal verdicts next to each other, which share an element."""

    signs: str
    kind: str
    """CSS class."""
    title: str


@dataclass(frozen=True)
class MapRow:
    """Verdicts on all procedures at one setting, along n."""

    heads: Sequence[str]
    cells: Sequence[Sequence[SignRun]]


def make_choices(facts: Facts) -> Choices:
    """Return the selector of α."""
    return Choices("map", {"α": list_labels(facts, "alpha")}, {"α": find_main_alpha(facts)})


def render_verdict_map(facts: Facts) -> Markup:
    """Render a table of symbols for each α, or a note if the file would become too large."""
    chosen = make_choices(facts)
    tables = [_render_box(facts, i, chosen.format_classes(α=i)) for i in range(facts.verdicts.sizes["alpha"])]
    fits = sum(len(table.encode()) for table in tables) <= ROOM
    return TEMPLATES.render("verdict_map.html", choices=chosen, tables=tables if fits else [])


def _render_box(facts: Facts, alpha: int, marks: str) -> Markup:
    axes = [axis for axis in list_varying_axes(facts, _SETTINGS) if axis != "procedure"]
    procedures = [_format_procedure(facts, name) for name in list_labels(facts, "procedure")]
    return TEMPLATES.render(
        "verdict_map_table.html",
        marks=marks,
        label=f"verdicts at α = {list_labels(facts, 'alpha')[alpha]}",
        caption=_format_caption(facts, alpha),
        heads=[AXES[axis] for axis in axes] + procedures,
        rows=_iter_rows(facts, alpha, axes),
    )


def _format_procedure(facts: Facts, name: str) -> str:
    """Format a procedure with its target if that isn't y*, and a mark if its level isn't exact here."""
    promised = bool(facts.verdicts["promised"].sel(procedure=name).any())
    return (
        f"{format_procedure(name)}{' (y*)' * is_for_function(name)}{MARK * (promised and facts.manifest.test != 'iid')}"
    )


def _format_caption(facts: Facts, alpha: int) -> str:
    single = format_fixed_axes(facts, _SETTINGS)
    sizes = list_labels(facts, "n")
    signs = f"one sign for each n, from the left: {', '.join(sizes)}" if len(sizes) > 1 else f"n = {sizes[0]}"
    where = f"at α = {list_labels(facts, 'alpha')[alpha]}{f', {single}' if single else ''}"
    return f"Verdicts on y* {where}; {signs}.{_describe_unused_axes(facts)}"


def _describe_unused_axes(facts: Facts) -> str:
    """Say which procedures have the same results at every θ or λ, among axes that have several values."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, used in facts.manifest.axes.items():
        unused = tuple(axis for axis in list_unused_axes(used) if facts.verdicts.sizes[axis] > 1)
        if unused and name in facts.verdicts["procedure"].values:
            found.setdefault(unused, []).append(name)
    told = [f"no {' or '.join(AXES[axis] for axis in axes)}: {', '.join(names)}" for axes, names in found.items()]
    return f" Results stand at every value, and count once, where a procedure uses {'; '.join(told)}." * bool(told)


def _iter_rows(facts: Facts, alpha: int, axes: list[str]) -> Iterator[MapRow]:
    verdicts = facts.verdicts["verdict"].values[..., alpha]
    included = facts.included.values[..., alpha]
    texts = [list_labels(facts, axis) for axis in _SETTINGS]
    for place in product(*(range(len(one)) for one in texts)):
        named = {axis: texts[i][place[i]] for i, axis in enumerate(_SETTINGS)}
        heads = [_mark_searched(facts, axis, named[axis]) for axis in axes]
        at = [(p, *place) for p in range(len(verdicts))]
        yield MapRow(heads, [_list_runs(verdicts[one].tolist(), included[one].tolist()) for one in at])


def _mark_searched(facts: Facts, axis: str, text: str) -> str:
    """Mark a θ that is searched for, which breaks exchangeability."""
    if axis != "theta":
        return text
    judged = facts.verdicts.sel(theta=text)
    return text + MARK * bool((judged["promised"] & ~judged["exchangeable"]).any() and facts.manifest.test == "iid")


def _list_runs(verdicts: list[str], included: list[bool]) -> list[SignRun]:
    """List the symbols, one entry for a run of equal verdicts."""
    told = [verdict if exists else None for verdict, exists in zip(verdicts, included, strict=True)]
    return [_make_run(verdict, len(list(run))) for verdict, run in groupby(told)]


def _make_run(verdict: str | None, count: int) -> SignRun:
    sign, kind = (" ", "e") if verdict is None else (SYMBOLS[verdict], CLASSES[verdict])
    return SignRun(sign * count, kind, f"{count} × {verdict or ('no result' if verdict == EMPTY else 'left out')}")
