"""Commands to get started: `ckrr list` and `ckrr new`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from harness.cli.common import echo, json_option, user_errors


@click.command(name="list")
@json_option
@user_errors
def list_(as_json: bool) -> None:
    """List the bundled scenarios, and the families, sources and kinds of clusters that they may name.

    Those of installed packages are listed with the name of the package.
    """
    from harness.core.text import format_table

    found = {"scenarios": _list_scenarios(), **_list_parts()}
    if as_json:
        echo(json.dumps(found))
        return
    for heading, one in zip(_HEADINGS, found.values(), strict=True):
        rows = [[f"  {each['name']}", _describe_package(each) + each["description"]] for each in one]
        echo(f"{heading}\n{format_table(rows, left=2)}")


_HEADINGS = (
    "scenarios: ckrr run NAME",
    'families: family = "NAME" in a scenario',
    'sources: function = "NAME" in the table [source] of a scenario',
    'clusters: kind = "NAME" in a cluster file',
)


def _describe_package(one: Mapping[str, str | None]) -> str:
    return "" if one["package"] is None else f"of the package {one['package']}: "


def _list_scenarios() -> list[dict[str, Any]]:
    import tomllib

    from harness.core.packaged import list_scenario_files

    found = {name: tomllib.loads(path.read_text()) for name, path in list_scenario_files().items()}
    return [_make_row(name, one.get("description", "")) for name, one in found.items()]


def _make_row(name: str, description: str, package: str | None = None) -> dict[str, Any]:
    return {"name": name, "description": description, "package": package}


def _list_parts() -> dict[str, list[dict[str, Any]]]:
    """Return families, sources and kinds of clusters: bundled ones, and those that packages declare."""
    from harness.core import packaged, plugins
    from harness.report.sections.glossary import SOURCES

    families = {name: ", ".join(procedures) for name, procedures in packaged.FAMILIES.items()}
    bundled = {
        plugins.FAMILIES: families,
        plugins.SOURCES: {name: SOURCES.get(name, "") for name in packaged.SOURCES},
        plugins.CLUSTERS: packaged.CLUSTERS,
    }
    found = {}
    for group, known in bundled.items():
        declared = plugins.list_entries(group)
        hidden = " (hidden: a bundled one has this name)"
        rows = [_make_row(one.name, one.target + hidden * (one.name in known), one.package) for one in declared]
        found[group.rpartition(".")[2]] = [_make_row(*each) for each in known.items()] + rows
    return found


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
    made = "" if path.parent.is_dir() else f"made the folder {path.parent}, "
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    echo(f"{made}wrote {path}; try it with: ckrr run {path} --smoke")
