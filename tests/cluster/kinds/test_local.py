"""Workers on this machine, by a file: loopback alone, TLS, BLAS threads, and functions that make clusters."""

from __future__ import annotations

import numbers
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

import dask
import psutil
import pytest
from dask.utils import key_split
from distributed import Client, LocalCluster
from distributed.security import Security

import cluster
from cluster.runtime import supervise
from cluster.runtime.settings import _MEMORY_SETTINGS, EXPORTS
from cluster.runtime.worker_plugin import NICE, LowFootprintPlugin
from harness import UserError
from harness.backends.base import open_backend
from harness.execution import driver, prepare
from harness.execution.progress import SilentProgress
from harness.store.manifest_io import load_manifest
from tests.cluster.listening import listening, until, with_children
from tests.cluster.slow import THREADS
from tests.cluster.studies import planned, run, serial
from tests.harness.studies import ROOT, assert_identical, loaded


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_with_tls_on_loopback_alone(tmp_path: Path) -> None:
    file = cluster.read(write(tmp_path / "my.toml", 'kind = "local"\nworkers = 1\nmemory = "1 GB"\ntls = true\n'))
    with file.connect(cluster.StartOptions(1, 1e9)) as client:
        ours = with_children([psutil.Process()])
        assert listening(ours) == {"127.0.0.1"}
        address = client.scheduler.address
        assert address.startswith("tls://")
        with pytest.raises(OSError, match=r"(?i)tls|ssl|closed|timed out"):
            Client(address, timeout=2, security=Security.temporary(), set_as_default=False)


def test_a_worker_whose_nanny_has_ended_is_replaced(tmp_path: Path) -> None:
    """As nannies do whose worker dies while it starts."""
    file = cluster.read(write(tmp_path / "my.toml", 'kind = "local"\nworkers = 1\nmemory = "1 GB"\n'))
    with file.connect(cluster.StartOptions(1, 1e9)) as client:
        (before,) = client.nthreads()
        client.cluster.sync(client.cluster.workers[0].close)
        until(lambda: list(client.nthreads()) not in ([], [before]))
        assert list(client.run(_profiled).values()) == [False], "memory that grows with time, in the new one, too"


def test_a_scheduler_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask would keep something of every task, as long as another one is on its way."""
    monkeypatch.setattr(supervise, "_FORGET", 4.0)
    with cluster.local(1, 1e9) as client:
        endless = client.submit(sleep, 60)
        spans = client.cluster.scheduler.extensions["spans"].spans

        def kept() -> int:
            return sum(len(span.metadata["collections"]) for span in spans.values()) + key_split.cache_info().currsize

        for i in range(300):
            client.submit(len, str(i), key=f"one-{i}").release()
        until(lambda: kept() > 300)
        until(lambda: kept() < 50)
        endless.release()


def test_workers_are_modest() -> None:
    """They let the driver go first, also those that come later, and forget the names of tasks that have been."""
    with cluster.local(1, 1e9) as client:
        (before,) = client.nthreads()
        assert client.submit(os.nice, 0).result() == os.nice(0) + NICE
        client.cluster.sync(client.cluster.workers[0].close)
        until(lambda: list(client.nthreads()) not in ([], [before]))
        assert client.submit(os.nice, 0, pure=False).result() == os.nice(0) + NICE
        client.register_plugin(LowFootprintPlugin(every=2.0))
        for i in range(300):
            client.submit(len, str(i), key=f"one-{i}").release()
        until(lambda: _names_kept(client) > 100)
        until(lambda: _names_kept(client) < 50)


def _names_kept(client: Client) -> int:
    (count,) = client.run(lambda: key_split.cache_info().currsize).values()
    return int(count)


def _profiled() -> bool:
    return bool(dask.config.get("distributed.worker.profile.enabled"))


def test_workers_elsewhere_get_the_same_settings() -> None:
    """Through the shells that start them: Dask reads its settings from variables of the environment."""
    environment = dict(line.removeprefix("export ").split("=") for line in EXPORTS)
    told = dask.config.collect(paths=[], env=environment)
    assert [dask.config.get(key, config=told) for key in _MEMORY_SETTINGS] == list(_MEMORY_SETTINGS.values())


ELSEWHERE = """
import os
from cluster import local

