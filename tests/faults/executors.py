"""Where a study runs while faults strike it: workers of its own, a scheduler that runs already, jobs; or handed over.

All of them are started by the commands that a user types, in processes that can be told by a mark (`processes.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

from harness.backends.base import open_backend
from harness.monitor.state import status
from harness.submit.logs import read_logs
from tests.cluster import slurm, sshd
from tests.cluster.listening import until
from tests.faults import namespaces
from tests.faults.processes import CLUSTER, MARK, NANNY, SCHEDULER, found, kill
from tests.faults.study import Study
from tests.harness.commands import ckrr, start
from tests.harness.studies import ROOT

_LONGEST = 300.0


@dataclass
class Site:
    """A cluster file that can be used now."""

    file: Path
    restore: Callable[[], None] = lambda: None
    """Brings back what a fault took away, as whoever runs the cluster would."""
    slurm: slurm.Slurm | None = None


class Shelf:
    """What is dear to start, and lasts for many trials."""

    def __init__(self) -> None:
        self._stack, self._made = ExitStack(), dict[str, object]()

    def get(self, name: str, make: Callable[[], AbstractContextManager[object]]) -> object:
        if name not in self._made:
            self._made[name] = self._stack.enter_context(make())
        return self._made[name]

    def close(self) -> None:
        self._stack.close()


@contextmanager
def _local(study: Study, shelf: Shelf, variables: Mapping[str, str]) -> Iterator[Site]:
    yield Site(_written(study, 'kind = "local"\nworkers = 2\nmemory = "800 MB"\n'))


@contextmanager
def _running(
    study: Study, shelf: Shelf, variables: Mapping[str, str], host: str = "127.0.0.1", inside: tuple[str, ...] = ()
) -> Iterator[Site]:
    """A scheduler and two workers, each with its nanny; one of them may be in a network of its own."""
    json, listen = study.folder / "scheduler.json", ("--dashboard-address", "127.0.0.1:0", "--no-dashboard")
    worker = ("worker", "--scheduler-file", str(json), "--nthreads", "1", "--memory-limit", "800 MB", *listen)
    worker = (*worker, "--local-directory", str(study.folder), "--death-timeout", "20")
    scheduler = ("scheduler", "--host", host, "--port", "0", "--scheduler-file", str(json), *listen)
    started: list[subprocess.Popen[bytes]] = []

    def restore() -> None:
        if not found(study.folder, SCHEDULER):
            kill(found(study.folder, *CLUSTER))  # workers of one that is gone are about to leave
            json.unlink(missing_ok=True)
            started.append(_dask(study, variables, *scheduler))
            until(json.exists)
        for i in range(2 - len(found(study.folder, NANNY))):
            away = bool(inside) and i == 0
            where = () if away else ("--host", host)
            started.append(_dask(study, variables, *worker, *where, inside=inside if away else ()))
        workers = sum("dask_worker" in str(one.args) for one in started)
        until(lambda: (study.folder / "worker.log").read_text().count("Registered to:") >= workers, 120)

    restore()
    try:
        yield Site(_written(study, f'kind = "address"\nscheduler_file = "{json}"\n'), restore)
    finally:
        for one in started:
            one.kill()
            one.wait()


@contextmanager
def _apart(study: Study, shelf: Shelf, variables: Mapping[str, str]) -> Iterator[Site]:
    quick = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "11s", "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}
    with namespaces.apart() as inside, _running(study, shelf, {**variables, **quick}, namespaces.HERE, inside) as site:
        yield site


@contextmanager
def _slurm(study: Study, shelf: Shelf, variables: Mapping[str, str]) -> Iterator[Site]:
    one = _slurm_of(shelf)
    os.environ["SLURM_CONF"] = one.conf  # also for `ckrr status`, which looks at the queue
    file = slurm.cluster_file(study.folder)
    yield Site(file, slurm=one)
    slurm.end_jobs(one)


def _slurm_of(shelf: Shelf) -> slurm.Slurm:
    one = shelf.get("slurm", slurm.running)
    assert isinstance(one, slurm.Slurm)
    return one


@contextmanager
def _server() -> Iterator[sshd.Server]:
    with tempfile.TemporaryDirectory(prefix="ckrr-ssh-") as made, sshd.running(Path(made) / "ssh") as one:
        yield one


def _server_of(shelf: Shelf) -> sshd.Server:
    one = shelf.get("ssh", _server)
    assert isinstance(one, sshd.Server)
    return one


@contextmanager
def _ssh(study: Study, shelf: Shelf, variables: Mapping[str, str]) -> Iterator[Site]:
    server = _server_of(shelf)
    prologue = [f"export PYTHONPATH={ROOT} {MARK}={study.folder}"]
    yield Site(
        _written(
            study,
            f'kind = "ssh"\nhosts = ["127.0.0.1"]\nworkers_per_host = 2\nmemory = "800 MB"\nprologue = {prologue}\n'
            f"{server.options()}",
        )
    )


def _written(study: Study, text: str) -> Path:
    (study.folder / "cluster.toml").write_text(text)
    return study.folder / "cluster.toml"


def _dask(
    study: Study, variables: Mapping[str, str], *words: str, inside: tuple[str, ...] = ()
) -> subprocess.Popen[bytes]:
    """A process of Dask's own command line."""
    command = [*inside, sys.executable, "-P", "-m", f"distributed.cli.dask_{words[0]}", *words[1:]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), MARK: str(study.folder), **variables}
    with (study.folder / f"{words[0]}.log").open("ab") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)


