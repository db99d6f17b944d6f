"""Cluster files: every mistake is told with file and key, and nothing in them is executed by reading."""

from __future__ import annotations

import os
import sys
import tomllib
from math import inf
from pathlib import Path

import pytest

import cluster
from cluster.config.units import parse_walltime
from cluster.kinds.custom import PlanTable
from cluster.kinds.slurm import Slurm
from cluster.load import KINDS
from harness import UserError
from harness.execution.clusters import read_file

EXAMPLES = sorted(Path(cluster.__file__).parent.glob("*.toml"))
SLURM = 'kind = "slurm"\njobs = 4\nmemory = "8 GB"\nwalltime = "01:00:00"\ninterface = "lo"\n'
SSH = 'kind = "ssh"\nmemory = "1 GB"\n'


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_good(path: Path) -> None:
    file = cluster.read(path)
    assert file.kind == path.stem or path.stem == "other"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_examples_leave_out_is_good_too(path: Path) -> None:
    """Each line that is commented out could be said."""
    for line in path.read_text().splitlines():
        text = line.removeprefix("# ")
        if line.startswith("# ") and " = " in text.split("#")[0]:
            key = next(iter(tomllib.loads(text)))
            fields = PlanTable.model_fields if path.stem == "other" else KINDS[path.stem].model_fields
            assert key in fields