with local(1, 1e9) as client:
    ((pid, path),) = client.run(lambda: (os.getppid(), __import__("numbers").__file__)).values()
    print(pid == os.getpid(), path)
"""


@pytest.mark.parametrize("long", [False, True])
def test_workers_do_not_import_what_lies_around(long: bool, tmp_path: Path) -> None:
    """As the driver doesn't. Where there is no place for the socket of what they are forked from, they are spawned."""
    (tmp_path / "numbers.py").write_text("raise ValueError")
    with TemporaryDirectory(dir="/tmp", suffix="long" * 30 * long) as temporary:  # that of a test may be long already
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": temporary}
        command = [sys.executable, "-P", "-c", ELSEWHERE]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split() == [str(long), numbers.__file__]
        assert done.stderr == ""
        assert list(Path(temporary).rglob("pymp-*")) == []


KILLED = """
import os
from pathlib import Path
from cluster import local

with local(1, 1e9) as client:
    print(len(list(Path(os.environ["TMPDIR"]).rglob("pymp-*"))), flush=True)
    os.kill(os.getpid(), 9)
"""


def test_killed_a_driver_leaves_no_socket_behind() -> None:
    """What its workers were forked from removes it when all of them are gone."""
    with TemporaryDirectory(dir="/tmp") as temporary:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": temporary}
        done = subprocess.run([sys.executable, "-c", KILLED], env=environment, stdout=subprocess.PIPE, text=True)
        assert done.stdout.split() == ["1"]
        until(lambda: not list(Path(temporary).rglob("pymp-*")))


GONE = """
import os
from cluster import local

for value in ("one", "two", None):
    os.environ.pop("CKRR_TEST", None)
    os.environ.update({} if value is None else {"CKRR_TEST": value})
    with local(1, 1e9) as client:
        print(*client.run(lambda: (os.environ.get("CKRR_TEST"), os.environ.get("PYTHONSAFEPATH"))).values())
"""


def test_a_variable_that_is_gone_is_gone() -> None:
    """Those whose values are new are passed on; the path of modules that a server needs isn't."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", GONE], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["('one', '')", "('two', '')", "(None, '')"]


def test_workers_have_the_environment_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are forked from a process that may be older."""
    found = []
    for value in ("one", "two"):
        monkeypatch.setenv("CKRR_TEST_NOW", value)
        with cluster.local(1, 1e9) as client:
            found += client.run(os.environ.get, "CKRR_TEST_NOW").values()
    assert found == ["one", "two"]


