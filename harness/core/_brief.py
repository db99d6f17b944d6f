"""Commands are over soon, and what they import stays: Python would look for garbage in it for nothing."""

from __future__ import annotations

import atexit
import gc

_OBJECTS = 50_000
"""Python looks for garbage whenever there are so many more objects; as it comes, it does after 700."""


def brief() -> None:
    """For a process of our own: it starts by a tenth sooner, and ends in a few hundredths of a second.

    At the end Python looks for garbage in all that there is, which takes a third of a second, and the process is over
    anyway; `gc.freeze` takes it out of its sight.
    """
    gc.set_threshold(_OBJECTS)
    atexit.register(gc.freeze)  # the first that is registered is called last
