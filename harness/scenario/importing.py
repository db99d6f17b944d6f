"""Import the objects that a scenario names."""

from __future__ import annotations

import importlib
from typing import Any

from harness.core.errors import UserError
from harness.core.plugins import find_plugin
from harness.core.text import format_error, shorten_repr
from harness.scenario.errors import Complaint, ScenarioError


def import_name(name: str, key: str, ours: bool = False) -> Any:
    """Import the object that "package.module:name" refers to.

    Parameters
    ----------
    name : str
        Module and attribute, separated by a colon.
    key : str
        Key of the scenario that has this name, for error messages.
    ours : bool
        Whether the module is one of this project, which may compute the attribute on access: `harness.families.peers`
        does so to report missing packages.

    Raises
    ------
    ScenarioError
        If the module can't be imported or doesn't have the attribute.
    """
    module, _, attribute = name.partition(":")
    try:
        loaded = importlib.import_module(module)
        found = {attribute: getattr(loaded, attribute)} if ours else vars(loaded)
    except (Exception, SystemExit) as error:  # a module may raise anything; malformed names, ValueError or TypeError
        said = str(error) if isinstance(error, ImportError) else format_error(error)
        raise ScenarioError(Complaint(key, f"names {shorten_repr(module)}, which can't be imported: {said}")) from error
    if attribute not in found:
        raise ScenarioError(
            Complaint(key, f"names {shorten_repr(attribute)}, which {shorten_repr(module)} doesn't have")
        )
    return found[attribute]


def find_declared(group: str, name: str, key: str) -> str | None:
    """Return "package.module:object" for a name that an installed package declares; None if none does.

    Raises
    ------
    ScenarioError
        If two packages declare the name, or one declares it wrongly; with the `key` of the scenario that has the name.
    """
    try:
        return find_plugin(group, name)
    except UserError as error:
        raise ScenarioError(Complaint(key, f"names {error}")) from None
