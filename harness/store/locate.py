"""Find the store of a scenario."""

from __future__ import annotations

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


def get_default_store(name: str) -> str:
    """Where the results of a scenario of this name go unless told otherwise."""
    return str(Path("results") / f"{name}.zarr")


def find_store(reference: str, begun: bool = True) -> str:
    """A store by its own name, or by its scenario: the path of a file, or the name of a packaged one.

    Unless it has to be `begun`, a study that was handed over will do, whose driver hasn't made the store yet.
    """
    path, file = Path(reference), lookup_scenario_file(reference)
    if file is not None:
        return _require_store(get_default_store(str(read_scenario(file)["name"])), reference, begun)
    if is_url(reference) or path.is_dir():
        return _require_store(reference, f"SCENARIO --store {reference}", begun)
    if path.suffix == ".toml":
        raise UserError(f"{reference}: there is no such file; `ckrr new` writes a scenario to start from")
    raise UserError(
        f"{reference}: there is neither a store nor a scenario here, and no packaged scenario of that name "
        f"(`ckrr list` has them); `ckrr run SCENARIO --store {reference}` makes a store"
    )


def _require_store(store: str, run: str, begun: bool) -> str:
    backend = open_backend(store)
    if load_manifest(backend) is None and (begun or not backend.list_names(SUBMISSION)):
        raise UserError(f"{store}: there is no store here; `ckrr run {run}` makes one")
    return backend.url if is_url(store) else store


def lookup_scenario_file(reference: str) -> Path | None:
    """That of a scenario; None for what is a store, or nothing."""
    path = Path(reference)
    if path.is_file():
        return path
    return None if is_url(reference) or path.is_dir() else list_scenario_files().get(reference)


def read_scenario(path: Path) -> dict[str, Any]:
    """What a scenario says. Nothing that it names is run."""
    try:
        told = read_toml(path)
        return {**told, "name": check_text(told["name"], "name", pattern=SCENARIO_NAME)}
    except (OSError, ValueError, KeyError):
        raise UserError(f"{path} is no scenario: `ckrr plan {path}` says what is wrong with it") from None
