"""Parse sizes, durations and Slurm's walltimes."""

from __future__ import annotations

import re
from math import inf

from dask.utils import parse_bytes

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SPAN = re.compile(rf"(?P<number>\d+(?:\.\d+)?) *(?P<unit>{'|'.join(_SECONDS)})")
_CLOCK = re.compile(r"(?:(?P<days>\d+)-)?(?P<parts>\d+(?::\d+){0,2})")


def parse_size(text: str) -> float:
    """Parse a size with its unit, and return bytes.

    Examples
    --------
    >>> parse_size("4 GB"), parse_size("512 MiB")
    (4000000000.0, 536870912.0)
    """
    found = float(parse_bytes(text))
    if not 0 < found < inf:
        raise ValueError(text)
    return found


def parse_duration(text: str) -> float:
    """Parse a duration with its unit, and return seconds.

    Examples
    --------
    >>> parse_duration("90 s"), parse_duration("50 min")
    (90.0, 3000.0)
    """
    match = _SPAN.fullmatch(text.strip())
    found = float(match["number"]) * _SECONDS[match["unit"]] if match else 0.0
    if not 0 < found < inf:
        raise ValueError(text)
    return found


def parse_walltime(text: str) -> float:
    """Parse a Slurm time (minutes, minutes:seconds, hours:minutes:seconds, days-hours, …), and return seconds.

    Examples
    --------
    >>> parse_walltime("90"), parse_walltime("01:30:00"), parse_walltime("2-12"), parse_walltime("1-00:00:30")
    (5400.0, 5400.0, 216000.0, 86430.0)
    """
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    parts = [int(part) for part in match["parts"].split(":")]
    if match["days"] is not None:
        days, hours, minutes, seconds = int(match["days"]), *parts, *[0] * (3 - len(parts))
    else:
        days, (hours, minutes, seconds) = 0, {1: (0, *parts, 0), 2: (0, *parts), 3: tuple(parts)}[len(parts)]
    found = float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    if not found:
        raise ValueError(text)
    return found
