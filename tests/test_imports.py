"""The layers go one way: which package may import what."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = {"ckrr", "harness", "scenarios", "cluster"}
NUMERICS = {"numpy", "scipy"}
ALLOWED = {
    "ckrr": NUMERICS,
    "scenarios": NUMERICS,
    "cluster": {"dask", "distributed", "pydantic", "pydantic_core"},
    "harness": {
        "numpy",
        "scipy",
        "xarray",
        "zarr",
        "pydantic",
        "pydantic_core",
        "click",
        "rich",
        "matplotlib",
        "threadpoolctl",
    },
}
EXCEPTIONS = {
    "ckrr/plot.py": {"matplotlib"},  # the picture; imported when it is drawn
    "ckrr/estimator.py": {"sklearn"},  # optional; the class works without it
    "harness/families/krr.py": {"ckrr"},  # the wiring: names become procedures
    "harness/families/baselines.py": {"ckrr"},  # the wiring: and baselines
    "harness/families/peers.py": {"ckrr", "mapie", "crepes", "sklearn"},  # optional; an error names what is missing
    "harness/scenario/load.py": {"scenarios"},  # the wiring: names become sources
    "harness/paper/figures/data.py": {"scenarios"},  # the wiring: names become the samples of the paper's figures
    "cluster/kinds/ssh.py": {"asyncssh"},  # optional
    "cluster/kinds/slurm.py": {"dask_jobqueue"},  # optional
    "cluster/runtime/worker_plugin.py": {"tornado"},  # the loop that Dask runs in
    "harness/execution/clusters.py": {"cluster"},  # the wiring: cluster files become clients
    "harness/execution/dask_executor.py": {"distributed"},  # the one place that talks to Dask
    "harness/planning/machine.py": {"distributed"},  # how much memory there is
    "harness/store/chunk_io.py": {"numcodecs", "google_crc32c"},  # the codecs that Zarr has, too
    "harness/backends/remote.py": {"fsspec"},  # stores in buckets
}


def imported(path: Path) -> set[str]:
    """The modules that a file imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            found.add(node.module or "")
    return found


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", sorted(OURS))
def test_packages_import_what_they_may(package: str) -> None:
    assert modules(package)
    for path in modules(package):
        name = path.relative_to(ROOT).as_posix()
        allowed = ALLOWED[package] | EXCEPTIONS.get(name, set()) | {package} | set(sys.stdlib_module_names)
        tops = {module.split(".")[0] for module in imported(path)}
        assert tops <= allowed, f"{name} imports {sorted(tops - allowed)}"


@pytest.mark.parametrize("package", sorted(OURS))
def test_there_is_no_cycle(package: str) -> None:
    """Modules of one package can be put in an order in which each imports only earlier ones."""
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in modules(package)
    }
    needs = {name: {each for each in _submodules(path, names) if each != name} for name, path in names.items()}
    placed: set[str] = set()
    while len(placed) < len(needs):
        ready = {name for name in needs if name not in placed and needs[name] <= placed}
        assert ready, f"a cycle among {sorted(set(needs) - placed)}"
        placed |= ready


def _submodules(path: Path, names: dict[str, Path]) -> set[str]:
    """Which of `names` a file imports; `from package import module` counts as the module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = {f"{node.module}.{alias.name}" for alias in node.names} & set(names)
            found |= parts or ({node.module} & set(names))
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & set(names)
    return found


def test_the_library_starts_light() -> None:
    """`import ckrr` loads neither pictures nor Dask."""
    heavy = {"matplotlib", "dask", "distributed", "xarray", "zarr", "pandas", "sklearn"}
    code = f"import sys, ckrr; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
