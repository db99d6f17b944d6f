"""Load public names on first use (PEP 562), so that `import harness` and light commands start fast."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def attach(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package that imports its public names on first use.

    Parameters
    ----------
    package : str
        Name of the package, for error messages.
    homes : mapping
        The module that defines each public name.
    """

    def get_attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return get_attribute, lambda: sorted(homes)
