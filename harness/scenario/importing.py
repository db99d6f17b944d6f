"""Import the objects that a scenario names."""

from __future__ import annotations

import importlib
from typing import Any

from harness.core.text import format_error, shorten_repr
from harness.scenario.errors import Complaint, ScenarioError


def import_name(name: str, key: str, ours: bool = False) -> Any:
    """Import the object that "package.module:name" means.

    Parameters
    ----------
    name : str
        The module and the attribute.
    key : str
        The key of the scenario that names it, for messages.
    ours : bool
        Whether the module may make up the attribute on demand, as `harness.families.peers` does to say what is missing.
    """
    module, _, attribute = name.partition(":")
    try:
        loaded = importlib.import_module(module)
        found = {attribute: getattr(loaded, attribute)} if ours else vars(loaded)
    except (Exception, SystemExit) as error:  # a module may raise anything; ValueError and TypeError for strange names
        said = str(error) if isinstance(error, ImportError) else format_error(error)
        raise ScenarioError(Complaint(key, f"names {shorten_repr(module)}, which can't be imported: {said}")) from error
    if attribute not in found:
        raise ScenarioError(
            Complaint(key, f"names {shorten_repr(attribute)}, which {shorten_repr(module)} doesn't have")
        )
    return found[attribute]
