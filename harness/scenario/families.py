"""Find the families of procedures that a scenario names, and configure their kernel and smoothing.

A family is a bundled name, "sklearn:Regressor", a name that an installed package declares (entry points
`ckrr.families`), "package.module:name", or "file.py:name" with a file next to the scenario. A table adds parameters and
another name: `{ use = "sklearn:RandomForestRegressor", name = "forest", n_estimators = 200 }`.

A scenario may come from an untrusted author. A class is called only if it has all members of the protocol `Family`, or
is defined in the file next to the scenario, whose code runs anyway; no member of an object is evaluated before it is
known to be a family.
"""

from __future__ import annotations

import importlib
import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.core.families import FamilyRecord, StudyFamily
from harness.core.plugins import FAMILIES as PLUGINS
from harness.core.protocols import (
    Family,
    Source,
    SupportsKernel,
    SupportsKnownNoise,
    SupportsSmoothing,
    SupportsWeights,
)
from harness.core.text import escape_line, format_error, shorten, shorten_repr, suggest_name
from harness.families.weights import Weights, weigh_family, weights_option
from harness.parsing.hashing import hash_file
from harness.scenario.code import (
    find_declared,
    import_name,
    load_object,
    make_module_name,
    normalise_name,
    read_bytes,
    split_name,
)
from harness.scenario.entries import DEFAULT, REGRESSORS, FamilyEntry
from harness.scenario.errors import Complaint, ScenarioError

FAMILIES = {name: f"harness.families.{name}:FAMILY" for name in ("krr", "baselines", "peers", "cqr")}
_REGRESSOR_MAKER = "harness.families.regressors"
_FAMILY_MEMBERS = ("procedures", "searches", "reference", "version", "inputs", "score", "level", "flops", "memory")
_LABEL = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,200}")
_LONGEST_DESCRIPTION = 200
_NOTHING = object()
_DEFAULTS = (("kernel", "gaussian"), ("mean", "zero"))
"""Kernel options that are no part of a fingerprint."""


@dataclass(frozen=True)
class LoadedFamily:
    """A family as a scenario names it, with the file that defines it."""

    entry: FamilyEntry
    family: Family
    files: Mapping[str, bytes] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    """Procedures that are left to another family; see `share_procedures`."""

    @property
    def labels(self) -> dict[str, str]:
        """The family's own name of each procedure, by its name in the study.

        A family that has another name has its procedures under that name; those around a regressor always do.
        """
        prefix, own = self.entry.prefix, [name for name in self.family.procedures if name not in self.hidden]
        if prefix is None:
            return {name: name for name in own}
        return {prefix: own[0]} if len(own) == 1 else {f"{prefix}-{name}": name for name in own}

    def make_study_family(self, redraws: Sequence[str]) -> StudyFamily:
        """Return the family as part of a study whose source redraws its data along some axes."""
        renamed = self.labels if self.entry.prefix is not None or self.hidden else {}
        return StudyFamily(self.entry.name, self.family, renamed, tuple(redraws))

    def make_record(self, procedures: Sequence[str], study: StudyFamily, thetas: Sequence[float | str]) -> FamilyRecord:
        """Return what a store records of the family, and of those of its procedures that it has."""
        mine = tuple(name for name in procedures if name in self.labels)
        files = {name: hash_file(data) for name, data in self.files.items()}
        version, parameters = self.family.version, dict(self.entry.parameters)
        about = _describe_family(self.family, self.entry)
        searches = tuple(theta for theta in study.finds_lam if theta in thetas)
        return FamilyRecord(self.entry.use, mine, study.axes, study.given, version, parameters, files, about, searches)


def _describe_family(family: Family, entry: FamilyEntry) -> str:
    """Describe a family in one line: by the first line of its docstring, or by the regressor that it is around."""
    module, _, name = entry.use.partition(":")
    if module == REGRESSORS:
        settings = ", ".join(f"{key}={value!r}" for key, value in entry.parameters.items())
        return shorten(f"conformal prediction around {name}({settings}) of scikit-learn", _LONGEST_DESCRIPTION)
    if entry.use in FAMILIES:
        return f"a procedure of the bundled family {entry.use}"
    documented = getattr(family, "function", type(family))
    lines = [*(inspect.getdoc(documented) or "").strip().splitlines(), "a custom procedure"]
    settings = "".join(f", {key} = {value!r}" for key, value in entry.parameters.items())
    return shorten(f"{escape_line(lines[0]).rstrip('.')} ({entry.use}{settings})", _LONGEST_DESCRIPTION)


