"""Run a driver as a Slurm job, followed by another job if it is ended before it has finished.

Every driver queues its follower when it starts. The follower begins when the driver's job has ended for whatever
reason: its walltime is over, its node fails, or it is killed. A driver that has finished cancels its follower.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Sequence
from hashlib import sha256

from harness.backends.address import is_url
from harness.core.errors import UserError
from harness.submit.submission import JOB, Submission

_PATIENCE = 30.0
"""Seconds to wait for a Slurm command."""


def get_current_job() -> str | None:
    """Return the number of the Slurm job that this process runs in; None outside Slurm."""
    return os.environ.get("SLURM_JOB_ID")


def start(script: str) -> str:
    """Submit a job script to Slurm, and return the job's number."""
    return _run_command(["sbatch", "--parsable"], script).strip().split(";")[0]


def is_job(one: Submission) -> bool:
    """Return whether a driver was submitted as a Slurm job: its handle has the job script then."""
    return "script" in one.handle


def submit_follower(one: Submission, note: Callable[[str], None]) -> str | None:
    """Queue a job that starts when the job of this process has ended, and return its number.

    Returns
    -------
    str or None
        None if the driver was not submitted as a job, or if Slurm rejects the follower; `note` gets the reason.
    """
    job = get_current_job()
    if job is None or not is_job(one):
        return None
    try:
        queued = _run_command(["sbatch", "--parsable", f"--dependency=afterany:{job}"], one.handle["script"])
        return queued.strip().split(";")[0]
    except UserError as mistake:
        note(f"no job can follow this one: {mistake}")
        return None


def make_comment(url: str) -> str:
    """Return the comment that marks a driver's job as belonging to a store."""
    where = url if is_url(url) else os.path.realpath(url)
    return f"ckrr-store-{sha256(where.encode()).hexdigest()[:16]}"


def list_jobs(name: str) -> dict[str, str]:
    """Return this user's waiting and running jobs of a name, as a dictionary of job numbers and comments."""
    lines = _run_command(["squeue", "--me", "--noheader", f"--name={name}", "--format=%i %k"]).splitlines()
    found = (line.strip().partition(" ") for line in lines if line.strip())
    return {job: said.strip() for job, _, said in found if re.fullmatch(JOB, job)}


def cancel_job(job: str | None) -> None:
    """Cancel a job; do nothing if it is None or has ended."""
    if job is not None:
        if re.fullmatch(JOB, job) is None:
            raise UserError(f"{job!r} is not a Slurm job number: it must be 1 to 12 digits")
        subprocess.run(["scancel", job], check=False, capture_output=True, timeout=_PATIENCE)


def make_script(
    name: str,
    comment: str,
    folder: str,
    command: Sequence[str],
    directives: Sequence[str],
    prologue: Sequence[str],
) -> str:
    r"""Return a job script that runs a command.

    Parameters
    ----------
    name, comment : str
        Name and comment of the job.
    folder : str
        Its working directory.
    command : sequence of str
        The command, unquoted.
    directives : sequence of str
        Further options of `sbatch`.
    prologue : sequence of str
        Shell lines to run before the command.

    Examples
    --------
    >>> rest = ["/home/me", ["python", "-m", "x"], ["--time=01:00:00"], ["module load python"]]
    >>> print(make_script("ckrr-1", "ckrr-store-0", *rest))
    #!/bin/sh
    #SBATCH --job-name=ckrr-1
    #SBATCH --comment=ckrr-store-0
    #SBATCH --chdir=/home/me
    #SBATCH --no-requeue
    #SBATCH --time=01:00:00
    module load python
    exec python -m x
    """
    told = [f"--job-name={name}", f"--comment={comment}", f"--chdir={folder}", "--no-requeue", *directives]
    return "\n".join(["#!/bin/sh", *(f"#SBATCH {one}" for one in told), *prologue, f"exec {shlex.join(command)}", ""])


def _run_command(command: list[str], text: str | None = None) -> str:
    try:
        done = subprocess.run(command, input=text or "", capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except FileNotFoundError:
        raise UserError(f"{command[0]} is not installed here: use a machine that has the Slurm commands") from None
    except subprocess.TimeoutExpired:
        raise UserError(f"{command[0]} didn't answer for {_PATIENCE:.0f} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise UserError(f"{command[0]} failed: {lines[-1].removeprefix(f'{command[0]}: ')}")  # the last has the reason
    return done.stdout
