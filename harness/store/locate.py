"""Find the store that a user refers to by its path or URL, or by its scenario."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.backends.address import is_url
from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.core.packaged import list_scenario_files
from harness.parsing.json import check_text
from harness.parsing.toml import read_toml
from harness.store.checks.manifest import SCENARIO_NAME
from harness.store.manifest import SUBMISSION
from harness.store.manifest_io import load_manifest

SUITE = "scenarios"
"""Key of a file that isn't a scenario but a suite: it lists scenarios."""


def get_default_store(name: str) -> str:
    """Return the default path of the store of a scenario."""
    return str(Path("results") / f"{name}.zarr")


def find_store(reference: str, begun: bool = True) -> str:
    """Return the path or URL of an existing store.

    Parameters
    ----------
    reference : str
        Path or URL of a store, path of a scenario file, or name of a bundled scenario.
    begun : bool
        Whether the store must have been created. If False, a submission whose driver hasn't created the store yet is
        enough.

    Raises
    ------
    UserError
        If there is no such store.
    """
    path, file = Path(reference), lookup_scenario_file(reference)
    if file is not None:
        return _require_store(get_default_store(str(read_scenario(file)["name"])), reference, begun)
    if is_url(reference) or path.is_dir():
        return _require_store(reference, f"SCENARIO --store {reference}", begun)
    if path.suffix == ".toml":
        raise UserError(f"{reference}: there is no such file; `ckrr new` writes a scenario to start from")
    raise UserError(
        f"{reference}: there is neither a store nor a scenario here, and no bundled scenario of that name "
        f"(`ckrr list` shows them); `ckrr run SCENARIO --store {reference}` makes a store"
    )


def _require_store(store: str, run: str, begun: bool) -> str:
    backend = open_backend(store)
    if load_manifest(backend) is None and (begun or not backend.list_names(SUBMISSION)):
        raise UserError(f"{store}: there is no store here; `ckrr run {run}` makes one")
    return backend.url if is_url(store) else store


def lookup_scenario_file(reference: str) -> Path | None:
    """Return the file of a scenario, given by its path or by the name of a bundled one; None if it isn't a scenario."""
    path = Path(reference)
    if path.is_file():
        return path
    return None if is_url(reference) or path.is_dir() else list_scenario_files().get(reference)


def read_scenario(path: Path) -> dict[str, Any]:
    """Read a scenario file, and check its name. Imports and runs nothing that the scenario refers to."""
    try:
        told = read_toml(path)
        refuse_suite(told, path)
        return {**told, "name": check_text(told["name"], "name", pattern=SCENARIO_NAME)}
    except (OSError, ValueError, KeyError):
        raise UserError(f"{path} is not a valid scenario: `ckrr plan {path}` says what is wrong with it") from None


def refuse_suite(plain: Mapping[str, Any], path: Path) -> None:
    """Raise UserError if a file lists scenarios, where one scenario is needed."""
    if SUITE in plain:
        raise UserError(f"{path} is a suite, which only run, plan and status take: name one of its {SUITE} here")
