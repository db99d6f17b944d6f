"""Find the family of procedures that a scenario names, and configure its kernel and smoothing."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from typing import Any

from harness.core.protocols import Family, SupportsKernel, SupportsSmoothing
from harness.core.text import shorten_repr, suggest_name
from harness.scenario.errors import Complaint, ScenarioError
from harness.scenario.importing import import_name

FAMILIES = {name: f"harness.families.{name}:FAMILY" for name in ("krr", "baselines", "peers")}
_FAMILY_MEMBERS = ("procedures", "searches", "reference", "version", "inputs", "score", "level", "flops", "memory")
_NOTHING = object()
_NOT_A_FAMILY = {types.ModuleType: "module", type: "class", types.FunctionType: "function"}


def find_family(name: str) -> Family:
    """Return the family of procedures with a bundled name, or import it from "package.module:name"."""
    if name not in FAMILIES and ":" not in name:
        known = ", ".join(FAMILIES)
        hint = f"{shorten_repr(name)}{suggest_name(name, FAMILIES)}"
        raise ScenarioError(Complaint("family", f"must be {known} or 'package.module:name', got {hint}"))
    found: Family = import_name(FAMILIES.get(name, name), "family", ours=name in FAMILIES)
    _check_family(found, name)
    return found


def _check_family(found: object, name: str) -> None:
    """Raise ScenarioError unless an object has all members of `Family`; none of them is called or evaluated."""
    what = next((word for kind, word in _NOT_A_FAMILY.items() if issubclass(type(found), kind)), None)
    if what is not None:
        how = "a family is an object, for example `FAMILY = MyFamily()`"
        text = f"names {shorten_repr(name)}, which is a {what}: {how}"
        raise ScenarioError(Complaint("family", text))
    missing = [each for each in _FAMILY_MEMBERS if inspect.getattr_static(found, each, _NOTHING) is _NOTHING]
    if missing:
        raise ScenarioError(Complaint("family", f"names {shorten_repr(name)}, which has no {', '.join(missing)}"))


def kernel_options(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kernel options of a scenario that differ from the defaults; they are part of its fingerprint.

    Examples
    --------
    >>> kernel_options({"kernel": "gaussian", "scales": None})
    {}
    >>> kernel_options({"kernel": "matern52", "scales": (1, 10)})
    {'kernel': 'matern52', 'scales': [1.0, 10.0]}
    """
    told = {key: plain.get(key) for key in ("kernel", "scales", "features")}
    found = {key: value for key, value in told.items() if value is not None and (key, value) != ("kernel", "gaussian")}
    return {key: [float(each) for each in value] if key == "scales" else value for key, value in found.items()}


def with_kernel(known: Family, name: str, told: Mapping[str, Any], dimension: int) -> Family:
    """Return the family with the kernel options of a scenario; raise ScenarioError if it has no such options."""
    if not told:
        return known
    if not isinstance(known, SupportsKernel):
        raise ScenarioError(Complaint(next(iter(told)), f"must be left out: the family {name!r} has no kernel options"))
    try:
        return known.on_kernel(dimension, **told)
    except ValueError as error:
        raise ScenarioError(Complaint("", str(error))) from None


def with_smoothing(known: Family, name: str, asked: bool) -> Family:
    """Return the family with smoothed p-values if `asked`; raise ScenarioError if it does not support them."""
    if not asked:
        return known
    if not isinstance(known, SupportsSmoothing):
        raise ScenarioError(Complaint("smoothed", f"must be left out: the family {name!r} can't smooth p-values"))
    return known.smooth()
