"""A clock that jumps, for the processes of a trial: libfaketime moves their time of day, and leaves alone what counts
seconds, as a clock does that is set.
"""

from __future__ import annotations

from pathlib import Path

_LIBRARY = next(iter(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)


def missing() -> str | None:
    """Why clocks can't jump here; None if they can."""
    return None if _LIBRARY is not None else "a clock can't be moved: faketime isn't installed"


def variables(folder: Path) -> dict[str, str]:
    """What the environment of such processes has; they look at the file every second."""
    jump(folder, 0)
    return {
        "LD_PRELOAD": str(_LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": str(folder / "clock"),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def jump(folder: Path, seconds: int) -> None:
    """So far from the true time."""
    draft = folder / "clock.new"
    draft.write_text(f"{seconds:+d}\n")
    draft.replace(folder / "clock")
