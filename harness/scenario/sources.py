"""Build the data source that a scenario names.

A source is a name from `scenarios` or of an installed package (`harness.core.plugins`), "package.module:name", or
"file.py:name" with a file next to the scenario. Such a file, and the data that a source reads (a table, or a data set
inside an installed package), are copied into the store, so that workers need nothing else.

A scenario may come from an untrusted author, and importing a module runs it. The object that the scenario names is
called only if it is intended as a source: if it is decorated with `scenarios.source`, is a class with all members of
the protocol `Source`, is declared as a source by an installed package, or is defined in the file next to the scenario,
whose code runs anyway.
"""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeGuard, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from harness.core.plugins import SOURCES, list_plugins
from harness.core.protocols import Source, SupportsNoiseLaw, SupportsNoiseSd, SupportsWorld
from harness.core.text import format_error, shorten_repr, suggest_name
from harness.core.types import REDRAWS
from harness.scenario.code import (
    find_declared,
    has_date,
    import_name,
    load_object,
    make_module_name,
    normalise_name,
    read_bytes,
    split_name,
    unpack_files,
)
from harness.scenario.datasets import DATASET, FILE, read_dataset
from harness.scenario.errors import Complaint, ScenarioError, from_pydantic, make_key_lookup
from harness.scenario.spec import Scenario
from harness.store.manifest import LARGEST_FILE

_DEFAULT = "source"
"""Object of a .py file that is used if the scenario names the file alone."""
_SOURCE_MEMBERS = ("dimension", "test", "test_points", "knows_f", "redraws", "largest_n", "path")


@dataclass(frozen=True)
class Built:
    """A source, its parameters that differ from the defaults, and the files it needs."""

    source: Source
    non_default: Mapping[str, Any]
    files: Mapping[str, bytes]
    parameters: tuple[str, ...] = ()
    """Names of the accepted parameters."""


def _check_members(made: object, members: tuple[str, ...], key: str, name: str) -> None:
    missing = [each for each in members if not hasattr(made, each)]
    if missing:
        raise ScenarioError(Complaint(key, f"names {name!r}, which has no {', '.join(missing)}"))


def build_source(table: Mapping[str, Any], folder: Path) -> Built:
    """Build a source from its [source] table.

    Parameters
    ----------
    table : mapping
        The table as parsed from TOML; `function` names the source, the other keys are its parameters.
    folder : Path
        Folder of the scenario file, which paths in the table are relative to.

    Raises
    ------
    ScenarioError
        If the source can't be found or its parameters are invalid; it has all mistakes.
    """
    name = table.get("function")
    if not isinstance(name, str):
        text = "is missing" if name is None else f"must be a string, got {shorten_repr(name)}"
        raise ScenarioError(Complaint("source.function", f"{text}: the name of a source"))
    files: dict[str, bytes] = {}
    maker = _find_maker(name, folder, files)
    given = {key: value for key, value in table.items() if key != "function"}
    if name == DATASET and FILE not in given:
        read_dataset(given, folder, files)
    _read_file(given, folder, files)
    source = _make_source(maker, given, name)
    _check_plain(given)
    told = {"function": normalise_name(name, _DEFAULT), **_get_non_default(maker, table)}
    return Built(source, told, files, tuple(_get_accepted_parameters(maker)))


def _check_plain(given: Mapping[str, Any]) -> None:
    """Raise ScenarioError for dates and times: the store keeps parameters as JSON, which has neither."""
    text = "must not be or contain a date or time: write it as a string"
    dates = [Complaint(f"source.{key}", text) for key, value in given.items() if has_date(value)]
    if dates:
        raise ScenarioError(*dates)


def _find_maker(name: str, folder: Path, files: dict[str, bytes]) -> Callable[..., Source]:
    """Return the function or class that makes a source; add the file that defines it to `files`."""
    beside = split_name(name)
    if beside is not None:
        path, attribute = beside
        text = read_bytes(folder / path, "source.function")
        files[Path(path).name] = text
        return _load_from_file(text, Path(path).name, attribute or _DEFAULT)
    known: dict[str, Callable[..., Source]] = importlib.import_module("scenarios").SOURCES
    if name in known:
        return known[name]
    declared = None if ":" in name else find_declared(SOURCES, name, "source.function")
    if declared is None and ":" not in name:
        names = list({**known, **list_plugins(SOURCES)})
        hint = f"{shorten_repr(name)}{suggest_name(name, names)}"
        text_ = f"must be one of {', '.join(names)}, 'package.module:name' or 'file.py:name', got {hint}"
        raise ScenarioError(Complaint("source.function", text_))
    found: Callable[..., Source] = import_name(declared or name, "source.function")
    if not (_is_source(found) if declared is None else callable(found)):
        _refuse_unmarked(found, name)
    return found


