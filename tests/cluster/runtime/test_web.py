"""Who may talk to a cluster that we start: nobody without its certificate, and no browser unless it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dask
import psutil
import pytest
from distributed import Client
from distributed.security import Security

import cluster
from cluster.runtime import scheduler
from cluster.runtime.settings import make_no_web_settings
from harness import UserError
from harness.execution import clusters
from tests.cluster.listening import answers_browsers, ports, with_children
from tests.cluster.studies import Noted, run

PATHS = ("/", "/status", "/health", "/metrics", "/sitemap.json", "/info/main/workers.html", "/statics/css/base.css")


def file_of(folder: Path, *lines: str) -> Path:
    path = folder / "my.toml"
    path.write_text("\n".join(['kind = "local"', "workers = 2", *lines]))
    return path


@pytest.mark.parametrize("lines", [(), ("tls = true",), ("tls = false",)])
def test_tls_is_on_unless_a_file_says_no(lines: tuple[str, ...], tmp_path: Path) -> None:
    with cluster.read(file_of(tmp_path, *lines)).connect(cluster.StartOptions(1, 1e9)) as client:
        address = client.scheduler.address
        assert address.startswith("tcp://" if "tls = false" in lines else "tls://")
        assert all(each.startswith(address[:6]) for each in client.nthreads())


def test_without_a_certificate_nobody_can_talk_to_the_default_cluster() -> None:
    with cluster.local(1, 1e9) as client:
        ours = ports(with_children([psutil.Process()]))
        assert len(ours) >= 3, "a scheduler, a nanny, a worker"
        address = client.scheduler.address
        for where, secure in ((address, Security.temporary()), (address.replace("tls", "tcp"), None)):
            with pytest.raises(OSError, match=r"(?i)tls|ssl|closed|timed out"):
                Client(where, timeout=2, security=secure, set_as_default=False)


@pytest.fixture(scope="module")
def web_ports() -> Iterator[set[int]]:
    """Those of a cluster without TLS, which would hide that there is a web server."""
    before = ports(with_children([psutil.Process()]))
    with cluster.local(2, 1e9, cluster.Local(tls=False)) as client:
        client.wait_for_workers(2, timeout=60)
        yield ports(with_children([psutil.Process()])) - before


def test_there_is_no_port_but_those_of_dask_s_own_protocol(web_ports: set[int]) -> None:
    assert len(web_ports) == 5, "a scheduler, two nannies, two workers"


@pytest.mark.parametrize("path", PATHS)
def test_no_port_answers_a_browser(path: str, web_ports: set[int]) -> None:
    assert [port for port in web_ports if answers_browsers(port, path)] == []


def test_modules_that_the_user_loads_into_dask_are_loaded_too() -> None:
    with dask.config.set({"distributed.worker.preload": ["theirs"]}):
        assert make_no_web_settings("worker")["distributed.worker.preload"] == [
            "theirs",
            "cluster.runtime.close_web_server",
        ]


@pytest.mark.parametrize("kind", ["local", "ssh", "slurm"])
def test_a_dashboard_without_bokeh_is_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "find_spec", lambda name: None)
    lines = {
        "local": "",
        "ssh": 'hosts = ["localhost"]\nmemory = "1 GB"',
        "slurm": 'jobs = 1\nmemory = "1 GB"\nwalltime = "5"\ninterface = "lo"\npython = "python"',
    }
    path = tmp_path / "my.toml"
    path.write_text(f'kind = "{kind}"\ndashboard = true\n{lines[kind]}')
    file = clusters.read_file(path)
    assert file is not None
    for refused in (lambda: clusters.check_installed(file), lambda: run(path, tmp_path / "one.zarr")):
        with pytest.raises(
            UserError, match=r"^.*my.toml: dashboard = true needs bokeh: pip install 'ckrr\[dashboard\]'$"
        ):
            refused()


def test_a_running_scheduler_has_its_own_dashboard(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text('kind = "address"\naddress = "tcp://127.0.0.1:1"\ndashboard = true')
    with pytest.raises(UserError, match="dashboard is unknown"):
        clusters.read_file(tmp_path / "my.toml")


def test_nothing_is_noted_without_a_dashboard() -> None:
    progress = Noted()
    with cluster.local(1, 1e9, note=progress.note):
        assert progress.notes == []
