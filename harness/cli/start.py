"""Commands to get started: `ckrr list` and `ckrr new`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from harness.cli.common import echo, json_option, user_errors


@click.command(name="list")
@json_option
@user_errors
def list_(as_json: bool) -> None:
    """List the bundled scenarios."""
    import tomllib

    from harness.core.packaged import list_scenario_files
    from harness.core.text import format_table

    found = [(name, tomllib.loads(path.read_text())) for name, path in list_scenario_files().items()]
    if as_json:
        echo(json.dumps([{"name": name, "description": one.get("description", "")} for name, one in found]))
        return
    echo(format_table([[name, one.get("description", "")] for name, one in found], left=2))


@click.command()
@click.argument("name")
@user_errors
def new(name: str) -> None:
    """Write a scenario file NAME.toml to start from, with every key explained.

    NAME may have folders, as in studies/my: they are made if they don't exist.
    """
    import re

    from harness.core.errors import UserError
    from harness.core.packaged import find_scenario_folder
    from harness.store.checks.manifest import SCENARIO_NAME

    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    if not re.fullmatch(SCENARIO_NAME, path.stem):
        words = "begin with a letter or digit, and have only these, '.', '_' and '-'"
        better = re.sub(r"[^A-Za-z0-9._]+", "-", path.stem.removesuffix(".toml")).strip("._-") or "my"
        raise UserError(f"NAME must {words}, got {path.stem!r}: try `ckrr new {path.with_name(better)}`")
    blocking = next((folder for folder in path.parents if folder.exists() and not folder.is_dir()), None)
    if blocking is not None:
        raise UserError(f"{path} can't be written, since {blocking} is a file: choose another folder")
    if path.exists():
        raise UserError(f"{path} already exists: choose another name")
    text = (find_scenario_folder() / "new.txt").read_text().replace('name = "new"', f'name = "{path.stem}"')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    echo(f"wrote {path}; try it with: ckrr run {path} --smoke")
