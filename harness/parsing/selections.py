"""Parse what a user selects: names, and values along axes, as on the command line or from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.core.errors import UserError
from harness.core.schema.cube import CUBE_DIMS
from harness.core.text import suggest_name

Selection = Mapping[str, Sequence[object]] | str | Sequence[str]
"""Values along some axes; or as the option `--where` has them: "n=100,400,alpha=0.05", or several such texts."""
Names = str | Sequence[str]
"""Names, or one text in which commas separate them, as on the command line."""


def parse_names(names: Names) -> list[str]:
    """Return names that commas separate, or that are in a sequence.

    Examples
    --------
    >>> parse_names("coverage, width"), parse_names(["coverage", "width"])
    (['coverage', 'width'], ['coverage', 'width'])
    """
    return [name.strip() for name in names.split(",") if name.strip()] if isinstance(names, str) else list(names)


def parse_where(where: Selection | None) -> dict[str, list[Any]]:
    """Return selected values by axis: "n=100,400,alpha=0.05" selects two n and one α.

    Examples
    --------
    >>> parse_where(["n=100,400,alpha=0.05", "theta=ml"])
    {'n': ['100', '400'], 'alpha': ['0.05'], 'theta': ['ml']}
    >>> parse_where({"n": 100})
    {'n': [100]}
    """
    if isinstance(where, Mapping):
        found = {
            axis: [some] if isinstance(some, str) or not isinstance(some, Iterable) else list(some)
            for axis, some in where.items()
        }
    else:
        found = _parse_texts([where] if isinstance(where, str) else where or ())
    for axis in found:
        if axis not in CUBE_DIMS:
            raise UserError(
                f"there is no axis {axis!r}: it must be one of {', '.join(CUBE_DIMS)}{suggest_name(axis, CUBE_DIMS)}"
            )
    return found


def _parse_texts(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Parse values of the option `--where`."""
    found: dict[str, list[Any]] = {}
    for text in texts:
        axis = ""
        for part in text.split(","):
            name, equals, value = part.partition("=")
            axis = name.strip() if equals else axis
            if not axis or not (value if equals else name).strip():
                raise UserError(f"--where {text}: must be axis=value, as in n=100,400,alpha=0.05")
            found.setdefault(axis, []).append((value if equals else name).strip())
    return found