def get_numerics_version() -> int:
    """Return the version of the numerics that all bundled families share."""
    version: int = importlib.import_module("harness.families.krr").FAMILY.version
    return version


def load_family(entry: FamilyEntry, folder: Path) -> LoadedFamily:
    """Load a family that a scenario names.

    Parameters
    ----------
    entry : FamilyEntry
        The name of the family, its parameters, and its key in the scenario.
    folder : Path
        Folder of the scenario file, where .py files are looked for.

    Raises
    ------
    ScenarioError
        If the family can't be found, isn't a family, or doesn't take the parameters.
    """
    files: dict[str, bytes] = {}
    found, is_own = _find_object(entry, folder, files)
    made = _make_family(found, entry, is_own)
    _check_family(made, entry)
    _check_names(made, entry)
    return LoadedFamily(entry, made, files)


def share_procedures(families: Sequence[LoadedFamily]) -> list[LoadedFamily]:
    """Give each procedure that several bundled families have to the first of them: it is the same procedure.

    So `family = ["krr", "baselines"]` has no name twice. Families with a name of their own aren't concerned.
    """
    found: list[LoadedFamily] = []
    taken: frozenset[str] = frozenset()
    for one in families:
        if one.entry.use in FAMILIES and one.entry.prefix is None:
            one = replace(one, hidden=taken.intersection(one.family.procedures))
            taken |= frozenset(one.family.procedures)
        found.append(one)
    return found


def find_family(name: str) -> Family:
    """Return the family with a name, without parameters: a bundled one, or "package.module:name"."""
    return load_family(FamilyEntry(name, name), Path.cwd()).family


def _find_object(entry: FamilyEntry, folder: Path, files: dict[str, bytes]) -> tuple[Any, bool]:
    """Return the object that an entry names, and whether it may be called; add the file that defines it to `files`."""
    key = entry.key
    beside = split_name(entry.path or entry.use)
    if beside is not None:
        path, attribute = beside
        text, file = read_bytes(folder / path, key), Path(path).name
        files[file] = text
        found = load_object(text, file, attribute or DEFAULT, key)
        return found, getattr(found, "__module__", None) == make_module_name(text)
    module, colon, attribute = entry.use.partition(":")
    if module == REGRESSORS and colon:
        return _bind_regressor(attribute), True
    if entry.use in FAMILIES:
        return _import_bundled(entry), False
    if colon:
        return import_name(entry.use, key), False
    return import_name(_find_plugin(entry), key), True


def _import_bundled(entry: FamilyEntry) -> Any:
    """Import a bundled family, which may need packages that aren't installed."""
    module, _, attribute = FAMILIES[entry.use].partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise ScenarioError(Complaint(entry.key, f"is {entry.use!r}: {error}")) from error


def _bind_regressor(name: str) -> Callable[..., Family]:
    make: Callable[..., Family] = importlib.import_module(_REGRESSOR_MAKER).make_family
    return lambda **parameters: make(name, **parameters)


def _find_plugin(entry: FamilyEntry) -> str:
    """Return where the family is that an installed package declares under a name."""
    declared = find_declared(PLUGINS, entry.use, entry.key)
    if declared is None:
        known = ", ".join(FAMILIES)
        how = f"must be {known}, 'sklearn:Regressor', 'file.py:name' or 'package.module:name'"
        hint = suggest_name(entry.use, FAMILIES)
        raise ScenarioError(Complaint(entry.key, f"{how}, got {shorten_repr(entry.use)}{hint}"))
    return declared


