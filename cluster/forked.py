"""What workers of this machine are forked from imports: all that they need, once for all of them.

Python doesn't look for garbage meanwhile, nor ever after in what stays (`gc.freeze`): so the pages of memory that it is
in stay common to all workers.
"""

from __future__ import annotations

import gc
from importlib import import_module

_NEEDED = ("distributed", "harness.worker", "harness.krr")
"""What every worker imports, and the procedures that nearly all need."""

gc.disable()
for name in _NEEDED:
    import_module(name)
gc.freeze()
gc.enable()
