"""Python without ckrr: folders that have some packages, what they need, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from packaging.requirements import Requirement

OURS = ("ckrr", "harness", "scenarios", "cluster")


def link_packages(folder: Path, names: Iterable[str]) -> Path:
    """Link packages of this environment, and all that they need, into a folder to import from."""
    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in seen:
            continue
        seen.add(name)
        one = distribution(name)
        needed = map(Requirement, one.requires or [])
        waiting += [each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
        for top in {file.parts[0] for file in one.files or [] if file.parts[0] not in ("..", "__pycache__")}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(one.locate_file(top))))
    assert not {*OURS} & seen
    return folder


def has_package(name: str) -> bool:
    """Whether this environment has a package."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


@cache
def find_floor(name: str) -> str:
    """The oldest version of a package that ckrr claims to work with."""
    (needed,) = [one for one in map(Requirement, requires("ckrr") or []) if one.name == name and one.marker is None]
    (floor,) = [one.version for one in needed.specifier if one.operator == ">="]
    return floor


def install_oldest(folder: Path, name: str) -> str | None:
    """Install the oldest version of a package that ckrr claims; return why that isn't possible, or None."""
    wanted = f"{name}=={find_floor(name)}.*" if find_floor(name).count(".") < 2 else f"{name}=={find_floor(name)}"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile", "--target", str(folder), wanted]
    done = subprocess.run(pip, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return None if done.returncode == 0 else f"{wanted} can't be installed: {done.stderr.strip().splitlines()[-1]}"


def run_alone(sites: Sequence[Path], code: str, folder: Path = Path("/")) -> str:
    """Run code with nothing but some folders to import from, warnings being errors; return what it prints."""
    code = f"import sys\nsys.path[:0] = {[str(site) for site in sites]!r}\n{code}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout
