"""The faults: what each does, when it strikes, and how it has to heal. One list for all executors."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import sleep

import psutil

from harness.backends.base import open_backend
from harness.store.heartbeat import from_bytes
from harness.store.manifest import DRIVER as DRIVER_KEY
from harness.submit import submission
from tests.cluster.listening import until
from tests.faults import clocks, disks, namespaces, processes
from tests.faults.executors import Run, Site
from tests.faults.study import PAUSE, Study

WITHIN, NEXT = "within the run", "by the next run"


@dataclass
class Trial:
    """A study at work, that a fault is about to strike."""

    study: Study
    site: Site
    run: Run
    rng: Random = field(default_factory=lambda: Random(0))
    toll: int = 0
    """How often it struck."""

    def find(self, *roles: str) -> list[psutil.Process]:
        """Processes of these roles, of which there must be one at least."""
        found: list[psutil.Process] = []

        def there() -> bool:
            found[:] = processes.found(self.study.folder, *roles)
            return bool(found)

        until(there, 20, lambda: f"for {roles}")
        return found

    def kill(self, *roles: str) -> None:
        """All of these roles, at once."""
        processes.kill(self.find(*roles))
        self.toll += 1


@dataclass(frozen=True)
class Fault:
    """Something that happens to a study at work."""

    name: str
    on: Mapping[str, str]
    """How it heals on each executor that it makes sense on; the first is the one that is always tried."""
    strike: Callable[[Trial], None]
    after: int = 4
    """Units that are done when it strikes."""
    heal: Callable[[Trial], None] = lambda trial: None
    """What whoever runs the machine does about it, before the next run."""
    told: str = ""
    """What the run has to say of it (a regular expression)."""
    verify: bool = False
    """Whether `ckrr status --verify` has to find it."""
    settings: tuple[str, ...] = ()
    variables: Callable[[Path], dict[str, str]] = lambda folder: {}
    """Of the environment, of all that is started."""
    disk: bool = False
    """Whether the store is on a small disk of its own."""
    missing: Callable[[], str | None] = lambda: None
    """Why it can't be tried here."""
    pause: float = PAUSE
    """Seconds that a unit takes."""
    lines: str = ""
    """More of the cluster file."""
    slow: bool = False
    """Whether it takes too long to be tried always."""


def _workers(trial: Trial) -> None:
    """One worker after the other, at work or as it starts, until little is left to do; each time something is done."""
    while not trial.run.over and trial.study.done() < trial.study.paths - 4:
        before = trial.study.done()
        processes.kill([trial.rng.choice(trial.find(processes.WORKER))])
        trial.toll += 1
        sleep(trial.rng.uniform(0.5, 1.5))
        until(lambda before=before: trial.study.done() > before or trial.run.over)  # type: ignore[misc]


def one(role: str) -> Callable[[Trial], None]:
    """One process of a role."""

    def strike(trial: Trial) -> None:
        processes.kill([trial.rng.choice(trial.find(role))])
        trial.toll += 1

    return strike


def driver(trial: Trial) -> None:
    """The process that the store tells of: of a task it is a worker."""
    found = from_bytes(open_backend(str(trial.study.store)).get(DRIVER_KEY))
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    trial.toll += 1


def everything(trial: Trial) -> None:
    """As if the machine went off."""
    for _ in range(3):  # one may be about to start another
        with suppress(AssertionError):
            processes.kill(processes.found(trial.study.folder))
    trial.toll += 1


def trap(name: str) -> Callable[[Trial], None]:
    """Whichever path is computed next steps into it."""

    def strike(trial: Trial) -> None:
        (trial.study.folder / f"{name}.trap").touch()
        until((trial.study.folder / f"{name}.sprung").exists)
        trial.toll += 1

    return strike


def _cut(seconds: float) -> Callable[[Trial], None]:
    """The network is gone for a while."""

    def strike(trial: Trial) -> None:
        namespaces.cut()
        sleep(seconds)
        namespaces.heal()
        trial.toll += 1

    return strike


def _on_disk(act: Callable[[Path], None]) -> Callable[[Trial], None]:
    def strike(trial: Trial) -> None:
        act(trial.study.store.parent)
        trial.toll += 1

    return strike


def to_a_file(pattern: str, harm: Callable[[Path], None]) -> Callable[[Trial], None]:
    """One of those that are there."""

    def strike(trial: Trial) -> None:
        files = sorted(each for each in trial.study.store.glob(pattern) if each.suffix != ".partial")
        harm(trial.rng.choice(files))
        trial.toll += 1

    return strike


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def clock(trial: Trial) -> None:
    """An hour ahead for some units, which nobody minds; then two back, which ends the run."""
    before = trial.study.done()
    clocks.jump(trial.study.folder, 3600)
    until(lambda: trial.study.done() > before + 2, 10, lambda: "a clock that is ahead stops the run")
    clocks.jump(trial.study.folder, -3600)
    trial.toll += 2
    with trial.study.held():  # there may be so few left that the run would end before it looks
        until(lambda: trial.run.over)
    clocks.jump(trial.study.folder, 0)


def _second(trial: Trial) -> None:
    """Another `ckrr run` of the same study: the units wait until both are at work."""
    other = Run(trial.study, trial.site, "run", trial.run.variables)
    with trial.study.held():
        other.start()
        until(lambda: trial.study.begun().total() - trial.study.done() > 2 or other.over)  # the first has two workers
    trial.toll += 1
    assert other.wait() == 0, other.said
    assert "is running on this store, too" in other.said
    assert trial.study.again() <= 4, "they don't share the work"


def _jobs(trial: Trial) -> list[str]:
    assert trial.site.slurm is not None
    return trial.site.slurm.jobs("RUNNING")