def _is_source(found: object) -> bool:
    """Return whether an object is marked as a source, or is a class with all members of a source."""
    marked: bool = importlib.import_module("scenarios").is_source(found)
    return marked or (_is_class(found) and not _list_missing_members(found))


def _is_class(found: object) -> TypeGuard[type]:
    """Return whether an object is really a class, by its type: mocks may fake `__class__`."""
    return issubclass(type(found), type)


def _list_missing_members(made: type) -> list[str]:
    """Return the members of a source that a class defines neither as an attribute nor as an annotation."""
    members = {name for each in made.__mro__ for name in (*vars(each), *inspect.get_annotations(each))}
    return [name for name in _SOURCE_MEMBERS if name not in members]


def _refuse_unmarked(found: object, name: str, why: str = "it is not marked as a source") -> NoReturn:
    """Raise ScenarioError for an object that is not marked as a source, with the line to add."""
    text = f"names {shorten_repr(name)}, which is not called: {why}"
    if not issubclass(type(found), type | types.FunctionType | types.BuiltinFunctionType):
        raise ScenarioError(
            Complaint("source.function", f"names {shorten_repr(name)}, which is neither a function nor a class")
        )
    if _is_class(found):
        text = f"{text}, and it lacks {', '.join(_list_missing_members(found))} of a source"
    raise ScenarioError(Complaint("source.function", f"{text}; put the line `@scenarios.source` above its definition"))


def _load_from_file(text: bytes, file: str, attribute: str) -> Callable[..., Source]:
    """Return the callable of a user's file that makes a source."""
    found = load_object(text, file, attribute, "source.function")
    if not callable(found):
        text_ = f"names {shorten_repr(attribute)} of {shorten_repr(file)}, which is neither a function nor a class"
        raise ScenarioError(Complaint("source.function", text_))
    made_from = _unwrap_partial(found)
    if not _is_source(made_from) and getattr(made_from, "__module__", None) != make_module_name(text):
        _refuse_unmarked(
            made_from, attribute, f"{shorten_repr(file)} only imports it, and it is not marked as a source"
        )
    maker: Callable[..., Source] = found
    return maker


def _unwrap_partial(found: object) -> object:
    """Return the function that a `functools.partial` calls, or the object itself if it is not a partial."""
    while type(found) is partial:
        found = found.func
    return found


def _read_file(given: dict[str, Any], folder: Path, files: dict[str, bytes]) -> None:
    """Read the data file that a source names, if any; its path is relative to the folder of the scenario."""
    if isinstance(given.get(FILE), str):
        path = folder / given[FILE]
        files[path.name] = read_bytes(path, f"source.{FILE}", LARGEST_FILE)
        given[FILE] = str(path)


def _make_source(maker: Callable[..., Source], given: Mapping[str, Any], name: str) -> Source:
    """Call the maker after checking names and types of the parameters against its annotations."""
    model = _make_model(maker)
    try:
        checked = model.model_validate({key: _make_comparable(value) for key, value in given.items()})
        mine = {key: getattr(checked, key) for key in given if key in _get_parameters(maker)}
        source = _apply_world(maker(**mine), {key: getattr(checked, key) for key in given if key not in mine}, name)
    except ValidationError as error:
        raise ScenarioError(*_add_prefix(from_pydantic(error, make_key_lookup(model)))) from None
    except ValueError as error:
        raise ScenarioError(Complaint("", f"source.{error}")) from None
    except ScenarioError:
        raise
    except Exception as error:
        raise ScenarioError(
            Complaint("source.function", f"{shorten_repr(name)} can't be created: {format_error(error)}")
        ) from error
    _check_members(source, _SOURCE_MEMBERS, "source.function", name)
    strange = [axis for axis in source.redraws if axis not in REDRAWS]
    if strange:
        text = f"names {name!r}, whose redraws must be among {', '.join(REDRAWS)}, got {strange[0]!r}"
        raise ScenarioError(Complaint("source.function", text))
    return source


