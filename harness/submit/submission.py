"""A submission: all that a driver elsewhere needs to run a study, kept in the study's store."""

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
"""The number of a job of Slurm."""
PROCESS, SLURM, TASK = "process", "slurm", "task"


@dataclass(frozen=True)
class Submission:
    """What was handed over, to whom, and how it ended."""

    id: str
    scenario: Mapping[str, Any]
    """The scenario as a plain table, with `--set` applied."""
    where: str
    """The file that it was in, for messages."""
    files: tuple[str, ...]
    """The names of the files that its source needs."""
    cluster: Mapping[str, str] | None
    """Of a submission by 0.1, the cluster file. It has a key of its own now (`get_cluster`)."""
    workers: int | None
    retry: bool
    folder: str
    """Where it was submitted."""
    host: str
    submitted: str
    command: str = ""
    """What was typed."""
    how: str = PROCESS
    """To a process, to a Slurm job, or to a task on a running scheduler."""
    handle: Mapping[str, Any] = field(default_factory=dict)
    """Who that is."""
    starts: tuple[Mapping[str, Any], ...] = ()
    """Each start of a driver, with the units that were done then."""
    ended: str | None = None
    outcome: str | None = None
    """How it ended, in words; None while it goes on, or if its driver died."""
    code: int | None = None
    """The exit code that `ckrr run` would have had."""
    hashes: Mapping[str, str] | None = None
    """SHA-256 of the files; None of a submission by 0.1."""
    accept_changed: bool = False
    """Whether files of the source may have been edited since the store was made."""

    @property
    def name(self) -> str:
        """What jobs and tasks are called."""
        return f"ckrr-{self.id}"


_PARTS = {"handle": ("handle",), "starts": ("starts",), "ended": ("ended", "outcome", "code")}
"""What is told later, in a file of its own for each who tells it: the submitter, the driver, whoever ends it."""


def write(backend: Backend, one: Submission) -> None:
    """A new submission takes the place of an older one."""
    later = {name for names in _PARTS.values() for name in names}
    plain = {name: value for name, value in asdict(one).items() if name not in later}
    backend.put(_KEY, json.dumps(plain, indent=1).encode())


def add(backend: Backend, one: Submission, **values: Any) -> Submission:
    """What became of it since."""
    new = replace(one, **values)
    for part, names in _PARTS.items():
        if set(names) & set(values):
            content = {"id": one.id, **{name: getattr(new, name) for name in names}}
            backend.put(f"{SUBMISSION}/{part}.json", json.dumps(content, indent=1).encode())
    return new


def read(backend: Backend) -> Submission | None:
    """The last submission of a store, if there is one."""
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
    """Refuse what no submitter wrote: ids end jobs and processes, names become files."""
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
        raise MalformedError("starts.time", "a time with its zone")
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
    """What a source reads goes along."""
    for name, data in files.items():
        backend.put(f"{_FILES}/{name}", data)


def get_files(backend: Backend, one: Submission) -> dict[str, bytes]:
    """What went along; a file that was changed since is refused."""
    found = {name: backend.get(f"{_FILES}/{name}", LARGEST_FILE) or b"" for name in one.files}
    for name, data in found.items():
        if one.hashes is not None and one.hashes.get(name) != sha256(data).hexdigest():
            raise UserError(f"{backend.url}/{_FILES}/{name} isn't what was submitted: submit again")
    return found


def get_cluster(backend: Backend, one: Submission) -> Mapping[str, str] | None:
    """The cluster file that went along, if one did: its text, its path, and the folder of its own paths.

    A driver that was submitted by 0.1 has it beside everything else.
    """
    found = _read_json(backend, _CLUSTER) if one.cluster is None else dict(one.cluster)
    if found is None or (one.cluster is None and found.get("id") != one.id):
        return None
    try:
        return {name: check_text(require(found, name, ""), name) for name in ("text", "where", "folder")}
    except MalformedError as malformed:
        raise _make_read_error(backend, _CLUSTER, malformed) from None


def put_cluster(backend: Backend, one: Submission, file: Mapping[str, str]) -> None:
    """The cluster file goes along, for those to read who could read it before."""
    mode = Path(file["where"]).stat().st_mode & 0o666
    backend.put(_CLUSTER, json.dumps({"id": one.id, **file}, indent=1).encode(), mode=mode)
