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


def scenario_files() -> dict[str, Path]:
    """The packaged scenarios by name: `quickstart`, and with its folder `paper/f2`.

    Examples
    --------
    >>> sorted(scenario_files())[-1]
    'quickstart'
    """
    folder = packaged()
    files = [*sorted(folder.glob("*.toml")), *sorted(folder.glob("*/*.toml"))]
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in files}