def _make_family(found: Any, entry: FamilyEntry, is_own: bool) -> Any:
    """Return the family that an object is or makes, with the parameters of the scenario."""
    parameters = {key: _make_hashable(value) for key, value in entry.parameters.items()}
    maker: Callable[..., Any] | None = None
    if (issubclass(type(found), type) and (is_own or not _list_missing(found))) or (
        issubclass(type(found), types.FunctionType) and entry.use.startswith(f"{REGRESSORS}:")
    ):
        maker = found
    elif parameters and not _list_missing(found) and _has_method(found, "with_parameters"):
        maker = found.with_parameters
    if maker is None:
        if parameters and not issubclass(type(found), types.FunctionType | type | types.ModuleType):
            text = f"must be left out: {shorten_repr(entry.use)} has no parameters"
            raise ScenarioError(Complaint(f"{entry.key}.{next(iter(parameters))}", text))
        return found
    return _call(maker, parameters, entry)


def _has_method(found: object, name: str) -> bool:
    """Return whether the class of an object has a plain function of this name: nothing runs when that is fetched."""
    return issubclass(type(inspect.getattr_static(type(found), name, None)), types.FunctionType)


def _call(maker: Callable[..., Any], parameters: Mapping[str, Any], entry: FamilyEntry) -> Any:
    try:
        return maker(**parameters)
    except ScenarioError:
        raise
    except ImportError as error:
        raise ScenarioError(Complaint(entry.key, f"is {shorten_repr(entry.use)}: {error}")) from error
    except ValueError as error:  # the message begins with the key, as for sources
        own = str(error).partition(" ")[0] in parameters
        text = f"{entry.key}.{error}" if own else f"{entry.key} is {shorten_repr(entry.use)}: {error}"
        raise ScenarioError(Complaint("", text)) from error
    except Exception as error:
        text = f"{shorten_repr(entry.use)} can't be made: {format_error(error)}"
        raise ScenarioError(Complaint(entry.key, text)) from error


def _make_hashable(value: Any) -> Any:
    return tuple(map(_make_hashable, value)) if isinstance(value, list) else value


def _list_missing(found: object) -> list[str]:
    """Return the members of a family that an object or class doesn't have; none of them is called or evaluated."""
    classes = found.__mro__ if isinstance(found, type) and issubclass(type(found), type) else ()
    annotated = {name for each in classes for name in inspect.get_annotations(each)}
    return [
        each
        for each in _FAMILY_MEMBERS
        if inspect.getattr_static(found, each, _NOTHING) is _NOTHING and each not in annotated
    ]


def _check_family(found: object, entry: FamilyEntry) -> None:
    """Raise ScenarioError unless an object has all members of `Family`."""
    named = f"names {shorten_repr(entry.use)}, which"
    if issubclass(type(found), types.FunctionType):
        how = "put the line `@study.procedure` above its definition (`from ckrr import study`)"
        raise ScenarioError(Complaint(entry.key, f"{named} is a function, not a family: {how}"))
    if issubclass(type(found), type):
        is_regressor = entry.use.startswith("sklearn.") and hasattr(found, "predict")
        hint = f"; write 'sklearn:{entry.use.rpartition(':')[2]}'" if is_regressor else ""
        lacking = ", ".join(_list_missing(found))
        raise ScenarioError(Complaint(entry.key, f"{named} is a class that lacks {lacking}{hint}"))
    if issubclass(type(found), types.ModuleType):
        how = "a family is an object, for example `FAMILY = MyFamily()`"
        raise ScenarioError(Complaint(entry.key, f"{named} is a module: {how}"))
    missing = _list_missing(found)
    if missing:
        raise ScenarioError(Complaint(entry.key, f"{named} has no {', '.join(missing)}"))


def _check_names(found: Family, entry: FamilyEntry) -> None:
    """Raise ScenarioError unless the names of procedures are distinct, printable strings."""
    names: Any = found.procedures
    what = f"{shorten_repr(entry.use)} has procedures = {shorten_repr(names)}"
    if not isinstance(names, Sequence) or isinstance(names, str) or not names:
        raise ScenarioError(Complaint(entry.key, f"{what}; it must be a sequence of names, such as ('mine',)"))
    for name in names:
        if not isinstance(name, str) or not name.strip() or not _LABEL.fullmatch(name):
            how = "a name must be a string of at most 200 characters, without control characters"
            raise ScenarioError(Complaint(entry.key, f"{what}; {how}, got {shorten_repr(name)}"))
    if len(set(names)) < len(names):
        raise ScenarioError(Complaint(entry.key, f"{what}; names must differ"))


