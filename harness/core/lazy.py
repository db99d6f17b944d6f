"""Load public names on first use (PEP 562), so that `import harness` and light commands start at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attach(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make the functions `__getattr__` and `__dir__` of a package whose names are loaded when they are asked for.

    Parameters
    ----------
    package : str
        The package's name, for messages.
    homes : mapping
        For each public name the module that defines it.
    """

    def get_attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return get_attribute, lambda: sorted(homes)
