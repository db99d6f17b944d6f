"""Describe the software and the machine that compute a study: git commit, host, package versions, BLAS."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_GIT_TIMEOUT = 2.0


@cache
def find_commit() -> str | None:
    """Return the git commit that ckrr runs from, with "+" if tracked files are modified.

    None if ckrr does not run from a checkout, or if git fails.
    """
    root = Path(__file__).parent.parent.parent
    if not (root / ".git").exists():  # a folder, or a worktree's file; an enclosing repository isn't ours
        return None
    found = _run_git(root, "rev-parse", "HEAD")
    if found is None:
        return None
    return found + ("+" if _run_git(root, "status", "--porcelain", "--untracked-files=no") else "")


def _run_git(root: Path, *arguments: str) -> str | None:
    """Return the standard output of a git command, or None if it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            text=True,
            timeout=_GIT_TIMEOUT,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


@cache
def describe_machine() -> Mapping[str, Any]:
    """Return host name, package versions and the BLAS core type, on which the last bits of results depend."""
    from importlib.metadata import version

    from threadpoolctl import threadpool_info

    return {
        "host": platform.node(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("ckrr", "numpy", "scipy", "zarr", "dask")},
        "blas": sorted({f"{one['internal_api']} {one.get('architecture')}" for one in threadpool_info()}),
    }
