"""The layers go one way: which package may import what."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import ckrr.baselines
import ckrr.study
import harness
from tests.house import MODULES, OURS, ROOT

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
        "jinja2",
        "markupsafe",
    },
}
EXCEPTIONS = {
    "ckrr/study.py": {"harness"},  # the way in: it looks up, and loads the harness when it is asked
    "ckrr/plot.py": {"matplotlib"},  # the picture; imported when it is drawn
    "ckrr/estimator.py": {"sklearn"},  # optional; the class works without it
    "harness/families/krr.py": {"ckrr"},  # the wiring: names become procedures
    "harness/families/baselines.py": {"ckrr"},  # the wiring: and baselines
    "harness/families/intervals.py": {"ckrr"},  # the wiring: and scores of intervals
    "harness/families/regressors.py": {"ckrr", "sklearn"},  # optional; an error says how to install it
    "harness/families/cqr.py": {"ckrr", "mapie", "sklearn"},  # optional; an error names what is missing
    "harness/families/peers.py": {"ckrr", "mapie", "crepes", "sklearn"},  # optional; an error names what is missing
    "scenarios/sources/read_arrow.py": {"pyarrow"},  # optional; an error names what is missing
    "harness/scenario/load.py": {"scenarios"},  # the wiring: names become sources
    "harness/paper/figures/data.py": {"scenarios"},  # the wiring: names become the samples of the paper's figures
    "cluster/kinds/ssh.py": {"asyncssh"},  # optional
    "cluster/kinds/slurm.py": {"dask_jobqueue"},  # optional
    "cluster/runtime/worker_plugin.py": {"tornado"},  # the loop that Dask runs in
    "harness/execution/interrupts.py": {"cluster"},  # what is left to remove, if it was loaded
    "harness/execution/clusters.py": {"cluster"},  # the wiring: cluster files become clients
    "harness/execution/on_dask/executor.py": {"distributed"},  # the one place that talks to Dask
    "harness/execution/graph/build.py": {"dask"},  # a study as a graph, which users compute
    "harness/api.py": {"dask"},  # for a type
    "harness/planning/machine.py": {"psutil"},  # how much memory there is
    "harness/display/notebook.py": {"IPython"},  # optional; only where it runs the notebook
    "harness/store/chunk_io.py": {"numcodecs", "google_crc32c"},  # the codecs that Zarr has, too
    "harness/backends/remote.py": {"fsspec"},  # stores in buckets
    "harness/interchange/netcdf_file.py": {"h5netcdf"},  # optional; an error names what is missing
    "harness/interchange/parquet_file.py": {"pyarrow"},  # optional; an error names what is missing
}
LAYERS = (
    # bottom first: a package imports only packages of earlier lines; those on one line don't know each other
    ["ckrr._validation"],
    ["ckrr.linalg"],
    ["ckrr.kernels", "ckrr.levels"],
    ["ckrr.ridge"],
    ["ckrr.likelihood"],
    ["ckrr.regions", "ckrr.theta"],
    ["ckrr.procedures", "ckrr.space"],
    ["ckrr.evaluation"],
    ["ckrr"],
    ["ckrr.baselines"],
    ["scenarios.sources"],
    ["scenarios.published"],
    ["scenarios"],
    ["cluster.config"],
    ["cluster.runtime"],
    ["cluster.kinds"],
    ["cluster"],
    ["harness.core"],
    ["harness.display"],
    ["harness.parsing"],
    ["harness.statistics"],
    ["harness.backends"],
    ["harness.store"],
    ["harness.families", "harness.compute"],
    ["harness.scenario"],
    ["harness.planning", "harness.cube", "harness.worker"],
    ["harness.maintenance"],
    ["harness.execution"],
    ["harness.submit"],
    ["harness.monitor"],
    ["harness.results"],
    ["harness.interchange"],
    ["harness.figures.canvas"],
    ["harness.figures.plots"],
    ["harness.figures"],
    ["harness.report.html"],
    ["harness.report.sections"],
    ["harness.report.explore"],
    ["harness.report"],
    ["harness"],
    ["harness.paper"],
    ["harness.paper.figures"],
    ["harness.paper.page"],
    ["harness.cli"],
    ["harness.__main__"],
)
LEVELS = {package: level for level, packages in enumerate(LAYERS) for package in packages}
NAMED = re.compile(r"(ckrr|cluster|harness|scenarios)(\.\w+)+(:\w+)?")
"""A string that may name a module: it counts as an import of it."""


def home(module: str) -> str:
    """The longest package in the layers that a module is in."""
    while module not in LEVELS:
        assert "." in module, f"{module} is in no layer"
        module = module.rpartition(".")[0]
    return module


def imported(path: Path) -> set[str]:
    """The modules that a file imports anywhere in it; a module that is named in a string counts."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (full & set(MODULES)) | ({node.module or ""} if full - set(MODULES) else set())
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMED.fullmatch(node.value):
            found |= {node.value.partition(":")[0]} & set(MODULES)
    return found


@pytest.mark.parametrize("package", sorted(OURS))
def test_packages_import_what_they_may(package: str) -> None:
    paths = {name: path for name, path in MODULES.items() if name.split(".")[0] == package}
    assert paths
    for path in paths.values():
        name = path.relative_to(ROOT).as_posix()
        allowed = ALLOWED[package] | EXCEPTIONS.get(name, set()) | {package} | set(sys.stdlib_module_names)
        tops = {module.split(".")[0] for module in imported(path)}
        assert tops <= allowed, f"{name} imports {sorted(tops - allowed)}"


def test_layers_go_one_way() -> None:
    """A package imports only packages of lower layers; `ckrr.study` alone looks up, to the harness."""
    wrong = []
    for name, path in MODULES.items():
        here = home(name)
        for other in imported(path) & set(MODULES):
            there = home(other)
            if there != here and there.split(".")[0] == here.split(".")[0] and LEVELS[there] >= LEVELS[here]:
                wrong.append(f"{name} imports {other}")
    assert not wrong, "\n".join(sorted(wrong))


def test_there_is_no_cycle() -> None:
    """Modules can be put in an order in which each imports only earlier ones."""
    below = {name: path for name, path in MODULES.items() if name != "ckrr.study"}
    needs = {name: (imported(path) & set(below)) - {name} for name, path in below.items()}
    placed: set[str] = set()
    while len(placed) < len(needs):
        ready = {name for name in needs if name not in placed and needs[name] <= placed}
        assert ready, f"a cycle among {sorted(set(needs) - placed)}"
        placed |= ready


def test_no_folder_is_crowded() -> None:
    folders = Counter(path.parent for path in MODULES.values() if path.name != "__init__.py")
    assert {str(folder.relative_to(ROOT)): count for folder, count in folders.items() if count > 14} == {}


def test_faces_show_public_names_alone() -> None:
    assert dir(harness) == sorted(harness.__all__)
    assert dir(ckrr.study) == ckrr.study.__all__ == harness.__all__
    assert [name for name in dir(ckrr) if not hasattr(ckrr, name)] == []
    assert {"fit", "Regions", "study"} < set(dir(ckrr))
    assert "version" not in dir(ckrr)
    for name in harness.__all__:
        assert getattr(ckrr.study, name) is getattr(harness, name)


def test_the_library_starts_light() -> None:
    """`import ckrr` loads neither pictures nor Dask."""
    heavy = {"matplotlib", "dask", "distributed", "xarray", "zarr", "pandas", "sklearn"}
    code = f"import sys, ckrr; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
