"""Import what workers of this machine need, once for all of them: the module that the fork server loads.

Python doesn't look for garbage meanwhile, nor ever after in what stays (`gc.freeze`): so the pages of memory that it is
in stay common to all workers.
"""

from __future__ import annotations

import atexit
import gc
import os
import tempfile
from importlib import import_module
from pathlib import Path

from cluster.runtime.private import get_scratch_parent, remove_abandoned
from cluster.runtime.settings import PRELOAD


def _remove_directories(ours: int) -> None:
    """Remove the directories of a driver that was killed, when all processes that could need them are gone."""
    if os.getpid() == ours:  # and not in a worker that was forked
        for parent in {get_scratch_parent(), Path(tempfile.gettempdir())}:
            remove_abandoned(parent)


atexit.register(_remove_directories, os.getpid())
gc.disable()
for name in ("distributed", *filter(None, os.environ.pop(PRELOAD, "").split(","))):
    import_module(name)
gc.freeze()
gc.enable()
