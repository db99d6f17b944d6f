"""Describe the design of a study in words, in the order of Morris, White & Crowther (2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.core.labels import format_label, list_axis_values
from harness.core.procedures import describe_procedure
from harness.core.text import format_count
from harness.report.html.markup import Markup, join_markup, render_definitions, render_list, tag
from harness.report.sections.facts import MEASURES, Facts
from harness.report.sections.glossary import AXES, LAYOUTS, NOISES, SOURCES
from harness.results import measures


def render_design(facts: Facts) -> Markup:
    """Render aims, data, estimands, methods and performance measures."""
    return render_definitions(
        [
            ("Aims", _render_aims(facts)),
            ("Data", _render_data(facts)),
            ("Estimands", _render_estimands(facts)),
            ("Methods", _render_methods(facts)),
            ("Performance measures", _render_measures(facts)),
        ],
        class_="ademp",
    )


def summarise_design(facts: Facts) -> str:
    """Summarise the design in one line, for the top of the page."""
    extent = facts.manifest.extent
    sizes = [
        f"{len(list_axis_values(extent.grid, axis))} {AXES[axis]}" for axis in ("gamma", "theta", "lam", "n", "alpha")
    ]
    name = str(facts.manifest.scenario.get("source", {}).get("function", ""))
    return (
        f"{format_count(len(extent.grid.procedure), 'procedure')} × {' × '.join(sizes)} on data from {name}, "
        f"each with {format_count(extent.paths, 'path')} × {format_count(extent.draws, 'training sample')} "
        f"and {format_count(facts.manifest.test_points, 'test point')}"
    )


def _render_aims(facts: Facts) -> Markup:
    said = str(facts.manifest.scenario.get("description", "")).strip()
    names = facts.manifest.extent.grid.procedure
    question = (
        f"How often do the regions of {format_count(len(names), 'procedure')} contain their target, "
        "and how wide are they?"
    )
    return join_markup([tag("p", "“", said, "”") if said else Markup(""), tag("p", question)])


def _render_data(facts: Facts) -> Markup:
    manifest = facts.manifest
    source = dict(manifest.scenario.get("source", {}))
    name = str(source.pop("function", ""))
    extent = manifest.extent
    gammas, sizes = _format_values(facts, "gamma"), _format_values(facts, "n")
    law = NOISES.get(str(source.get("noise", "gaussian")), "normal")
    endless = source.get("noise") == "student" and source.get("df", 3) <= 2  # Student's t has no finite variance then
    size = "scale √γ, γ" if endless else "variance γ"
    noise = f"Noise: {law} with {size} = {gammas}." if extent.grid.gamma != (0.0,) else "No noise is added."
    paths, draws = format_count(extent.paths, "path"), format_count(extent.draws, "training sample")
    return render_list(
        [
            join_markup([tag("b", name), f": {_describe_source(name)}", _format_parameters(source)]),
            noise,
            f"Training sizes: n = {sizes}.",
            f"Test points: {manifest.test_points} in each replication, {LAYOUTS[manifest.test]}.",
            f"Replications per cell: {paths} (independent realisations of the data-generating process) × {draws} each.",
        ]
    )


def _describe_source(name: str) -> str:
    return SOURCES.get(name, "a custom source")


def _format_parameters(source: Mapping[str, object]) -> str:
    """Format the parameters of a source, except those of test points, which have their own line."""
    told = [f"{key} = {_format_plain(value)}" for key, value in source.items() if key not in ("test", "test_points")]
    return f" ({', '.join(told)})" if told else ""


def _format_plain(value: object) -> str:
    return ", ".join(map(format_label, value)) if isinstance(value, list | tuple) else format_label(value)


def _format_values(facts: Facts, axis: str) -> str:
    values: Sequence[object] = list_axis_values(facts.manifest.extent.grid, axis)
    try:
        return ", ".join(format_label(each) for each in sorted(values, key=_parse_number))
    except ValueError:
        return ", ".join(format_label(each) for each in values)


def _parse_number(value: object) -> float:
    return float(str(value))


def _render_estimands(facts: Facts) -> Markup:
    latent = facts.measures["coverage_f"]["value"].notnull().any()
    return render_list(
        [
            "The probability that a region contains y*, a new value, over training samples and test points.",
            *(["The probability that it contains f(x*), the function without noise."] if bool(latent) else []),
            "The width of the region's hull.",
        ]
    )


def _render_methods(facts: Facts) -> Markup:
    extent = facts.manifest.extent
    procedures = [join_markup([tag("b", name), f": {describe_procedure(name)}"]) for name in extent.grid.procedure]
    settings = (
        f"{_describe_kernel(facts)}Kernel parameter θ = {_format_values(facts, 'theta')}; "
        f"ridge λ = {_format_values(facts, 'lam')}; "
        f"error rate allowed α = {_format_values(facts, 'alpha')}. All combinations"
    )
    settings = "Smoothed p-values. " * bool(facts.manifest.fingerprint.get("smoothed")) + settings
    left_out = [_format_rule(rule) for rule in extent.exclude]
    end = f", without those with {'; '.join(left_out)}." if left_out else "."
    return join_markup([render_list(procedures), tag("p", settings + end)])


def _describe_kernel(facts: Facts) -> str:
    """Describe the kernel if it isn't the default one."""
    told = facts.manifest.fingerprint.get("kernel", {})
    return f"Kernel: {', '.join(f'{key} {value}' for key, value in told.items())}. " if told else ""


def _format_rule(rule: Mapping[str, tuple[object, ...]]) -> str:
    return " and ".join(f"{AXES[axis]} = {' or '.join(map(format_label, values))}" for axis, values in rule.items())


def _render_measures(facts: Facts) -> Markup:
    told = [
        measures.MEASURES[name].what for name in ("coverage", *MEASURES) if name in facts.measures or name == "coverage"
    ]
    return join_markup(
        [tag("p", "Of every cell: ", "; ".join(told), "; and MAD, the largest |error rate − α| over α.")]
    )
