"""Families that wrap packages which may not be installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec


def provide_family(module: str, family: object, packages: Sequence[str]) -> Callable[[str], object]:
    """Return the function `__getattr__` of a module whose `FAMILY` needs packages.

    Parameters
    ----------
    module : str
        Name of the module, for error messages.
    family : Family
        The family; it imports the packages when it is used.
    packages : sequence of str
        Packages that it needs. If one is missing, access to `FAMILY` raises ImportError.

    Examples
    --------
    >>> provide_family("mine", object(), ["os", "no_such_package"])("FAMILY")
    Traceback (most recent call last):
    ImportError: it needs no_such_package: pip install 'ckrr[peers]'
    """

    def get_attribute(name: str) -> object:
        if name != "FAMILY":
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        missing = [package for package in packages if find_spec(package) is None]
        if missing:
            raise ImportError(f"it needs {' and '.join(missing)}: pip install 'ckrr[peers]'")
        return family

    return get_attribute