def make_portable_families(value: Any) -> Any:
    """Return the key `family` of a scenario with files reduced to names, so that they are found next to it."""
    if isinstance(value, list | tuple):
        return [make_portable_families(each) for each in value]
    if isinstance(value, Mapping):
        return {**value, "use": normalise_name(value["use"], DEFAULT)}
    return normalise_name(value, DEFAULT) if isinstance(value, str) else value


def kernel_options(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kernel options of a scenario that differ from the defaults; they are part of its fingerprint.

    Examples
    --------
    >>> kernel_options({"kernel": "gaussian", "scales": None})
    {}
    >>> kernel_options({"kernel": "matern52", "scales": (1, 10)})
    {'kernel': 'matern52', 'scales': [1.0, 10.0]}
    """
    told = {key: plain.get(key) for key in ("kernel", "scales", "features", "mean")}
    found = {key: value for key, value in told.items() if value is not None and (key, value) not in _DEFAULTS}
    return {key: [float(each) for each in value] if key == "scales" else value for key, value in found.items()}


def configure_families(
    families: Sequence[LoadedFamily],
    told: Mapping[str, Any],
    smoothed: bool,
    dimension: int,
    is_noise_known: bool = False,
) -> list[LoadedFamily]:
    """Return families with the kernel options, smoothing and known noise of a scenario, where they support these.

    Raises
    ------
    ScenarioError
        If no family supports what the scenario asks for, or an option is invalid.
    """
    names = ", ".join(repr(one.entry.use) for one in families)
    names = f"the family {names}" if len(families) == 1 else f"none of the families {names}"
    has, can = ("has no", "can't") if len(families) == 1 else ("has", "can")
    if told and not any(isinstance(one.family, SupportsKernel) for one in families):
        raise ScenarioError(Complaint(next(iter(told)), f"must be left out: {names} {has} kernel options"))
    if smoothed and not any(isinstance(one.family, SupportsSmoothing) for one in families):
        raise ScenarioError(Complaint("smoothed", f"must be left out: {names} {can} smooth p-values"))
    if is_noise_known and not any(isinstance(one.family, SupportsKnownNoise) for one in families):
        raise ScenarioError(Complaint("sigma", f'must be left out or "estimated": {names} {can} use a known σ'))
    return [replace(one, family=_configure(one.family, told, smoothed, dimension, is_noise_known)) for one in families]


def configure_axes(families: Sequence[LoadedFamily], kernel: object, dimension: int) -> list[LoadedFamily]:
    """Return families with the kernel that a scenario names, where it is one that they accept.

    Which axes and searches a family has depends on its kernel, and the other keys are checked only afterwards.
    """

    def choose(known: Family) -> Family:
        try:
            return _configure(known, {"kernel": kernel}, False, dimension) if isinstance(kernel, str) else known
        except ScenarioError:
            return known

    return [replace(one, family=choose(one.family)) for one in families]


def _configure(
    known: Family, told: Mapping[str, Any], smoothed: bool, dimension: int, is_noise_known: bool = False
) -> Family:
    if told and isinstance(known, SupportsKernel):
        if "mean" in told and "mean" not in inspect.signature(known.on_kernel).parameters:
            raise ScenarioError(Complaint("mean", "must be left out: a family's on_kernel doesn't take it"))
        try:
            known = known.on_kernel(dimension, **told)
        except ValueError as error:
            raise ScenarioError(Complaint("", str(error))) from None
    if is_noise_known and isinstance(known, SupportsKnownNoise):
        known = known.know_noise()
    return known.smooth() if smoothed and isinstance(known, SupportsSmoothing) else known


def weigh_families(
    families: Sequence[LoadedFamily], weights: Weights, asked: Sequence[str], source: Source, smoothed: bool
) -> list[LoadedFamily]:
    """Return families with the weights of a scenario; raise ScenarioError if they can't have any."""
    if weights_option(weights) and not any(isinstance(one.family, SupportsWeights) for one in families):
        raise ScenarioError(Complaint("weights", "must be left out: no family of the scenario has weighted procedures"))
    found = []
    for one in families:
        names = [own for label, own in one.labels.items() if label in asked]
        try:
            found.append(replace(one, family=weigh_family(one.family, names, weights, source, smoothed)))
        except ValueError as error:
            raise ScenarioError(Complaint("", str(error))) from None
    return found
