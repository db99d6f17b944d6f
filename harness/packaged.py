"""Where the files are that come along."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def packaged() -> Path:
    """The folder of the packaged scenarios; found without loading the package."""
    spec = find_spec("scenarios")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent
