"""Find what installed packages bring by name: entry points of the groups below. Imports none of their code.

A package declares them in its pyproject.toml, for example

    [project.entry-points."ckrr.sources"]
    rain = "weather.sources:Rain"

so that a scenario may say `function = "rain"`. Bundled names take precedence: look them up first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from harness.core.errors import UserError

FAMILIES, SOURCES, CLUSTERS = "ckrr.families", "ckrr.sources", "ckrr.clusters"
"""Groups of entry points."""
_TARGET = re.compile(r"\w+(\.\w+)*:\w+")


@dataclass(frozen=True, order=True)
class Plugin:
    """A name that an installed package declares."""

    name: str
    package: str
    """Name of the package as it was installed."""
    target: str
    """Where the object is: "package.module:object"."""


def list_entries(group: str) -> list[Plugin]:
    """Return all declarations of a group, ordered by name and package."""
    return sorted(map(_make_plugin, entry_points(group=group)))


def _make_plugin(entry: EntryPoint) -> Plugin:
    package = "an unknown package" if entry.dist is None else entry.dist.name
    return Plugin(entry.name, package, entry.value.partition("[")[0].strip())


def list_plugins(group: str) -> dict[str, str]:
    """Return where the object of each name of a group is, as "package.module:object"."""
    return {one.name: one.target for one in list_entries(group)}


def find_plugin(group: str, name: str) -> str | None:
    """Return where the object of a name is, as "package.module:object"; None if no package declares the name.

    Raises
    ------
    UserError
        If two packages declare the name, or if what one declares is not of this form.
    """
    found = [one for one in list_entries(group) if one.name == name]
    if len(found) > 1:
        packages = " and ".join(one.package for one in found)
        how = f"uninstall one of them, or write {found[0].target!r} or {found[1].target!r} in its place"
        raise UserError(f"{name!r}, which is declared by {packages} (entry points {group}): {how}")
    if found and not _TARGET.fullmatch(found[0].target):
        what = f"the entry point {name!r} of {found[0].package} ({group})"
        raise UserError(f"{what} must be 'package.module:object', got {found[0].target!r}: mend or uninstall it")
    return found[0].target if found else None
