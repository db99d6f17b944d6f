"""Show output in a notebook that is replaced in place, through the IPython that runs the notebook."""

from __future__ import annotations

import sys
from typing import Any


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook; False in a terminal, where IPython may run, too."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)  # never loads it
    return getattr(get_shell and get_shell(), "kernel", None) is not None


class LiveOutput:
    """One output of a notebook's cell, whose content can be replaced."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str, html: str) -> None:
        """Show HTML in place of what was shown before; front ends that can't show it have the plain text."""
        from IPython.display import display

        bundle = {"text/plain": text, "text/html": html}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)
