"""Store and read submissions: all that a driver on another machine needs to run a study, kept in the study's store.

The folder `submission/` of a store holds the latest submission (`submission.json`), the files of its source, its
cluster file, and what is added later: the driver's handle, its starts, and how it ended.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.backends.base import Backend
from harness.core.errors import UserError
from harness.parsing.json import (
    MalformedError,
    check_base_name,
    check_flag,
    check_list,
    check_optional,
    check_table,
    check_text,
    check_whole,
    load_json,
    require,
)
from harness.store.manifest import LARGEST_FILE, SUBMISSION

_KEY = f"{SUBMISSION}/submission.json"
_FILES = f"{SUBMISSION}/files"
_CLUSTER = f"{SUBMISSION}/cluster.json"
_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,110}-[0-9a-f]{8}"
JOB = r"\d{1,12}"
"""Regular expression of a Slurm job number."""
PROCESS, SLURM, TASK = "process", "slurm", "task"
"""Names of the launchers, as submissions store them."""


@dataclass(frozen=True)
class Submission:
    """A submitted study, the driver that runs it, and how it ended."""

    id: str
    """Name of the scenario and eight random hexadecimal digits."""
    scenario: Mapping[str, Any]
    """The scenario as JSON values, with `--set` applied."""
    where: str
    """Path of the scenario file, for messages."""
    files: tuple[str, ...]
    """Names of the files that the source needs."""
    cluster: Mapping[str, str] | None
    """The cluster file, in submissions of version 0.1 only; later ones store it separately (see `get_cluster`)."""
    workers: int | None
    """Number of workers on the driver's machine; None for the default."""
    retry: bool
    """Whether failed cells are recomputed."""
    folder: str
    """Working directory of `ckrr submit`."""
    host: str
    """Machine on which `ckrr submit` ran."""
    submitted: str
    """Time of submission."""
    command: str = ""
    """The command that the user typed."""
    how: str = PROCESS
    """Name of the launcher: `PROCESS`, `SLURM` or `TASK`."""
    handle: Mapping[str, Any] = field(default_factory=dict)
    """What the launcher needs to find the driver again, such as its process ID or job number."""
    starts: tuple[Mapping[str, Any], ...] = ()
    """One entry per start of a driver: time, host, process ID, job and the number of units done by then."""
    ended: str | None = None
    """Time at which it ended; None while it runs, or if its driver died."""
    outcome: str | None = None
    """How it ended, as a sentence; None while it runs, or if its driver died."""
    code: int | None = None
    """The exit code that `ckrr run` would have returned."""
    hashes: Mapping[str, str] | None = None
    """SHA-256 of each file; None in submissions of version 0.1."""
    accept_changed: bool = False
    """Whether files of the source may have been edited since the store was created."""

    @property
    def name(self) -> str:
        """Name of the driver's Slurm job or Dask task."""
        return f"ckrr-{self.id}"


_PARTS = {"handle": ("handle",), "starts": ("starts",), "ended": ("ended", "outcome", "code")}
"""Fields that are written later, by file. Each file has its own writer, so that none overwrites another's fields:
`handle` the submitter, `starts` the driver, `ended` the driver or `ckrr cancel`."""


def write(backend: Backend, one: Submission) -> None:
    """Write a new submission, which replaces the previous one; fields that are added later are left out."""
    later = {name for names in _PARTS.values() for name in names}
    plain = {name: value for name, value in asdict(one).items() if name not in later}
    backend.put(_KEY, json.dumps(plain, indent=1).encode())


def add(backend: Backend, one: Submission, **values: Any) -> Submission:
    """Set fields that are known only after submission, write them to the store, and return the updated submission."""
    new = replace(one, **values)
    for part, names in _PARTS.items():
        if set(names) & set(values):
            content = {"id": one.id, **{name: getattr(new, name) for name in names}}
            backend.put(f"{SUBMISSION}/{part}.json", json.dumps(content, indent=1).encode())
    return new


def read(backend: Backend) -> Submission | None:
    """Return the latest submission of a store; None if there is none.

    Raises
    ------
    UserError
        If its JSON is malformed.
    """
    plain = _read_json(backend, _KEY)
    if plain is None:
        return None
    for part in _PARTS:
        told = _read_json(backend, f"{SUBMISSION}/{part}.json") or {}
        plain |= told if told.get("id") == plain.get("id") else {}
    try:
        _check(plain)
    except MalformedError as malformed:
        raise _make_read_error(backend, _KEY, malformed) from None
    known = {field.name for field in fields(Submission)}
    parts = {name: value for name, value in plain.items() if name in known}
    return Submission(**{**parts, "files": tuple(plain["files"]), "starts": tuple(plain.get("starts") or ())})


def _check(plain: Mapping[str, Any]) -> None:
    """Raise MalformedError for values that `ckrr submit` never writes: ids select what to kill, names become files."""
    check_text(require(plain, "id", ""), "id", pattern=_ID)
    check_table(require(plain, "scenario", ""), "scenario")
    for name in ("where", "folder", "host", "submitted"):
        check_text(require(plain, name, ""), name)
    for i, name in enumerate(check_list(require(plain, "files", ""), "files", 100)):
        check_base_name(name, f"files[{i}]")
    for name, hashed in (check_optional(plain, "hashes", "it", check_table) or {}).items():
        check_text(hashed, f"hashes.{name}", pattern=r"[0-9a-f]{64}")
    check_optional(plain, "workers", "it", lambda count, key: check_whole(count, key, 1, 10**6))
    check_flag(require(plain, "retry", ""), "retry")
    check_flag(plain.get("accept_changed", False), "accept_changed")
    for name in ("command", "ended", "outcome"):
        check_optional(plain, name, "it", check_text)
    check_optional(plain, "code", "it", lambda code, key: check_whole(code, key, 0, 255))
    if plain.get("how", PROCESS) not in (PROCESS, SLURM, TASK):
        raise MalformedError("how", f"one of {PROCESS}, {SLURM}, {TASK}")
    _check_handle(check_table(plain.get("handle", {}), "handle"))
    for start in check_list(plain.get("starts") or [], "starts"):
        _check_start(check_table(start, "starts"))


def _check_handle(handle: Mapping[str, Any]) -> None:
    for name in ("host", "output", "scheduler", "task", "script"):
        check_optional(handle, name, "handle", check_text)
    check_optional(handle, "pid", "handle", lambda pid, key: check_whole(pid, key, 2, 2**31))
    check_optional(handle, "job", "handle", lambda job, key: check_text(job, key, pattern=JOB))


def _check_start(start: Mapping[str, Any]) -> None:
    try:
        aware = datetime.fromisoformat(check_text(require(start, "time", "starts"), "starts.time", 100)).tzinfo
    except ValueError:
        aware = None
    if aware is None:
        raise MalformedError("starts.time", "an ISO 8601 time with its time zone")
    check_whole(require(start, "done", "starts"), "starts.done", 0, 2**40)


def _read_json(backend: Backend, key: str) -> dict[str, Any] | None:
    raw = backend.get(key)
    try:
        return None if raw is None else dict(check_table(load_json(raw, "it"), "it"))
    except MalformedError as malformed:
        raise _make_read_error(backend, key, malformed) from None


def _make_read_error(backend: Backend, key: str, why: MalformedError) -> UserError:
    return UserError(f"{backend.url}/{key} can't be read ({why}): delete it, and submit again")


def put_files(backend: Backend, files: Mapping[str, bytes]) -> None:
    """Copy the files that the source needs to the store."""
    for name, data in files.items():
        backend.put(f"{_FILES}/{name}", data)


def get_files(backend: Backend, one: Submission) -> dict[str, bytes]:
    """Return the contents of the submitted files, by name.

    Raises
    ------
    UserError
        If a file has changed since it was submitted.
    """
    found = {name: backend.get(f"{_FILES}/{name}", LARGEST_FILE) or b"" for name in one.files}
    for name, data in found.items():
        if one.hashes is not None and one.hashes.get(name) != sha256(data).hexdigest():
            raise UserError(f"{backend.url}/{_FILES}/{name} has changed since it was submitted: submit again")
    return found


def get_cluster(backend: Backend, one: Submission) -> Mapping[str, str] | None:
    """Return the submitted cluster file; None if there is none.

    Returns
    -------
    Mapping or None
        Its `text`, its path (`where`), and the `folder` that paths in it are relative to. Submissions of version 0.1
        hold it themselves.
    """
    found = _read_json(backend, _CLUSTER) if one.cluster is None else dict(one.cluster)
    if found is None or (one.cluster is None and found.get("id") != one.id):
        return None
    try:
        return {name: check_text(require(found, name, ""), name) for name in ("text", "where", "folder")}
    except MalformedError as malformed:
        raise _make_read_error(backend, _CLUSTER, malformed) from None


def put_cluster(backend: Backend, one: Submission, file: Mapping[str, str]) -> None:
    """Copy the cluster file to the store, with the read and write permissions of the original."""
    mode = Path(file["where"]).stat().st_mode & 0o666
    backend.put(_CLUSTER, json.dumps({"id": one.id, **file}, indent=1).encode(), mode=mode)
