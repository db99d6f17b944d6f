"""What was asked: the scenario in words, in the order of Morris, White & Crowther (2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.core.labels import axis_values, label
from harness.core.text import counted
from harness.report.html.markup import Markup, items, joined, pairs, tag
from harness.report.sections.facts import MEASURES, Facts
from harness.report.sections.glossary import AXES, LAYOUTS, NOISES, PROCEDURES, SOURCES
from harness.results import measures


def asked(facts: Facts) -> Markup:
    """Aims, data, estimands, methods, performance measures."""
    return pairs(
        [
            ("Aims", _aims(facts)),
            ("Data", _data(facts)),
            ("Estimands", _estimands(facts)),
            ("Methods", _methods(facts)),
            ("Performance measures", _measures(facts)),
        ],
        class_="ademp",
    )


def in_a_line(facts: Facts) -> str:
    """The whole question, for the top of the page."""
    extent = facts.record.extent
    sizes = [f"{len(axis_values(extent.grid, axis))} {AXES[axis]}" for axis in ("gamma", "theta", "lam", "n", "alpha")]
    name = str(facts.record.scenario.get("source", {}).get("function", ""))
    return (
        f"{counted(len(extent.grid.procedure), 'procedure')} × {' × '.join(sizes)} on data from {name}, "
        f"each with {counted(extent.paths, 'path')} × {counted(extent.draws, 'train sample')} "
        f"and {counted(facts.record.test_points, 'test point')}"
    )


def _aims(facts: Facts) -> Markup:
    said = str(facts.record.scenario.get("description", "")).strip()
    names = facts.record.extent.grid.procedure
    question = (
        f"How often do the regions of {counted(len(names), 'procedure')} contain what they are to contain, "
        "and how wide are they?"
    )
    return joined([tag("p", "“", said, "”") if said else Markup(""), tag("p", question)])


def _data(facts: Facts) -> Markup:
    record = facts.record
    source = dict(record.scenario.get("source", {}))
    name = str(source.pop("function", ""))
    extent = record.extent
    gammas, sizes = _values(facts, "gamma"), _values(facts, "n")
    law = NOISES.get(str(source.get("noise", "gaussian")), "normal")
    endless = source.get("noise") == "student" and source.get("df", 3) <= 2  # Student's law has no variance then
    size = "scale √γ, γ" if endless else "variance γ"
    noise = f"Noise: {law} with {size} = {gammas}." if extent.grid.gamma != (0.0,) else "No noise is added."
    paths, draws = counted(extent.paths, "path"), counted(extent.draws, "train sample")
    return items(
        [
            joined([tag("b", name), f": {_source_words(name)}", _parameters(source)]),
            noise,
            f"Train sizes: n = {sizes}.",
            f"Test points: {record.test_points} in each replication, {LAYOUTS[record.test]}.",
            f"Replications of each cell: {paths} (independent draws of the world) × {draws} from each.",
        ]
    )


def _source_words(name: str) -> str:
    return SOURCES.get(name, "a source of the user's own")


def _parameters(source: Mapping[str, object]) -> str:
    """All but the test points, which have a line of their own."""
    told = [f"{key} = {_plain(value)}" for key, value in source.items() if key not in ("test", "test_points")]
    return f" ({', '.join(told)})" if told else ""


def _plain(value: object) -> str:
    return ", ".join(map(label, value)) if isinstance(value, list | tuple) else label(value)


def _values(facts: Facts, axis: str) -> str:
    values: Sequence[object] = axis_values(facts.record.extent.grid, axis)
    try:
        return ", ".join(label(each) for each in sorted(values, key=_as_number))
    except ValueError:
        return ", ".join(label(each) for each in values)


def _as_number(value: object) -> float:
    return float(str(value))


def _estimands(facts: Facts) -> Markup:
    latent = facts.measures["coverage_f"]["value"].notnull().any()
    return items(
        [
            "The probability that a region contains y*, the value at a new point, over train samples and test points.",
            *(["The probability that it contains f(x*), the function without noise."] if bool(latent) else []),
            "The width of the region's hull.",
        ]
    )


def _methods(facts: Facts) -> Markup:
    extent = facts.record.extent
    procedures = [joined([tag("b", name), _described(name)]) for name in extent.grid.procedure]
    settings = (
        f"{_kernel(facts)}Kernel parameter θ = {_values(facts, 'theta')}; ridge λ = {_values(facts, 'lam')}; "
        f"error rate allowed α = {_values(facts, 'alpha')}. All combinations"
    )
    settings = "Smoothed p-values. " * bool(facts.record.fingerprint.get("smoothed")) + settings
    left_out = [_rule(rule) for rule in extent.exclude]
    end = f", without those with {'; '.join(left_out)}." if left_out else "."
    return joined([items(procedures), tag("p", settings + end)])


def _kernel(facts: Facts) -> str:
    """The kernel, where it isn't the usual one."""
    told = facts.record.fingerprint.get("kernel", {})
    return f"Kernel: {', '.join(f'{key} {value}' for key, value in told.items())}. " if told else ""


def _described(name: str) -> str:
    return f": {PROCEDURES[name]}" if name in PROCEDURES else ""


def _rule(rule: Mapping[str, tuple[object, ...]]) -> str:
    return " and ".join(f"{AXES[axis]} = {' or '.join(map(label, values))}" for axis, values in rule.items())


def _measures(facts: Facts) -> Markup:
    told = [
        measures.MEASURES[name].what for name in ("coverage", *MEASURES) if name in facts.measures or name == "coverage"
    ]
    return joined([tag("p", "Of every cell: ", "; ".join(told), "; and MAD, the largest |error rate − α| over α.")])
