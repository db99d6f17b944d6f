"""What workers of this machine are forked from imports: all that they need, once for all of them.

Python doesn't look for garbage meanwhile, nor ever after in what stays (`gc.freeze`): so the pages of memory that it is
in stay common to all workers.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
from importlib import import_module
from multiprocessing import forkserver

from cluster.runtime.private import remove_abandoned, scratch_parent

_NEEDED = ("distributed", "harness.worker.task", "harness.families.krr")
"""What every worker imports, and the procedures that nearly all need."""


def _tidy(ours: int) -> None:
    """Remove the directory of our socket, and those of the driver, when all that could ask us are gone.

    A driver that was killed has removed nothing.
    """
    address = forkserver._forkserver._forkserver_address  # type: ignore[attr-defined]
    folder = os.path.dirname(address) if isinstance(address, str) else ""
    if os.getpid() == ours and os.path.basename(folder).startswith("pymp-"):
        shutil.rmtree(folder, ignore_errors=True)
    if os.getpid() == ours:
        remove_abandoned(scratch_parent())


atexit.register(_tidy, os.getpid())
gc.disable()
for name in _NEEDED:
    import_module(name)
gc.freeze()
gc.enable()
