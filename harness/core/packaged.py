"""Where the files are that come along."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def find_scenario_folder() -> Path:
    """The folder of the packaged scenarios; found without loading the package."""
    spec = find_spec("scenarios")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def list_scenario_files() -> dict[str, Path]:
    """The packaged scenarios by name: `quickstart` first, those of a folder last.

    Examples
    --------
    >>> names = list(list_scenario_files())
    >>> names[0], names[-1]
    ('quickstart', 'worlds/student')
    """
    folder = find_scenario_folder()
    top = sorted(folder.glob("*.toml"), key=lambda path: (path.stem != "quickstart", path))
    files = [*top, *sorted(folder.glob("*/*.toml"))]
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in files}
