"""Who is there, and where they listen: what is left of a cluster, as the operating system knows it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from time import monotonic, sleep

import psutil


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def until(condition: Callable[[], bool], seconds: float = 60.0, why: Callable[[], str] = lambda: "") -> None:
    """Waits for something to be true."""
    end = monotonic() + seconds
    while not condition():
        assert monotonic() < end, f"it takes too long {why()}"
        sleep(0.05)


def workers_of(scheduler: str) -> list[psutil.Process]:
    """Processes of Dask's command line that were started for a scheduler's address."""
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if scheduler in words and "distributed.cli.dask_worker" in words:
            found.append(process)
    return found


def with_children(processes: list[psutil.Process]) -> list[psutil.Process]:
    found = list(processes)
    for process in processes:
        try:
            found += process.children(recursive=True)
        except psutil.Error:
            continue
    return found


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that haven't ended (a zombie has)."""
    found = []
    for process in processes:
        try:
            found += [process] if process.is_running() and process.status() != psutil.STATUS_ZOMBIE else []
        except psutil.Error:
            continue
    return found


def ports(processes: list[psutil.Process]) -> set[int]:
    """The ports on which they listen."""
    found = set()
    for process in processes:
        try:
            found |= {int(one.laddr.port) for one in process.net_connections("inet") if one.status == "LISTEN"}
        except psutil.Error:
            continue
    return found


def answers_browsers(port: int, path: str = "/") -> bool:
    """Whether something on a port of this machine answers as a web server does."""
    with socket.create_connection(("127.0.0.1", port), 10) as one:
        one.settimeout(2)
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        try:
            return one.recv(64).startswith(b"HTTP/")
        except OSError:
            return False


def listening(processes: list[psutil.Process]) -> set[str]:
    """The addresses on which they listen."""
    found = set()
    for process in processes:
        try:
            found |= {str(one.laddr.ip) for one in process.net_connections("inet") if one.status == "LISTEN"}
        except psutil.Error:
            continue
    return found
