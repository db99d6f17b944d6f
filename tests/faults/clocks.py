"""A clock that jumps, for the processes of a trial: `clock.c` moves their time of day, and leaves alone what counts
seconds, as when a clock is set.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

_CODE = Path(__file__).parent / "clock.c"


def missing() -> str | None:
    """Why clocks can't jump here; None if they can."""
    if sys.platform != "linux":
        return "a clock can be moved for one process on Linux alone"
    return None if shutil.which("cc") is not None else "a clock can't be moved: there is no C compiler (cc)"


def variables(folder: Path) -> dict[str, str]:
    """What the environment of such processes has."""
    library = folder / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(_CODE), "-ldl"], check=True)
    jump(folder, 0)
    return {"LD_PRELOAD": str(library), "CKRR_TEST_CLOCK": str(folder / "clock")}


def jump(folder: Path, seconds: int) -> None:
    """So far from the true time."""
    draft = folder / "clock.new"
    draft.write_text(f"{seconds}\n")
    draft.replace(folder / "clock")