def _scancel(trial: Trial) -> None:
    """All jobs that run."""
    assert trial.site.slurm is not None
    trial.site.slurm.call("scancel", *_jobs(trial))
    trial.toll += 1


def _node(state: str) -> Callable[[Trial], None]:
    """Out of order for a few seconds: what runs there is ended."""

    def strike(trial: Trial) -> None:
        assert trial.site.slurm is not None
        call = trial.site.slurm.call
        call("scontrol", "update", "nodename=localhost", f"state={state}", "reason=fault")
        if state == "drain":
            call("scancel", *_jobs(trial))  # whoever drains a node does so when he has waited long enough
        until(lambda: not _jobs(trial))
        with suppress(AssertionError):  # a node that was down is back as soon as it answers
            call("scontrol", "update", "nodename=localhost", "state=resume")
        trial.toll += 1

    return strike


def _walltime(trial: Trial) -> None:
    """As Slurm ends a job whose time is over: SIGTERM to all of it, and SIGKILL when `KillWait` has passed."""
    assert trial.site.slurm is not None
    jobs = _jobs(trial)
    trial.site.slurm.call("scancel", "--full", "--signal=TERM", *jobs, check=False)  # one may have ended
    sleep(1)
    left = [job for job in jobs if job in _jobs(trial)]
    if left:
        trial.site.slurm.call("scancel", "--full", "--signal=KILL", *left, check=False)
    trial.toll += 1


def _expire(trial: Trial) -> None:
    """Slurm itself ends the driver, a minute after it started, or later: it looks now and then."""

    def followed() -> bool:
        found = submission.read(open_backend(str(trial.study.store)))
        return found is not None and len(found.starts) > 1

    until(followed, 240)
    assert any("TIME LIMIT" in path.read_text() for path in trial.study.folder.rglob("driver-*.out")), (
        "it ended by itself"
    )
    trial.toll += 1


def _everywhere(how: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, how)


_DIED = r"a worker died at unit \S+, which is computed again"
FAULTS = (
    Fault(
        "kill -9 of a random worker, again and again",
        _everywhere(WITHIN, "run", "run on a scheduler", "run on hosts (SSH)"),
        _workers,
    ),
    Fault(
        "kill -9 of a nanny",
        _everywhere(WITHIN, "run on a scheduler", "run on Slurm"),
        one(processes.NANNY),
    ),
    Fault(
        "kill -9 of the scheduler",
        _everywhere(NEXT, "run on a scheduler"),
        one(processes.SCHEDULER),
        told=r"the scheduler( at tcp://\S+)? (is gone|can't be reached \(\w+\)); what is done is kept: run again",
        lines="timeout = 1\n",  # seconds that a client looks for a scheduler that was there
    ),
    Fault(
        "kill -9 of the driver",
        {
            "run": NEXT,
            "submit": NEXT,
            "submit to a scheduler": WITHIN,
            "submit to Slurm": WITHIN,
            "run on hosts (SSH)": NEXT,
        },
        driver,
    ),
    Fault(
        "kill -9 of everything",
        _everywhere(NEXT, "submit"),
        everything,
    ),
    Fault(
        "a worker out of memory",
        _everywhere(WITHIN, "run"),
        trap("eat"),
        told=_DIED,
    ),
    Fault(
        "a worker that hangs and holds the GIL",
        _everywhere(WITHIN, "run"),
        trap("hang"),
        told=_DIED,
        settings=("--set", "replications.seconds=4"),
    ),
    Fault("the network is cut for 2 s", {"run across a network": WITHIN}, _cut(2.0)),
    Fault("the network is cut for longer than its time-outs", {"run across a network": WITHIN}, _cut(16.0), slow=True),
    Fault(
        "a full disk",
        _everywhere(NEXT, "run", "submit"),
        _on_disk(disks.fill),
        heal=lambda trial: disks.make_room(trial.study.store.parent),
        told="No space left on device",
        disk=True,
        missing=disks.missing,
    ),
    Fault(
        "a store that becomes read-only",
        _everywhere(NEXT, "run"),
        _on_disk(lambda here: disks.remount(here, "ro")),
        heal=lambda trial: disks.remount(trial.study.store.parent, "rw"),
        told="Read-only file system",
        disk=True,
        missing=disks.missing,
    ),
    Fault(
        "a chunk truncated",
        _everywhere(NEXT, "run"),
        to_a_file("replications/*/width/c.*", truncate),
        verify=True,
    ),
    Fault("a bit flipped", _everywhere(NEXT, "run"), to_a_file("replications/*/*/c.*", flip), verify=True),
    Fault(
        "a receipt truncated",
        _everywhere(NEXT, "run"),
        to_a_file("receipts/*/*.json", truncate),
        verify=True,
    ),
    Fault(
        "a clock that jumps an hour ahead, then two back",
        {"run": NEXT},
        clock,
        told=r"no result has come for \d+ s, far longer than planned: .* run again to resume",
        variables=clocks.variables,
        missing=clocks.missing,
        slow=True,
    ),
    Fault("two drivers at once", _everywhere(WITHIN, "run", "submit"), _second),
    Fault("scancel of all jobs", _everywhere(WITHIN, "submit to Slurm", "run on Slurm"), _scancel),
    Fault(
        "a node is drained and its jobs ended", _everywhere(WITHIN, "run on Slurm", "submit to Slurm"), _node("drain")
    ),
    Fault("a node goes down", _everywhere(WITHIN, "run on Slurm"), _node("down")),
    Fault("the jobs' time is over", _everywhere(WITHIN, "submit to Slurm", "run on Slurm"), _walltime, slow=True),
    Fault(
        "the driver's walltime of a minute",
        {"submit to Slurm": WITHIN},
        _expire,
        pause=10.0,
        lines='driver_walltime = "1"\n',
        slow=True,
    ),
)
