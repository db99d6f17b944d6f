"""Describe the design of a study in words, in the order of Morris, White & Crowther (2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from harness.core.labels import format_label, list_axis_values
from harness.core.procedures import describe_procedure, format_procedure
from harness.core.schema.measures import COVERAGE_EXPECTED
from harness.core.text import format_count
from harness.report.html.templating import TEMPLATES
from harness.report.sections.facts import MEASURES, Facts
from harness.report.sections.glossary import AXES, LAYOUTS, NOISES, SOURCES
from harness.results import measures
from harness.store.manifest import Manifest


@dataclass(frozen=True)
class NamedText:
    """Name of a source or procedure, with its description."""

    name: str
    text: str


def render_design(facts: Facts) -> Markup:
    """Render aims, data, estimands, methods and performance measures."""
    manifest = facts.manifest
    extent = manifest.extent
    about = {label: one.description for one in manifest.families.values() for label in one.procedures}
    return TEMPLATES.render(
        "design.html",
        description=str(manifest.scenario.get("description", "")).strip(),
        question=_format_question(facts),
        source=describe_source(manifest),
        noise=_describe_noise(facts),
        sizes=_format_values(facts, "n"),
        test_points=manifest.test_points,
        layout=LAYOUTS[manifest.test],
        paths=facts.paths,
        draws=format_count(extent.draws, "training sample"),
        is_resampled=manifest.is_resampled,
        has_function="coverage_f" in facts.measures,
        procedures=[
            NamedText(format_procedure(name), describe_procedure(name, about.get(name, "")))
            for name in extent.grid.procedure
        ],
        settings=_describe_settings(facts),
        measures=_format_measures(facts),
    )


def summarise_design(facts: Facts) -> str:
    """Summarise the design in one line, for the top of the page."""
    extent = facts.manifest.extent
    sizes = [
        f"{len(list_axis_values(extent.grid, axis))} {AXES[axis]}" for axis in ("gamma", "theta", "lam", "n", "alpha")
    ]
    name = str(facts.manifest.scenario.get("source", {}).get("function", ""))
    most = "up to " * bool(extent.left_out)  # procedures that the latest run didn't compute may have fewer
    return (
        f"{format_count(len(extent.grid.procedure), 'procedure')} × {' × '.join(sizes)} on data from {name}, "
        f"each with {most}{facts.paths} × {format_count(extent.draws, 'training sample')} "
        f"and {format_count(facts.manifest.test_points, 'test point')}"
    )


def _format_question(facts: Facts) -> str:
    count = format_count(len(facts.manifest.extent.grid.procedure), "procedure")
    return f"How often do the regions of {count} contain their target, and how wide are they?"


def describe_source(manifest: Manifest) -> NamedText:
    """Describe the source of a study's data, with its parameters."""
    source = dict(manifest.scenario.get("source", {}))
    name = str(source.pop("function", ""))
    return NamedText(name, SOURCES.get(name, "a custom source") + _format_parameters(source))


def _describe_noise(facts: Facts) -> str:
    if facts.manifest.extent.grid.gamma == (0.0,):
        return "No noise is added."
    source = facts.manifest.scenario.get("source", {})
    law = NOISES.get(str(source.get("noise", "gaussian")), "normal")
    endless = source.get("noise") == "student" and source.get("df", 3) <= 2  # Student's t has no finite variance then
    return f"Noise: {law} with {'scale √γ, γ' if endless else 'variance γ'} = {_format_values(facts, 'gamma')}."


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


def _describe_settings(facts: Facts) -> str:
    smoothed = "Smoothed p-values. " * bool(facts.manifest.fingerprint.get("smoothed"))
    left_out = [_format_rule(rule) for rule in facts.manifest.extent.exclude]
    end = f", without those with {'; '.join(left_out)}." if left_out else "."
    return (
        f"{smoothed}{_describe_weights(facts)}{_describe_kernel(facts)}"
        f"Kernel parameter θ = {_format_values(facts, 'theta')}; "
        f"ridge λ = {_format_values(facts, 'lam')}; "
        f"error rate allowed α = {_format_values(facts, 'alpha')}. All combinations{end}"
    )


def _describe_weights(facts: Facts) -> str:
    """Describe the weights of weighted procedures if they aren't the default ones."""
    told = facts.manifest.fingerprint.get("weights")
    if told is None or told == "exact":
        return ""
    what = "estimated from the inputs" if told == "estimated" else f"the density ratio to the power {told:g}"
    return f"Weights of weighted procedures: {what}. "


def _describe_kernel(facts: Facts) -> str:
    """Describe the kernel if it isn't the default one."""
    told = facts.manifest.fingerprint.get("kernel", {})
    return f"Kernel: {', '.join(f'{key} {value}' for key, value in told.items())}. " if told else ""


def _format_rule(rule: Mapping[str, tuple[object, ...]]) -> str:
    return " and ".join(f"{AXES[axis]} = {' or '.join(map(format_label, values))}" for axis, values in rule.items())


def _format_measures(facts: Facts) -> str:
    return "; ".join(_describe_measure(facts, name) for name in (facts.judged, *MEASURES) if name in facts.measures)


def _describe_measure(facts: Facts, name: str) -> str:
    """Describe a measure; quantiles of coverage say which coverage they are of."""
    text = measures.MEASURES[name].what
    if facts.judged != COVERAGE_EXPECTED or not text.endswith(measures.IF_COUNTED):
        return text
    return text.removesuffix(measures.IF_COUNTED).replace("coverage", facts.coverage)
