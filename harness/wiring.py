"""Wiring: names become objects. Only here, in `krr.py` and in `baselines.py` does the harness see the other packages.

A source is a name from `scenarios`, "package.module:name", or "file.py:name" with a file beside the scenario. The text
of such a file, and a table that a source reads, are copied into the store, so that workers need nothing else.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import tempfile
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from harness.complaints import Complaint, from_pydantic, keys_of, nearest, shown
from harness.nouns import REDRAWS, Theta
from harness.protocols import Family, Kernelled, Smoothable, Source, Worldly

FAMILIES = {"krr": "harness.krr:FAMILY", "baselines": "harness.baselines:FAMILY", "peers": "harness.peers:FAMILY"}
FILE = "file"
"""The parameter by which a source takes a file to read."""
_SOURCE = ("dimension", "test", "test_points", "knows_f", "redraws", "largest_n", "path")
_FAMILY = ("procedures", "searches", "reference", "version", "inputs", "score", "level", "flops", "memory")


class Wrong(Exception):
    """What is wrong with a part of a scenario."""

    def __init__(self, *complaints: Complaint) -> None:
        super().__init__("; ".join(map(str, complaints)))
        self.complaints = complaints


@dataclass(frozen=True)
class Built:
    """A source, what of its parameters isn't the default, and the files it needs."""

    source: Source
    told: Mapping[str, Any]
    files: Mapping[str, bytes]
    parameters: tuple[str, ...] = ()
    """All that it may be told."""


def family(name: str) -> Family:
    """By its name, or as "package.module:name"."""
    if name not in FAMILIES and ":" not in name:
        known = ", ".join(FAMILIES)
        raise Wrong(
            Complaint("family", f"must be {known} or 'package.module:name', got {name!r}{nearest(name, FAMILIES)}")
        )
    found: Family = _imported(FAMILIES.get(name, name), "family")
    _check_members(found, _FAMILY, "family", name)
    return found


