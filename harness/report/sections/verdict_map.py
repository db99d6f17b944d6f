"""The map: the verdict of every cell in one sign, along n."""

from __future__ import annotations

from itertools import groupby, product

from harness.report.html.choices import Choices, together
from harness.report.html.markup import Markup, tag
from harness.report.sections.columns import MARK, fixed, labels, main_alpha, varying
from harness.report.sections.facts import Facts
from harness.report.sections.glossary import AXES, OF_THE_FUNCTION
from harness.report.sections.verdict_cards import CLASSES, SYMBOLS
from harness.results.validity import EMPTY

ROOM = 700_000
"""Bytes that the map may take."""
_SETTINGS = ("gamma", "theta", "lam")


def choices(facts: Facts) -> Choices:
    """Of α."""
    return Choices("map", {"α": labels(facts, "alpha")}, {"α": main_alpha(facts)})


def verdict_map(facts: Facts) -> Markup:
    """A table for each α."""
    chosen = choices(facts)
    tables = [_boxed(facts, i, chosen.marks(α=i)) for i in range(facts.judged.sizes["alpha"])]
    if sum(len(table.encode()) for table in tables) > ROOM:
        return tag("p", "The map would make the file too long; the numbers below have verdicts, too.", class_="note")
    return tag("div", together([chosen.buttons(), *tables]), id="map")


def _boxed(facts: Facts, alpha: int, marks: str) -> Markup:
    named = f"verdicts at α = {labels(facts, 'alpha')[alpha]}"
    return tag("div", _table(facts, alpha), class_=f"box {marks}", tabindex="0", role="region", aria_label=named)


def _table(facts: Facts, alpha: int) -> Markup:
    axes = [axis for axis in varying(facts, _SETTINGS) if axis != "procedure"]
    names = labels(facts, "procedure")
    heads = [AXES[axis] for axis in axes] + [_named(facts, name) for name in names]
    head = tag("tr", *(tag("th", text, scope="col") for text in heads))
    body = tag("tbody", Markup("".join(_rows(facts, alpha, axes))))
    return tag("table", tag("caption", _caption(facts, alpha)), tag("thead", head), body, class_="map")


def _named(facts: Facts, name: str) -> str:
    """A procedure, with what is to know of it."""
    promised = bool(facts.judged["promised"].sel(procedure=name).any())
    return f"{name}{' (y*)' * (name in OF_THE_FUNCTION)}{MARK * (promised and facts.record.test != 'iid')}"


def _caption(facts: Facts, alpha: int) -> str:
    single = fixed(facts, _SETTINGS)
    sizes = labels(facts, "n")
    signs = f"one sign for each n, from the left: {', '.join(sizes)}" if len(sizes) > 1 else f"n = {sizes[0]}"
    return f"Verdicts on y* at α = {labels(facts, 'alpha')[alpha]}{f', {single}' if single else ''}; {signs}."


def _rows(facts: Facts, alpha: int, axes: list[str]) -> list[str]:
    verdicts = facts.judged["verdict"].values[..., alpha]
    there = facts.included.values[..., alpha]
    texts = [labels(facts, axis) for axis in _SETTINGS]
    rows = []
    for place in product(*(range(len(one)) for one in texts)):
        named = {axis: texts[i][place[i]] for i, axis in enumerate(_SETTINGS)}
        heads = "".join(tag("th", _marked(facts, axis, named[axis]), scope="row") for axis in axes)
        cells = (_signs(verdicts[(p, *place)].tolist(), there[(p, *place)].tolist()) for p in range(len(verdicts)))
        rows.append(f"<tr>{heads}{''.join(f'<td>{cell}' for cell in cells)}\n")
    return rows


def _marked(facts: Facts, axis: str, text: str) -> str:
    """θ that is searched for breaks exchangeability."""
    if axis != "theta":
        return text
    judged = facts.judged.sel(theta=text)
    return text + MARK * bool((judged["promised"] & ~judged["exchangeable"]).any() and facts.record.test == "iid")


def _signs(verdicts: list[str], there: list[bool]) -> Markup:
    """Runs of one verdict share an element."""
    told = [verdict if exists else None for verdict, exists in zip(verdicts, there, strict=True)]
    parts = []
    for verdict, run in groupby(told):
        sign, name = (" ", "e") if verdict is None else (SYMBOLS[verdict], CLASSES[verdict])
        count = len(list(run))
        parts.append(
            tag(
                "i",
                sign * count,
                class_=name,
                title=f"{count} × {verdict or ('no result' if verdict == EMPTY else 'left out')}",
            )
        )
    return Markup("".join(parts))