def _apply_world(source: Source, told: Mapping[str, Any], name: str) -> Source:
    """Return the source with the noise and test inputs of its table, unless it defines its own."""
    if not told:
        return source
    if not isinstance(source, SupportsWorld):
        text = f"must be left out: the source {name!r} defines its own noise and test points"
        raise ScenarioError(Complaint(f"source.{next(iter(told))}", text))
    return source.in_world(_get_world()(**told))


def _get_world() -> Callable[..., Any]:
    """Return `scenarios.World`, whose parameters every [source] table may set."""
    made: Callable[..., Any] = importlib.import_module("scenarios").World
    return made


def _make_model(maker: Callable[..., Source]) -> type[BaseModel]:
    """Create a pydantic model from the annotations of a maker and of `scenarios.World`."""
    fields = {
        **_get_fields(maker),
        **_get_fields(_get_world()),
        **_get_fields(maker),
    }  # the order is that of the messages; where both have a field, the maker's counts
    return create_model(
        "source", __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=True, strict=True), **fields
    )


def _get_fields(maker: Callable[..., Any]) -> dict[str, Any]:
    try:
        hints = get_type_hints(vars(maker)["__init__"] if isinstance(maker, type) else maker)
    except Exception:  # without annotations that can be resolved, types are not checked
        hints = {}
    fields: dict[str, Any] = {}
    for name, parameter in _get_parameters(maker).items():
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (hints.get(name, Any), default)
    return fields


def _get_accepted_parameters(maker: Callable[..., Source]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters that a table may set: those of the maker, and those of `World` that the maker lacks."""
    return {**_get_parameters(maker), **_get_parameters(_get_world()), **_get_parameters(maker)}


def _get_parameters(maker: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters that can be passed by name; none if the signature is unavailable."""
    try:
        found = inspect.signature(maker).parameters
    except (TypeError, ValueError):
        return {}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: one for name, one in found.items() if one.kind in named}


def _add_prefix(complaints: list[Complaint]) -> list[Complaint]:
    return [replace(one, key=f"source.{one.key}" if one.key else "source") for one in complaints]


def _get_non_default(maker: Callable[..., Source], table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that differ from their defaults; a data file is given by its name without the folder."""
    parameters = _get_accepted_parameters(maker)
    told = {}
    for key, value in table.items():
        if key != "function" and (key not in parameters or parameters[key].default != _make_comparable(value)):
            told[key] = Path(value).name if key == FILE else _canonicalise(value)
    return told


def _make_comparable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _canonicalise(value: Any) -> Any:
    """Convert floats with integer values to int, so that 50 and 50.0 are the same parameter."""
    if isinstance(value, list):
        return [_canonicalise(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def unpack_source(table: Mapping[str, Any], files: Mapping[str, bytes]) -> Source:
    """Build a source on a worker, from files kept in the store."""
    with unpack_files(files) as folder:
        return build_source(make_portable(table), folder).source


def make_portable(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a [source] table whose file paths are reduced to names, so that they are found next to the scenario."""
    plain = {**table, "function": normalise_name(table["function"], _DEFAULT)}
    return {**plain, FILE: Path(plain[FILE]).name} if FILE in plain else plain


def knows_noise_law(source: Source) -> bool:
    """Return whether a source knows f and the distribution of its noise, so that coverage has an expectation."""
    return source.knows_f and isinstance(source, SupportsNoiseLaw)


def knows_noise_sd(source: Source) -> bool:
    """Return whether a source knows the standard deviation of its noise."""
    return isinstance(source, SupportsNoiseSd) and source.noise_sd is not None


def check_noise(scenario: Scenario, source: Source) -> Iterator[Complaint]:
    """Yield complaints about expected coverage, and about a known σ, that a source can't give."""
    if scenario.expected_coverage and not knows_noise_law(source):
        text = "must be left out or false: this source doesn't know f and the distribution of its noise (noise_cdf)"
        yield Complaint("expected_coverage", text)
    if scenario.sigma == "known":
        if not knows_noise_sd(source):
            text = "this source doesn't know the standard deviation of its noise, or it differs between points"
            yield Complaint("sigma", f'must be left out or "estimated": {text} (noise_sd)')
        for i, gamma in enumerate(scenario.grid.gamma):
            if gamma == 0:
                yield Complaint(f"grid.gamma[{i}]", 'must be > 0 where sigma = "known", got 0.0')