@dataclass(frozen=True)
class Executor:
    """Where it runs, and whether the user waits for it (`run`) or leaves (`submit`)."""

    verb: str
    site: Callable[[Study, Shelf, Mapping[str, str]], AbstractContextManager[Site]]
    missing: Callable[[], str | None] = lambda: None
    """Why it can't be used here."""
    ready: Callable[[Shelf], object] = lambda shelf: None
    """Starts what was there before the study: a Slurm, a server."""


EXECUTORS = {
    "run": Executor("run", _local),
    "submit": Executor("submit", _local),
    "run on a scheduler": Executor("run", _running),
    "submit to a scheduler": Executor("submit", _running),
    "run across a network": Executor("run", _apart, namespaces.missing),
    "run on hosts (SSH)": Executor("run", _ssh, sshd.missing, _server_of),
    "run on Slurm": Executor("run", _slurm, slurm.missing, _slurm_of),
    "submit to Slurm": Executor("submit", _slurm, slurm.missing, _slurm_of),
}


@dataclass
class Run:
    """A `ckrr run` or `ckrr submit` that was started."""

    study: Study
    site: Site
    verb: str
    variables: Mapping[str, str]
    settings: tuple[str, ...] = ()
    said: str = ""
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)
    _heard: bool = False

    def start(self) -> None:
        words = (
            self.verb,
            str(self.study.scenario),
            "--store",
            str(self.study.store),
            "--cluster",
            str(self.site.file),
        )
        marked = {MARK: str(self.study.folder), **self.variables}
        if self.verb == "run":
            self._process = start(*words, *self.settings, cwd=self.study.folder, **marked)
            return
        code, out, err = ckrr(*words, *self.settings, cwd=self.study.folder, **marked)
        assert code == 0, out + err

    def again(self) -> Run:
        """The same command, given again."""
        next = Run(self.study, self.site, self.verb, self.variables, self.settings)
        next.start()
        return next

    def kill(self) -> None:
        """A run alone, as kill -9 does."""
        assert self._process is not None
        self._process.kill()
        self.wait()

    def clear(self) -> None:
        """Nothing is left of it here, whatever became of it."""
        if self._process is not None and not self._heard:
            self.kill()

    @property
    def over(self) -> bool:
        """Whether it has ended, one way or the other."""
        if self._process is not None:
            return self._process.poll() is not None
        return not status(str(self.study.store))["at_work"]

    def wait(self, longest: float = _LONGEST) -> int | None:
        """Its exit code; None for a submitted driver that died."""
        if self._process is not None:
            if not self._heard:
                self.said, self._heard = "".join(self._process.communicate(timeout=longest)), True
            return self._process.returncode
        end = monotonic() + longest
        while not self.over:
            assert monotonic() < end, self.said
            sleep(0.2)
        self.said += "".join(read_logs(open_backend(str(self.study.store))))
        told = status(str(self.study.store))["submission"]
        return None if told is None else told["code"]
