"""Name what is bundled, and check that `ckrr`, `scenarios` and `cluster` are imported from this distribution."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from harness.core.errors import UserError

_ROOT = Path(__file__).parents[2]
"""The folder that contains all packages of the project: site-packages, or a checkout."""
_CONFORMAL = ("RRCM", "RRCM-loo", "CRR", "CRR-loo", "RRCM-std", "CRR-std")
_KRR = ("GPR-f", "GPR-p", *_CONFORMAL, *(f"{name}-w" for name in _CONFORMAL))
_BASELINES = (*_KRR, "GPR-t", "split", "jackknife+", "CV+", "J+GP")
_PEERS = (*_BASELINES, "MAPIE-split", "MAPIE-jackknife+", "MAPIE-CV+", "crepes-split", "crepes-norm")
FAMILIES = {"krr": _KRR, "baselines": _BASELINES, "peers": _PEERS, "cqr": ("MAPIE-CQR",)}
"""Bundled families with their procedures, for messages and lists: importing a family may need optional packages."""
SOURCES = ("gp", "heaviside", "f6", "pressure2", "f2", "f5", "linear", "table", "dataset", "published")
"""Bundled sources, for lists: importing `scenarios` takes NumPy."""
CLUSTERS = {
    "local": "processes on this machine",
    "address": "workers of a running scheduler",
    "ssh": "processes on hosts that you can log in to",
    "slurm": "Slurm jobs",
}
"""Bundled kinds of clusters with their workers, for lists: importing `cluster` takes Dask."""


def check_packages() -> None:
    """Raise `UserError` if Python would import another package of the same name as one of this distribution.

    `scenarios` and `cluster` are common names. The message has the path of the package that shadows ours.
    """
    for name in ("ckrr", "scenarios", "cluster"):
        spec = find_spec(name)
        found = None if spec is None else spec.origin or next(iter(spec.submodule_search_locations or ()), None)
        if found is None or Path(found).resolve() != (_ROOT / name / "__init__.py").resolve():
            raise UserError(
                f"the package {name!r} that Python finds is not a part of ckrr: {found} hides {_ROOT / name}; "
                "rename or uninstall that, or take its folder out of PYTHONPATH"
            )


def find_scenario_folder() -> Path:
    """Return the folder of the bundled scenarios, without importing the package `scenarios`."""
    return _ROOT / "scenarios"


def list_scenario_files() -> dict[str, Path]:
    """Return the files of the bundled scenarios by name: `quickstart` first, those in subfolders last.

    Examples
    --------
    >>> names = list(list_scenario_files())
    >>> names[0], names[-1]
    ('quickstart', 'worlds/student')
    """
    folder = find_scenario_folder()
    top = sorted(folder.glob("*.toml"), key=lambda path: (path.stem != "quickstart", path))
    files = [*top, *sorted(folder.glob("*/*.toml"))]
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in files}
