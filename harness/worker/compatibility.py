"""Check that workers would compute the same results as the driver: versions, project code, user code, store."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from harness.core import packaged
from harness.core.environment import describe_machine
from harness.core.errors import IncompatibleWorkerError, UserError
from harness.core.plugins import FAMILIES, SOURCES, find_plugin
from harness.core.text import format_error
from harness.scenario.errors import ScenarioError
from harness.worker.study import load_study

_PACKAGES = ("numpy", "scipy", "dask", "distributed", "zarr", "ckrr")
_OURS = ("ckrr", "harness", "scenarios")
_HANGS = ("Python", "dask", "distributed")
"""Packages whose versions, if they differ, may make a cluster hang; other differences may change results."""
_MODULE = "module "
_ANY = 'install the same versions there, or set versions = "any" in the cluster file to run anyway'


def environment_facts(names: Iterable[str] = ()) -> dict[str, str]:
    """Return versions and hashes that must agree between driver and workers; `names` are user modules to include."""
    return {**_get_fixed_facts(), **{_MODULE + name: _hash_module(name) for name in names}}


@cache
def _get_fixed_facts() -> Mapping[str, str]:
    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python, **{name: _get_version(name) for name in _PACKAGES}, "code of ckrr": _hash_code()}


def _get_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _hash_code() -> str:
    """Return a hash of all modules of this project that computing needs."""
    hashed = sha256()
    for package in _OURS:
        folder = Path(str(_find_origin(package))).parent
        for path in sorted(folder.rglob("*.py")):
            hashed.update(path.relative_to(folder.parent).as_posix().encode() + path.read_bytes())
    return hashed.hexdigest()[:8]


def _find_origin(package: str) -> str | None:
    """Return the path of a package without importing it."""
    spec = find_spec(package)
    return None if spec is None else spec.origin


@cache
def _hash_module(name: str) -> str:
    """Return a short hash of a module's source, or the error message if it can't be imported or read.

    For a plugin, given as "group:name", the hash follows what the name stands for in this process.
    """
    group, is_plugin, declared = name.partition(":")
    try:
        target = find_plugin(group, declared) if is_plugin else name
        if target is None:
            return "not declared by any package"
        file = importlib.import_module(target.partition(":")[0]).__file__
        hashed = sha256(Path(str(file)).read_bytes()).hexdigest()[:8]
        return f"{target} {hashed}" if is_plugin else hashed
    except Exception as error:
        return format_error(error)


def list_user_modules(source: str, families: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the user modules that a scenario names as "package.module:name", and its plugins as "group:name".

    Parameters
    ----------
    source : str
        Name of the source.
    families : iterable of str
        Names of the families.
    """
    named = [(SOURCES, source)] * (source not in packaged.SOURCES)
    named += [(FAMILIES, each) for each in families if each not in packaged.FAMILIES]
    mine = [(group, name) for group, name in named if not name.partition(":")[0].endswith(".py")]
    modules = [name.partition(":")[0] for _, name in mine if ":" in name]
    plugins = [f"{group}:{name}" for group, name in mine if ":" not in name]
    return (*(each for each in modules if each.partition(".")[0] not in _OURS), *plugins)


def describe_differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str | None:
    """Describe how the facts of two processes differ, or return None if they agree.

    Examples
    --------
    >>> describe_differences({"numpy": "2.4.6", "dask": "2026.8.0"}, {"numpy": "2.4.5", "dask": "2026.8.0"})
    'numpy is 2.4.5 there and 2.4.6 here (numbers may change)'
    """
    found = [
        f"{name} is {theirs.get(name, 'unknown')} there and {value} here ({_describe_consequence(name)})"
        for name, value in ours.items()
        if theirs.get(name) != value
    ]
    return "; ".join(found) or None


def _describe_consequence(name: str) -> str:
    return "work may hang" if name in _HANGS else "numbers may change"


def check_worker(ours: Mapping[str, str] | None) -> None:
    """Raise IncompatibleWorkerError if this process differs from the driver; None skips the check."""
    if ours is not None:
        names = tuple(key.removeprefix(_MODULE) for key in ours if key.startswith(_MODULE))
        what = describe_differences(ours, environment_facts(names))
        if what:
            raise IncompatibleWorkerError(f"a worker on {platform.node()} differs from the driver: {what}")


def inspect_worker(where: tuple[str, str, int] | None = None, names: tuple[str, ...] = ()) -> dict[str, object]:
    """Return facts about this process, and the reason if it can't compute a study.

    Parameters
    ----------
    where : tuple, optional
        URL, fingerprint and generation of the study. Default: no study is loaded.
    names : tuple of str
        User modules whose hashes to include.

    Returns
    -------
    dict
        "facts", "problem" (None if there is none), "host" and "blas".
    """
    problem = None
    try:
        if where is not None:
            load_study(*where)
    except ScenarioError as wrong:
        problem = str(wrong)
    except Exception as error:
        problem = format_error(error)
    return {
        "facts": environment_facts(names),
        "problem": problem,
        "host": platform.node(),
        "blas": ", ".join(describe_machine()["blas"]),
    }


def check_cluster(
    ours: Mapping[str, str], seen: Mapping[str, object], strict: bool, note: Callable[[str], None]
) -> None:
    """Check the answers of scheduler and workers to `inspect_worker`, before work starts.

    Parameters
    ----------
    ours : mapping
        Facts about the driver.
    seen : mapping
        The answer, or the exception, of each process, by its description.
    strict : bool
        Whether to raise if versions or code differ; otherwise the differences are noted.
    note : callable
        Receives each note.

    Raises
    ------
    UserError
        If a process can't compute the study, or differs from the driver and `strict` is set; one line for each.
    """
    unfit, differ, types = [], [], set()
    for who, one in seen.items():
        if isinstance(one, OSError):  # it has left the cluster meanwhile
            continue
        if not isinstance(one, dict):
            unfit.append(f"{who} can't run ckrr (is it installed there?): {format_error(_make_exception(one))}")
            continue
        here = f"{who} on {one['host']}"
        what = describe_differences({key: ours[key] for key in one["facts"]}, one["facts"])
        differ += [f"{here} differs from the driver: {what}"] if what else []
        unfit += [f"{here} can't compute this study: {one['problem']}"] if one["problem"] else []
        types |= {str(one["blas"])} if "worker" in who else set()
    if unfit or (differ and strict):
        raise UserError("\n".join([*unfit, *differ, *[_ANY] * (not unfit)]))
    for text in differ:
        note(text)
    if len(types) > 1:
        note(f"workers have several types of CPU, so last digits may differ: {'; '.join(sorted(types))}")


def _make_exception(one: object) -> BaseException:
    return one if isinstance(one, BaseException) else TypeError(one)
