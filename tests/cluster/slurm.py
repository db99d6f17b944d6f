"""A real Slurm on this machine, for as long as a test needs it: munged, slurmctld and one slurmd, all of our own.

It needs root and Debian's slurmctld, slurmd, slurm-client and munge; `missing()` says what isn't there.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.listening import free_port, until
from tests.cluster.studies import PROLOGUE

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "setpriv")
CPUS = 16
"""More than there are, so that small jobs start at once."""


def missing() -> str | None:
    """Why there can be no Slurm here; None if there can."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"Slurm can't be started: {', '.join(lacking)} isn't installed"
    return None if os.geteuid() == 0 else "Slurm can be started by root alone"


@dataclass(frozen=True)
class Slurm:
    """One that runs."""

    folder: Path

    @property
    def conf(self) -> str:
        """What SLURM_CONF must be."""
        return str(self.folder / "slurm.conf")

    def call(self, *command: str, check: bool = True) -> str:
        """One of Slurm's commands, and what it says."""
        done = subprocess.run(command, env={**os.environ, "SLURM_CONF": self.conf}, capture_output=True, text=True)
        assert not check or done.returncode == 0, f"{command}: {done.stderr}{self.logs()}"
        return done.stdout

    def jobs(self, *states: str) -> list[str]:
        """The ids of jobs that haven't ended, or of those in some states."""
        chosen = ["--states", ",".join(states)] if states else []
        return self.call("squeue", "--noheader", "--format=%A", *chosen).split()

    def logs(self) -> str:
        """The last lines of its daemons."""
        parts = [f"\n{path.name}:\n{path.read_text(errors='replace')[-1500:]}" for path in self.folder.glob("*.log")]
        return "".join(parts)


@contextmanager
def running() -> Iterator[Slurm]:
    """All daemons, ready for jobs; at the end every job and daemon is gone."""
    with tempfile.TemporaryDirectory(prefix="ckrr-slurm-", ignore_cleanup_errors=True) as made, ExitStack() as stack:
        folder = Path(made)
        folder.chmod(0o755)
        slurm = Slurm(folder)
        (folder / "slurm.conf").write_text(_conf(folder))
        environment = {**os.environ, "SLURM_CONF": slurm.conf}
        stack.enter_context(_daemon(folder, "munged", *_munge(folder)))
        until(lambda: (folder / "munge/socket").is_socket(), why=slurm.logs)
        stack.enter_context(_daemon(folder, "slurmctld", "slurmctld", "-D", "-i", environment=environment))
        stack.enter_context(_daemon(folder, "slurmd", "slurmd", "-D", "-N", "localhost", environment=environment))
        until(lambda: "idle" in _state(slurm), why=slurm.logs)
        try:
            yield slurm
        finally:
            end_jobs(slurm)


def cluster_file(folder: Path) -> Path:
    """A cluster file of two jobs of this Slurm, whose workers find the tests."""
    path = folder / "slurm.toml"
    path.write_text(
        f'kind = "slurm"\njobs = 2\nmemory = "1 GB"\nwalltime = "5"\ninterface = "lo"\n'
        f'log_directory = "{folder}/logs"\nshared_temp_directory = "{folder}/shared"\n'
        f'job_script_prologue = ["{PROLOGUE}"]\n'
    )
    return path


def _munge(folder: Path) -> list[str]:
    """munged's command, as its own user, with a key and a socket of its own."""
    home, user = folder / "munge", pwd.getpwnam("munge")
    home.mkdir()
    (home / "key").write_bytes(os.urandom(128))
    (home / "key").chmod(0o400)
    for path in (home, home / "key"):
        os.chown(path, user.pw_uid, user.pw_gid)
    home.chmod(0o755)
    options = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    words = [f"--{name}={home / file}" for name, file in options.items()]
    identity = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    return [*identity, "munged", "--foreground", *words]


def _conf(folder: Path) -> str:
    ports = [free_port(), free_port()]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    lines = {
        "ClusterName": "ckrr",
        "SlurmctldHost": "localhost(127.0.0.1)",
        "SlurmUser": "root",
        "AuthType": "auth/munge",
        "CredType": "cred/munge",
        "AuthInfo": f"socket={folder / 'munge/socket'}",
        "SlurmctldPort": str(ports[0]),
        "SlurmdPort": str(ports[1]),
        "StateSaveLocation": str(folder / "state"),
        "SlurmdSpoolDir": str(folder / "spool"),
        "SlurmctldPidFile": str(folder / "slurmctld.pid"),
        "SlurmdPidFile": str(folder / "slurmd.pid"),
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU",
        "SlurmdParameters": "config_overrides",
        "MailProg": "/bin/true",
        "ReturnToService": "2",
        "KillWait": "5",
        "SchedulerParameters": "sched_interval=2,batch_sched_delay=0",
    }
    node = f"NodeName=localhost NodeAddr=127.0.0.1 CPUs={CPUS} RealMemory=16000 State=UNKNOWN"
    partition = "PartitionName=test Nodes=localhost Default=YES MaxTime=INFINITE State=UP"
    return "\n".join([*(f"{key}={value}" for key, value in lines.items()), node, partition, ""])


@contextmanager
def _daemon(folder: Path, name: str, *command: str, environment: dict[str, str] | None = None) -> Iterator[None]:
    with (folder / f"{name}.log").open("wb") as log:
        dies_with_us = ("setpriv", "--pdeathsig", "KILL", *command)  # also if the tests are killed
        process = subprocess.Popen(dies_with_us, stdout=log, stderr=log, env=environment, start_new_session=True)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _state(slurm: Slurm) -> str:
    done = subprocess.run(
        ["sinfo", "--noheader", "--format=%T"],
        env={**os.environ, "SLURM_CONF": slurm.conf},
        capture_output=True,
        text=True,
    )
    return done.stdout


def end_jobs(slurm: Slurm) -> None:
    left = slurm.jobs()
    if left:
        for how in (["--signal=KILL"], []):  # they may end meanwhile: that is no error
            command = ["scancel", "--quiet", *how, *left]
            subprocess.run(command, env={**os.environ, "SLURM_CONF": slurm.conf}, capture_output=True)
        until(lambda: not slurm.jobs(), why=slurm.logs)