def kernel_told(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What a scenario says of the kernel, where that isn't the default: part of what numbers depend on.

    Examples
    --------
    >>> kernel_told({"kernel": "gaussian", "scales": None}), kernel_told({"kernel": "matern52", "scales": (1, 10)})
    ({}, {'kernel': 'matern52', 'scales': [1.0, 10.0]})
    """
    told = {key: plain.get(key) for key in ("kernel", "scales", "features")}
    found = {key: value for key, value in told.items() if value is not None and (key, value) != ("kernel", "gaussian")}
    return {key: [float(each) for each in value] if key == "scales" else value for key, value in found.items()}


def on_kernel(known: Family, name: str, told: Mapping[str, Any], dimension: int) -> Family:
    """The family on the kernel that a scenario tells of."""
    if not told:
        return known
    if not isinstance(known, Kernelled):
        raise Wrong(Complaint(next(iter(told)), f"must be left out: the family {name!r} has no choice of kernels"))
    try:
        return known.on_kernel(dimension, **told)
    except ValueError as error:
        raise Wrong(Complaint("", str(error))) from None


def smoothed(known: Family, name: str, asked: bool) -> Family:
    """The family with smoothed p-values, if they are asked for."""
    if not asked:
        return known
    if not isinstance(known, Smoothable):
        raise Wrong(Complaint("smoothed", f"must be left out: the family {name!r} has no smoothed p-values"))
    return known.smooth()


def _check_members(made: object, members: tuple[str, ...], key: str, name: str) -> None:
    missing = [each for each in members if not hasattr(made, each)]
    if missing:
        raise Wrong(Complaint(key, f"names {name!r}, which has no {', '.join(missing)}"))


def build(table: Mapping[str, Any], folder: Path) -> Built:
    """A source from its table in a scenario file; every mistake at once."""
    name = table.get("function")
    if not isinstance(name, str):
        text = "is missing" if name is None else f"must be a text, got {shown(name)}"
        raise Wrong(Complaint("source.function", f"{text}: the name of a source"))
    files: dict[str, bytes] = {}
    maker = _maker(name, folder, files)
    given = {key: value for key, value in table.items() if key != "function"}
    _read_file(given, folder, files)
    source = _made(maker, given, name)
    told = {"function": _plain_name(name), **_told(maker, table)}
    return Built(source, told, files, tuple(_keys(maker)))


def _plain_name(name: str) -> str:
    """A file is known by its name, wherever it lies."""
    path, _, attribute = name.partition(":")
    return f"{Path(path).name}:{attribute or 'source'}" if path.endswith(".py") else name


def theta_of(text: str) -> Theta:
    """θ from the command line: a number, or the name of a search."""
    try:
        return float(text)
    except ValueError:
        return text


def _maker(name: str, folder: Path, files: dict[str, bytes]) -> Callable[..., Source]:
    path, _, attribute = name.partition(":")
    if path.endswith(".py"):
        text = _bytes(folder / path, "source.function")
        files[Path(path).name] = text
        return _from_text(text, Path(path).name, attribute or "source")
    if ":" in name:
        found: Callable[..., Source] = _imported(name, "source.function")
        if not callable(found):
            raise Wrong(Complaint("source.function", f"names {name!r}, which is no function that makes a source"))
        return found
    known: Mapping[str, Callable[..., Source]] = importlib.import_module("scenarios").SOURCES
    if name not in known:
        names = ", ".join(known)
        hint = nearest(name, known)
        text_ = f"must be one of {names}, 'package.module:name' or 'file.py:name', got {name!r}{hint}"
        raise Wrong(Complaint("source.function", text_))
    return known[name]


def _imported(name: str, key: str) -> Any:
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise Wrong(Complaint(key, f"names {module!r}, which can't be imported: {error}")) from error
    except AttributeError:
        raise Wrong(Complaint(key, f"names {attribute!r}, which {module!r} doesn't have")) from None


def _from_text(text: bytes, file: str, attribute: str) -> Callable[..., Source]:
    """Runs a user's file as a module of its own."""
    name = f"ckrr_source_{sha256(text).hexdigest()[:16]}"
    module = sys.modules.get(name)
    if module is None:
        module = types.ModuleType(name)
        sys.modules[name] = module  # dataclasses look their module up
        try:
            exec(compile(text, file, "exec"), module.__dict__)
        except Exception as error:
            del sys.modules[name]
            message = " ".join(f"{type(error).__name__}: {error}".split())
            raise Wrong(Complaint("source.function", f"names {file!r}, which doesn't run: {message}")) from error
    if not callable(getattr(module, attribute, None)):
        known = [each for each, value in vars(module).items() if callable(value) and not each.startswith("_")]
        hint = nearest(attribute, known)
        raise Wrong(Complaint("source.function", f"names {attribute!r}, which {file!r} doesn't define{hint}"))
    found: Callable[..., Source] = getattr(module, attribute)
    return found


def _bytes(path: Path, key: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Wrong(Complaint(key, f"names the file {path}, which can't be read: {error.strerror}")) from None


def _read_file(given: dict[str, Any], folder: Path, files: dict[str, bytes]) -> None:
    """A table's path is relative to the scenario's file."""
    if isinstance(given.get(FILE), str):
        path = folder / given[FILE]
        files[path.name] = _bytes(path, f"source.{FILE}")
        given[FILE] = str(path)


def _made(maker: Callable[..., Source], given: Mapping[str, Any], name: str) -> Source:
    """Calls the maker, with types and names checked by its own annotations."""
    model = _model(maker)
    try:
        checked = model.model_validate({key: _comparable(value) for key, value in given.items()})
        mine = {key: getattr(checked, key) for key in given if key in _parameters(maker)}
        source = _in_world(maker(**mine), {key: getattr(checked, key) for key in given if key not in mine}, name)
    except ValidationError as error:
        raise Wrong(*_prefixed(from_pydantic(error, keys_of(model)))) from None
    except ValueError as error:
        raise Wrong(Complaint("", f"source.{error}")) from None
    except Wrong:
        raise
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        raise Wrong(Complaint("source.function", f"{name!r} can't be made: {message}")) from error
    _check_members(source, _SOURCE, "source.function", name)
    strange = [axis for axis in source.redraws if axis not in REDRAWS]
    if strange:
        text = f"names {name!r}, whose redraws must be among {', '.join(REDRAWS)}, got {strange[0]!r}"
        raise Wrong(Complaint("source.function", text))
    return source


def _in_world(source: Source, told: Mapping[str, Any], name: str) -> Source:
    """With the noise and the test inputs that a table asks for; a source that has its own refuses."""
    if not told:
        return source
    if not isinstance(source, Worldly):
        text = f"must be left out: the source {name!r} has noise and test points of its own"
        raise Wrong(Complaint(f"source.{next(iter(told))}", text))
    return source.in_world(_world()(**told))


def _world() -> Callable[..., Any]:
    """Whose keys any source's table may have."""
    made: Callable[..., Any] = importlib.import_module("scenarios").World
    return made


def _model(maker: Callable[..., Source]) -> type[BaseModel]:
    """What the annotations of a maker, and of the world, say: as a table that can be checked."""
    fields = {
        **_fields(maker),
        **_fields(_world()),
        **_fields(maker),
    }  # in this order, and the maker's where both have it
    return create_model(
        "source", __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=True, strict=True), **fields
    )


def _fields(maker: Callable[..., Any]) -> dict[str, Any]:
    try:
        hints = get_type_hints(vars(maker)["__init__"] if isinstance(maker, type) else maker)
    except Exception:  # annotations that can't be resolved check nothing
        hints = {}
    fields: dict[str, Any] = {}
    for name, parameter in _parameters(maker).items():
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[name] = (hints.get(name, Any), default)
    return fields


def _keys(maker: Callable[..., Source]) -> Mapping[str, inspect.Parameter]:
    """What a table may say: its maker's parameters, and those of the world that the maker doesn't have itself."""
    return {**_parameters(maker), **_parameters(_world()), **_parameters(maker)}


def _parameters(maker: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Those that a table may name; a maker whose parameters can't be known takes none."""
    try:
        found = inspect.signature(maker).parameters
    except (TypeError, ValueError):
        return {}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: one for name, one in found.items() if one.kind in named}


def _prefixed(complaints: list[Complaint]) -> list[Complaint]:
    return [replace(one, key=f"source.{one.key}" if one.key else "source") for one in complaints]


def _told(maker: Callable[..., Source], table: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that aren't what they are without being told; a file by its name."""
    parameters = _keys(maker)
    told = {}
    for key, value in table.items():
        if key != "function" and (key not in parameters or parameters[key].default != _comparable(value)):
            told[key] = Path(value).name if key == FILE else _canonical(value)
    return told


def _comparable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _canonical(value: Any) -> Any:
    """50 and 50.0 are the same parameter."""
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def unpacked(table: Mapping[str, Any], files: Mapping[str, bytes]) -> Source:
    """A source on a worker: its files come from the store."""
    with tempfile.TemporaryDirectory(prefix="ckrr-") as folder:
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        return build(portable(table), Path(folder)).source


def portable(table: Mapping[str, Any]) -> dict[str, Any]:
    """A source's table with its files in the folder of the scenario, wherever they were."""
    plain = {**table, "function": _plain_name(table["function"])}
    return {**plain, FILE: Path(plain[FILE]).name} if FILE in plain else plain
