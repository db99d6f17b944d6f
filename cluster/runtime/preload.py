"""Import the modules that local workers need, once for all of them: the module that the fork server loads.

The garbage collector is off meanwhile and skips the imported objects later (`gc.freeze`), so that their memory pages
stay shared between all workers.
"""

from __future__ import annotations

import atexit
import gc
import os
import tempfile
from importlib import import_module
from pathlib import Path

from cluster.runtime.children import PRELOAD
from cluster.runtime.private import get_scratch_parent, remove_abandoned


def _remove_directories(ours: int) -> None:
    """Remove the directories of a killed driver, once no process that could need them is left."""
    if os.getpid() == ours:  # not in a forked worker
        for parent in {get_scratch_parent(), Path(tempfile.gettempdir())}:
            remove_abandoned(parent)


atexit.register(_remove_directories, os.getpid())
gc.disable()
for name in ("distributed", *filter(None, os.environ.pop(PRELOAD, "").split(","))):
    import_module(name)
gc.freeze()
gc.enable()
