"""Mark the functions and classes that a scenario file may name as "package.module:name".

A scenario file may come from an untrusted person, and the harness calls what it names with values from the file. So in
an installed package the harness calls only objects marked as sources: `function = "os:system"` is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

Maker = TypeVar("Maker", bound=Callable[..., Any])

_MARK = "__ckrr_source__"


def source(maker: Maker) -> Maker:
    """Mark a function or class that makes a source, so that scenario files may name it.

    Parameters
    ----------
    maker : callable
        A function that returns a source, or a class whose instances are sources.

    Returns
    -------
    callable
        The same object, with the mark.

    Examples
    --------
    >>> from scenarios import Synthetic
    >>> @source
    ... def ramp(slope: float = 1.0) -> Synthetic:
    ...     return Synthetic(lambda X: slope * X[:, 0])
    >>> is_source(ramp), is_source(print)
    (True, False)
    """
    if not isinstance(maker, FunctionType | type):
        raise TypeError(f"source must mark a function or a class, got {type(maker).__name__}")
    setattr(maker, _MARK, True)
    return maker


def is_source(found: object) -> bool:
    """Return whether an object is a function or class marked with `source`; a subclass doesn't inherit the mark."""
    return issubclass(type(found), FunctionType | type) and vars(found).get(_MARK) is True