def test_there_is_an_example_of_each_kind() -> None:
    assert {path.stem for path in EXAMPLES} == {*KINDS, "other"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "kind is missing"),
        ("seed = 1\n[grid]\nn = 25", "is a scenario, not a cluster file: `ckrr run "),
        (
            'kind = "lokal"',
            f"kind must be one of {', '.join(KINDS)} or 'module:function' (did you mean 'local'?)",
        ),
        ("kind = 3", "kind must be a string, got 3"),
        ('kind = "local"\nworker = 2', "worker is unknown (did you mean 'workers'?); known here: kind, threads"),
        ('kind = "local"\nworkers = 0', "workers must be >= 1, got 0"),
        ('kind = "local"\nworkers = true', "workers must be a whole number, got True"),
        ('kind = "local"\nmemory = "much"', "memory must be a size like \"4 GB\", got 'much'"),
        ('kind = "local"\nmemory = 4', 'memory must be a size like "4 GB", got 4'),
        ('kind = "local"\nversions = "old"', "versions must be 'same' or 'any', got 'old'"),
        ('kind = "local"\ntls_cert = "a"', "tls_ca_file is missing: the three belong together"),
        ('kind = "address"', "must have either address or scheduler_file, not both and not neither"),
        ('kind = "address"\naddress = "host"', 'address must be like "tcp://host:8786" or "tls://host:8786", got'),
        ('kind = "address"\naddress = "tls://host:1"', "tls_ca_file, tls_cert and tls_key are missing"),
        (f'{SSH}hosts = ["far.example.org"]', "interface is missing: far.example.org must reach the scheduler here"),
        (f"{SSH}hosts = []", "hosts must have at least 1 value, got []"),
        (SLURM.replace('interface = "lo"', ""), "interface is missing"),
        (SLURM.replace("01:00:00", "an hour"), 'walltime must be a time like "01:30:00", "2-12" (days-hours) or "90"'),
        (f'{SLURM}lifetime = "long"', "lifetime must be a time like \"50 min\", got 'long'"),
        ('kind = "a:b"\n[plan]\nworkers = -1', "plan.workers must be >= 1, got -1"),
        ("kind = ", "is not TOML"),
    ],
)
def test_mistakes_are_told_with_file_and_key(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read_file(path)
    assert f"{path}: {told}" in str(caught.value)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text('kind = "slurm"\njobs = 0\nmemory = "x"\nwalltime = "1:00"\nque = "a"\n')
    with pytest.raises(UserError) as caught:
        read_file(tmp_path / "my.toml")
    assert len(str(caught.value).splitlines()) == 4


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"^nowhere.toml: can't be read: No such file"):
        read_file("nowhere.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"#" * 20_000, "has more than 16 kB"),
        ("é".encode() * 8193, "has more than 16 kB"),
        (b"\xff", "is not text in UTF-8 (byte 0)"),
        (b"a = " + b"[" * 8000, "is nested too deeply"),
        (b'kind = "local"\nworkers = ' + b"9" * 5000, "has a whole number of more than 64 bits"),
        (b'kind = "local"\nworkers = -1\nmemory = 0x' + b"f" * 5000, "memory must be a size like"),
        (SLURM.replace("01:00:00", "9" * 4000).encode(), "has a size or a time that is too large"),
    ],
)
def test_a_file_from_a_stranger_is_bounded(text: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_bytes(text)
    with pytest.raises(UserError) as caught:
        read_file(tmp_path / "my.toml")
    assert f"my.toml: {told}" in str(caught.value)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """Without waiting for whoever might write into a FIFO."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path in (tmp_path / "fifo", tmp_path / "link", Path("/dev/zero")):
        with pytest.raises(UserError, match="can't be read: it is no regular file"):
            read_file(path)
    with pytest.raises(UserError, match="can't be read: Is a directory"):
        read_file(tmp_path)


def test_a_kept_text_is_bounded_too(tmp_path: Path) -> None:
    """It comes from a store, which may be a stranger's."""
    for text in ("#" * 20_000, "\ud800" * 20_000):
        with pytest.raises(cluster.ClusterFileError, match="has more than 16 kB"):
            cluster.parse(text, "my.toml", tmp_path)
    with pytest.raises(cluster.ClusterFileError, match="is not TOML"):
        cluster.parse("\ud800", "my.toml", tmp_path)


def test_many_mistakes_are_counted(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text('kind = "local"\n' + "\n".join(f"k{i} = 1" for i in range(1500)))
    with pytest.raises(UserError) as caught:
        read_file(tmp_path / "my.toml")
    lines = str(caught.value).splitlines()
    assert (len(lines), lines[-1]) == (21, f"{tmp_path / 'my.toml'}: … and 1480 more mistakes")


def test_a_file_and_workers_are_two_ways_to_say_it(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text('kind = "local"')
    with pytest.raises(UserError, match="exclude each other"):
        read_file(tmp_path / "my.toml", workers=2)


def test_reading_executes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even to plan with it: a function is imported when a run starts."""
    (tmp_path / "bomb.py").write_text("raise SystemExit")
    (tmp_path / "my.toml").write_text('kind = "bomb:make"\nx = 1\n[plan]\nworkers = 7\n')
    monkeypatch.syspath_prepend(tmp_path)
    file = cluster.read(tmp_path / "my.toml")
    assert file.get_size() == cluster.Size(7, inf)
    assert "bomb" not in sys.modules


@pytest.mark.parametrize("text", ["1", "5", "01:00:00", "10:00", "2-00", "7-12:30:00"])
def test_workers_retire_before_slurm_ends_their_job(text: str) -> None:
    options = {"kind": "slurm", "jobs": 3, "cores": 4, "memory": "8 GB", "interface": "lo"}
    file = Slurm.model_validate({**options, "walltime": text})
    life, stagger = file.life
    seconds = parse_walltime(text)
    assert life + stagger <= seconds - min(15, seconds / 4), "there is time for the job to start and end"
    size = file.get_size()
    assert (size.workers, size.memory, size.lifetime) == (12, 2e9, life - stagger)
    assert 0.5 * seconds < size.lifetime or seconds < 120


def test_threads_share_the_cores_of_a_job() -> None:
    options = {"kind": "slurm", "jobs": 3, "cores": 8, "memory": "8 GB", "interface": "lo", "walltime": "60"}
    size = Slurm.model_validate({**options, "threads": 4}).get_size()
    assert (size.workers, size.memory, size.threads) == (6, 4e9, 4)
