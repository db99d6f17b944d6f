"""Import what a scenario names: from modules, from declarations of packages, and from .py files next to it."""

from __future__ import annotations

import importlib
import sys
import tempfile
import traceback
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, time
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.core.errors import UserError
from harness.core.plugins import find_plugin
from harness.core.text import escape_line, format_error, shorten_repr, suggest_name
from harness.parsing.files import read_regular_file
from harness.scenario.errors import Complaint, ScenarioError

LARGEST_CODE = 1 << 20
"""Maximum size in bytes of a .py file next to the scenario."""
_LONGEST_PATH = 200
"""Maximum number of characters of a path in a message."""


def import_name(name: str, key: str) -> Any:
    """Import the object that "package.module:name" refers to.

    Parameters
    ----------
    name : str
        Module and attribute, separated by a colon.
    key : str
        Key of the scenario that has this name, for error messages.

    Raises
    ------
    ScenarioError
        If the module can't be imported or doesn't have the attribute.
    """
    module, _, attribute = name.partition(":")
    try:
        found = vars(importlib.import_module(module))
    except (Exception, SystemExit) as error:  # a module may raise anything; malformed names, ValueError or TypeError
        said = str(error) if isinstance(error, ImportError) else format_error(error)
        raise ScenarioError(Complaint(key, f"names {shorten_repr(module)}, which can't be imported: {said}")) from error
    if attribute not in found:
        raise ScenarioError(
            Complaint(key, f"names {shorten_repr(attribute)}, which {shorten_repr(module)} doesn't have")
        )
    return found[attribute]


def find_declared(group: str, name: str, key: str) -> str | None:
    """Return "package.module:object" for a name that an installed package declares; None if none does.

    Raises
    ------
    ScenarioError
        If two packages declare the name, or one declares it wrongly; with the `key` of the scenario that has the name.
    """
    try:
        return find_plugin(group, name)
    except UserError as error:
        raise ScenarioError(Complaint(key, f"names {error}")) from None


def read_bytes(path: Path, key: str, largest: int = LARGEST_CODE) -> bytes:
    """Read a file that a scenario names at `key`; raise ScenarioError if it can't be read or is too large."""
    try:
        return read_regular_file(path, largest)
    except ValueError as error:
        raise ScenarioError(
            Complaint(key, f"names the file {escape_line(str(path), _LONGEST_PATH)}, which {error}")
        ) from None


def split_name(name: str) -> tuple[str, str] | None:
    """Split "file.py:name" into the path and the name, which may be missing; None for names of other kinds.

    Examples
    --------
    >>> split_name("models/mine.py:Forest"), split_name("mine.py"), split_name("package.module:name")
    (('models/mine.py', 'Forest'), ('mine.py', ''), None)
    """
    path, _, attribute = name.partition(":")
    return (path, attribute) if path.endswith(".py") else None


def make_module_name(text: bytes) -> str:
    """Return the name under which a file is imported: it depends on its content alone."""
    return f"ckrr_code_{sha256(text).hexdigest()[:16]}"


def load_object(text: bytes, file: str, attribute: str, key: str) -> Any:
    """Run a file as a separate module, once for each content, and return one of the objects it has.

    Parameters
    ----------
    text : bytes
        Content of the file.
    file : str
        Name of the file, for messages and tracebacks.
    attribute : str
        Name of the object.
    key : str
        Key of the scenario that names it, for error messages.

    Raises
    ------
    ScenarioError
        If the file doesn't run, or doesn't have such an object.
    """
    name = make_module_name(text)
    module = sys.modules.get(name)
    if module is None:
        module = types.ModuleType(name)
        sys.modules[name] = module  # dataclasses look up their module here
        try:
            exec(compile(text, file, "exec"), module.__dict__)
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            text_ = f"names {shorten_repr(file)}, which doesn't run: {format_error(error)}"
            raise ScenarioError(Complaint(key, text_)) from error
    found = vars(module)
    if attribute not in found:
        known = [each for each, value in found.items() if callable(value) and not each.startswith("_")]
        hint = suggest_name(attribute, known)
        text_ = f"names {shorten_repr(attribute)}, which {shorten_repr(file)} doesn't define{hint}"
        raise ScenarioError(Complaint(key, text_))
    return found[attribute]


@contextmanager
def unpack_files(files: Mapping[str, bytes]) -> Iterator[Path]:
    """Yield a temporary folder with files that a store keeps: on a worker, this is the scenario's folder."""
    with tempfile.TemporaryDirectory(prefix="ckrr-") as folder:
        for name, data in files.items():
            (Path(folder) / name).write_bytes(data)
        yield Path(folder)


def normalise_name(name: str, default: str) -> str:
    """Return the name of an object without the folder of its file, and with a default in place of a missing name."""
    beside = split_name(name)
    return name if beside is None else f"{Path(beside[0]).name}:{beside[1] or default}"


def has_date(value: object) -> bool:
    """Return whether a value of a scenario is or contains a date or a time, which JSON doesn't have."""
    if isinstance(value, dict | list):
        return any(map(has_date, value.values() if isinstance(value, dict) else value))
    return isinstance(value, date | time)


def locate_error(error: BaseException) -> str | None:
    """Return file and line of the user's code where an exception was raised; None if it passed through none.

    Frames of installed packages, of Python's own library and of this package don't count as the user's code.
    """
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not _is_installed(one.filename)]
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else None


def _is_installed(file: str) -> bool:
    path = Path(file)
    ours = Path(__file__).parents[1]
    return (
        "site-packages" in path.parts
        or path.is_relative_to(ours)
        or path.is_relative_to(Path(traceback.__file__).parent)
    )
