"""A submission: all that a driver elsewhere needs to run a study, kept in the study's store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from harness.nouns import Mistake
from harness.place import Place
from harness.record import SUBMISSION

_KEY = f"{SUBMISSION}/submission.json"
_FILES = f"{SUBMISSION}/files"
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
    """The cluster file's text, its path, and the folder that its own paths are relative to."""
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

    @property
    def name(self) -> str:
        """What jobs and tasks are called."""
        return f"ckrr-{self.id}"


_PARTS = {"handle": ("handle",), "starts": ("starts",), "ended": ("ended", "outcome", "code")}
"""What is told later, in a file of its own for each who tells it: the submitter, the driver, whoever ends it."""


def write(there: Place, one: Submission) -> None:
    """A new submission takes the place of an older one."""
    later = {name for names in _PARTS.values() for name in names}
    plain = {name: value for name, value in asdict(one).items() if name not in later}
    there.put(_KEY, json.dumps(plain, indent=1).encode())


def add(there: Place, one: Submission, **values: Any) -> Submission:
    """What became of it since."""
    new = replace(one, **values)
    for part, names in _PARTS.items():
        if set(names) & set(values):
            content = {"id": one.id, **{name: getattr(new, name) for name in names}}
            there.put(f"{SUBMISSION}/{part}.json", json.dumps(content, indent=1).encode())
    return new


def read(there: Place) -> Submission | None:
    """The last submission of a store, if there is one."""
    plain = _json(there, _KEY)
    if plain is None:
        return None
    for part in _PARTS:
        told = _json(there, f"{SUBMISSION}/{part}.json") or {}
        plain |= told if told.get("id") == plain.get("id") else {}
    try:
        return Submission(**{**plain, "files": tuple(plain["files"]), "starts": tuple(plain.get("starts", ()))})
    except (KeyError, TypeError):
        raise _unreadable(there, _KEY) from None


def _json(there: Place, key: str) -> dict[str, Any] | None:
    raw = there.get(key)
    try:
        return None if raw is None else dict(json.loads(raw))
    except ValueError:
        raise _unreadable(there, key) from None


def _unreadable(there: Place, key: str) -> Mistake:
    return Mistake(f"{there.url}/{key} can't be read: delete it, and submit again")


def put_files(there: Place, files: Mapping[str, bytes]) -> None:
    """What a source reads goes along."""
    for name, data in files.items():
        there.put(f"{_FILES}/{name}", data)


def get_files(there: Place, one: Submission) -> dict[str, bytes]:
    """What went along."""
    return {name: there.get(f"{_FILES}/{name}") or b"" for name in one.files}
