"""Check the files that users ask ckrr to write, and write them completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.core.errors import UserError


def check_folder(target: Path, option: str) -> None:
    """Raise UserError if the target is a directory, or its directory doesn't exist.

    Parameters
    ----------
    target : Path
        File to write.
    option : str
        Option or argument of the command line that named it.
    """
    if target.is_dir():
        raise UserError(f"{target} is a directory: {option} takes the name of a file")
    if not target.parent.is_dir():
        raise UserError(f"{target.parent} is not a directory: {option} takes a file in an existing directory")


@contextmanager
def open_draft(target: Path) -> Iterator[Path]:
    """Yield the path of a temporary file beside the target, which replaces the target if no exception is raised.

    Otherwise, an interrupt included, the temporary file is removed and the target stays as it was.
    """
    draft = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield draft
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
