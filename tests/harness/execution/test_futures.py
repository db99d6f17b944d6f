"""Results that can't be fetched are fetched again: through a proxy that cuts connections, as a network does."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from time import sleep

import pytest
from distributed import Client, LocalCluster

from harness.core.errors import ClusterError
from harness.core.types import Limits, Unit
from harness.execution.on_dask import executor
from tests.harness.studies import until


class Proxy:
    """Between a client and its scheduler. While it is `shut` only the oldest connection gets through: the stream."""

    def __init__(self, target: str) -> None:
        host, port = target.removeprefix("tcp://").split(":")
        self._target, self._pairs = (host, int(port)), list[tuple[socket.socket, socket.socket]]()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self.shut, self.refused = False, 0
        Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """All connections but the oldest, for now."""
        self.shut = True
        for pair in self._pairs[1:]:
            _close(*pair)

    def close(self) -> None:
        _close(self._listener)
        for pair in self._pairs:
            _close(*pair)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self.shut:
                    self.refused += 1
                    near.close()
                    continue
                far = socket.create_connection(self._target)
                self._pairs.append((near, far))
                for one, other in ((near, far), (far, near)):
                    Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(1 << 16):
            other.sendall(data)
    _close(one, other)


def _close(*some: socket.socket) -> None:
    for one in some:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    here = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, **here) as cluster:
        yield cluster.scheduler_address


@contextmanager
def reached(scheduler: str) -> Iterator[tuple[Client, Proxy]]:
    proxy = Proxy(scheduler)
    try:
        with Client(proxy.address, timeout=60, set_as_default=False) as client:
            yield client, proxy
    finally:
        proxy.close()


def jobs(count: int) -> list[tuple[Unit, Limits]]:
    return [(Unit(10, i, 0, range(i, i + 1), range(1)), Limits()) for i in range(count)]


_begun: list[str] = []


def work(url: str, version: str, generation: int, unit: Unit, care: Limits) -> dict[str, str]:
    _begun.append(unit.name)
    sleep(0.3)
    return {"name": unit.name}


def test_a_result_that_could_not_be_fetched_is_fetched_again(scheduler: str, capfd: pytest.CaptureFixture[str]) -> None:
    """And not computed again."""
    _begun.clear()
    with reached(scheduler) as (client, proxy):

        def strike() -> None:
            until(lambda: len(_begun) > 0)
            proxy.cut()
            until(lambda: proxy.refused > 1)
            proxy.shut = False

        striker = Thread(target=strike)
        striker.start()
        results = list(executor.run_dask(client, work, ("", "v", 0), jobs(4)))
        striker.join()
    assert proxy.refused > 1, "nothing was cut"
    assert sorted(one["name"] for one in results) == sorted(_begun)
    assert len(_begun) == 4
    assert "Traceback" not in capfd.readouterr().err


def refuse(url: str, version: str, generation: int, unit: Unit, care: Limits) -> dict[str, str]:
    _begun.append(unit.name)
    raise ConnectionError("of the work")


def test_an_error_of_the_work_is_none_of_the_connection(scheduler: str) -> None:
    _begun.clear()
    with (
        reached(scheduler) as (client, _),
        pytest.raises(ClusterError, match="failed 3 times: ConnectionError: of the work"),
    ):
        list(executor.run_dask(client, refuse, ("", "v", 1), jobs(1)))
    assert len(_begun) == executor.ATTEMPTS