def test_blas_threads_reach_workers_plan_and_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of two threads is refused for one, and the message says what to do."""
    file, store = write(tmp_path / "my.toml", 'kind = "local"\nworkers = 1\nthreads = 2\n'), tmp_path / "one.zarr"
    study = {"source__function": "tests.cluster.slow:Watching"}
    monkeypatch.setenv(THREADS, str(tmp_path / "threads"))
    prepared = planned(file, store, **study)
    (tmp_path / "threads").write_text("")  # the driver looks at a sample, too
    driver.run_prepared(prepared, SilentProgress())
    units = len(prepared.plan.units)
    record = load_manifest(open_backend(str(store)))
    assert record is not None
    assert record.fingerprint["blas_threads"] == 2
    assert (tmp_path / "threads").read_text().split() == ["2"] * units
    with pytest.raises(UserError, match=r"threads of a worker was 2 and is 1 \(threads = 2 in a cluster file\)"):
        prepare.prepare(loaded(**study), str(store), workers=1)


def test_a_plan_says_what_workers_need(tmp_path: Path) -> None:
    from harness.execution.facts import plan_to_dict
    from harness.planning.plan import check_fits
    from harness.planning.plan_text import format_plan

    options = 'kind = "slurm"\njobs = 50\ncores = 2\nmemory = "2 GB"\nwalltime = "01:00:00"\ninterface = "lo"\n'
    file = write(tmp_path / "slurm.toml", options)
    text = format_plan(plan_to_dict(planned(file, tmp_path / "one.zarr")))
    assert re.search(rf"a worker of {file} has 1.0 GB of memory, 35\d MB are needed", text)
    assert "a worker lives for 45 min 0 s, a unit takes up to 0." in text
    assert "of 100 workers are enough" in text
    assert "BLAS threads" not in text
    threaded = planned(write(file, f"{options}threads = 2\n"), tmp_path / "one.zarr")
    assert "each worker has 2 BLAS threads, which the store is tied to" in format_plan(plan_to_dict(threaded))
    slow = planned(write(file, options.replace("01:00:00", "1")), tmp_path / "one.zarr", speed=1e3)
    with pytest.raises(UserError, match=r"a unit at n = 10 takes about \d+ s, and workers live for \d+ s: give them"):
        check_fits(slow.plan, slow.machine, "toy.toml")
    small = planned(write(file, options.replace("2 GB", "200 MB")), tmp_path / "one.zarr")
    with pytest.raises(UserError, match=r"needs 0.4 GB per worker, 0.1 GB are available"):
        check_fits(small.plan, small.machine, "toy.toml")


@cluster.cluster_function
def made(workers: int) -> LocalCluster:
    return LocalCluster(n_workers=workers, processes=False, threads_per_worker=1, dashboard_address="127.0.0.1:0")


@cluster.cluster_function
def strange(**options: object) -> object:
    return options


def unmarked(x: int) -> object:
    raise AssertionError("it is not called")


@cluster.cluster_function
class Marked:
    def __init__(self, x: int) -> None:
        raise AssertionError("it is not made")


class Child(Marked):
    pass


class Faked(LocalCluster):
    """A class of clusters needs no mark."""

    def __init__(self, x: int) -> None:
        raise RuntimeError("it is made")


def test_a_function_that_makes_a_cluster(tmp_path: Path) -> None:
    file = write(tmp_path / "my.toml", f'kind = "{__name__}:made"\nworkers = 2\n[plan]\nworkers = 2\n')
    run(file, tmp_path / "one.zarr")
    assert_identical(tmp_path / "one.zarr", serial(tmp_path / "serial.zarr"))


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (f"{__name__}:strange", "which must return a cluster or a client, got dict"),
        (f"{__name__}:nothing", "names 'nothing', which"),
        ("no_such_module:make", "names 'no_such_module', which can't be imported"),
        (f"{__name__}:made", r"which can't make a cluster: TypeError: made\(\) got an unexpected keyword"),
        (f"{__name__}:Faked", r"which can't make a cluster: RuntimeError: it is made"),
        (f"{__name__}:unmarked", r"which is not called: .*; put the line `@cluster.cluster_function` above its def"),
        (f"{__name__}:Child", r"which is not called: it is not marked as a function that makes a cluster"),
        ("unittest.mock:call", "which is not called"),
        ("os:path", "which is not called"),
    ],
)
def test_functions_that_make_none_are_told(kind: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=told):
        run(write(tmp_path / "my.toml", f'kind = "{kind}"\nx = 1\n'), tmp_path / "one.zarr")


def test_os_system_is_not_called(tmp_path: Path) -> None:
    file = write(tmp_path / "my.toml", f'kind = "os:system"\ncommand = "touch {tmp_path}/canary"\n')
    with pytest.raises(UserError, match=r"kind names 'os:system', which is not called: it is not marked as a function"):
        run(file, tmp_path / "one.zarr")
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("text", ["raise SystemExit(0)", "raise RuntimeError", "import no_such_module"])
def test_a_module_that_does_not_import_is_told(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_cluster.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match="kind names 'broken_cluster', which can't be imported: "):
        run(write(tmp_path / "my.toml", 'kind = "broken_cluster:make"\n'), tmp_path / "one.zarr")
