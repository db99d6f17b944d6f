"""Types of the values in cluster files, validated and converted."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from cluster.config.units import parse_duration, parse_size, parse_walltime


def refuse(like: str) -> object:
    """Raise an error that describes valid values by `like`."""
    raise PydanticCustomError("form", "must be {like}", {"like": like})


def _make_validator(read: Callable[[str], float], like: str) -> Callable[[object], object]:
    """Return a validator that parses a text with `read`, and describes valid values by `like` in its error."""

    def check(value: object) -> object:
        try:
            return read(str(value)) if isinstance(value, str) else refuse(like)
        except ValueError:
            return refuse(like)

    return check


def _check_not_bool(value: object) -> object:
    """Refuse booleans, which Python would accept as the numbers 0 and 1."""
    return refuse("a whole number") if isinstance(value, bool) else value


def _resolve_path(path: str, info: ValidationInfo) -> str:
    """Resolve a path relative to the folder of the cluster file."""
    return str(Path((info.context or {}).get("folder", ".")) / Path(path).expanduser())


def _check_address(text: str) -> str:
    if not re.fullmatch(r"(tcp|tls)://[^/\s]+:\d+", text):
        refuse('like "tcp://host:8786" or "tls://host:8786"')
    return text


def _check_walltime(text: str) -> str:
    try:
        parse_walltime(text)
    except ValueError:
        refuse('a time like "01:30:00", "2-12" (days-hours) or "90" (minutes)')
    return text


Count = Annotated[int, BeforeValidator(_check_not_bool), Field(strict=True, ge=1, le=1_000_000)]
Seconds = Annotated[float, Field(gt=0)]
Bytes = Annotated[float, BeforeValidator(_make_validator(parse_size, 'a size like "4 GB"'))]
Duration = Annotated[float, BeforeValidator(_make_validator(parse_duration, 'a time like "50 min"'))]
"""In seconds."""
Walltime = Annotated[str, AfterValidator(_check_walltime)]
SchedulerAddress = Annotated[str, AfterValidator(_check_address)]
RelativePath = Annotated[str, AfterValidator(_resolve_path)]
