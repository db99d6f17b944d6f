"""`ckrr run` of a small study on two workers, with a directory for temporary files of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cluster.listening import until
from tests.faults import processes
from tests.harness.commands import TOY
from tests.harness.studies import ROOT

RUN = (sys.executable, "-m", "harness.cli", "run", "toy.toml")


@dataclass(frozen=True)
class Desk:
    """A folder with a scenario, and a directory for temporary files in it."""

    folder: Path
    temporary: Path

    def start(self, *words: str, before: tuple[str, ...] = (), **variables: str) -> subprocess.Popen[str]:
        """Start `ckrr run` with more words after it, or with another command before it."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OPENBLAS_NUM_THREADS": "1",
            "TMPDIR": str(self.temporary),
            processes.MARK: str(self.folder),
            **variables,
        }
        command = [*before, *RUN, *(words or ("--workers", "2"))]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.folder, env=environment, text=True, stdout=pipe, stderr=pipe, start_new_session=True
        )

    def run(self, *words: str, before: tuple[str, ...] = (), **variables: str) -> tuple[int, str, str]:
        """Run it to its end: exit code, standard output, standard error."""
        process = self.start(*words, before=before, **variables)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def check_nothing_left(self, *names: str) -> None:
        """Check that no process is left, and no file but those that were there before."""
        until(lambda: not processes.found(self.folder), why=lambda: str(processes.found(self.folder)))
        left = {path.name: sorted(map(str, path.rglob("*"))) for path in self.temporary.iterdir()}
        assert left.keys() == set(names), left


@contextmanager
def desk() -> Iterator[Desk]:
    """In a short path: a socket's can't be long."""
    with TemporaryDirectory(dir="/tmp", prefix="t-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "toy.toml").write_text(TOY)
        (folder / "tmp").mkdir(mode=0o700)
        try:
            yield Desk(folder, folder / "tmp")
        finally:
            processes.clear(folder)
