"""An S3 server on loopback, moto's, as a process of its own; and a cable to it that can be cut."""

from __future__ import annotations

import os
import re
import select
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

from tests.harness.studies import until

LOOPBACK = "127.0.0.1"
KEY, SECRET = "AKIACKRRTESTKEY", "ckrr/Only+Known/ToTheEnvironment"
_LINE = re.compile(r'"(GET|PUT|HEAD|DELETE|POST) (\S+) HTTP')
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind((LOOPBACK, 0))
        return int(one.getsockname()[1])


@dataclass(frozen=True)
class Server:
    """A bucket behind a real HTTP port."""

    port: int
    log: Path
    bucket: str = "bucket"

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def ask(self, method: str, path: str, data: bytes | None = None) -> bytes:
        plain = {"Content-Type": "text/plain"}
        with urlopen(Request(f"{self.endpoint}/{path}", data, plain, method=method), timeout=60) as answer:
            return bytes(answer.read())

    def check_signatures(self, on: bool) -> None:
        """moto takes everybody in, unless told."""
        self.ask("POST", "moto-api/reset-auth", b"0" if on else b"inf")

    def requests(self) -> list[tuple[str, str]]:
        """Methods and paths so far."""
        return _LINE.findall(_COLOUR.sub("", self.log.read_text(errors="replace")))

    @contextmanager
    def counted(self) -> Iterator[Counter[str]]:
        """How many requests of each method are made within."""
        before, counts = len(self.requests()), Counter[str]()
        yield counts
        counts.update(method for method, _ in self.requests()[before:])


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    server = Server(free_port(), folder / "moto.log")
    command = [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(server.port)]
    with server.log.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until(lambda: answers(server.port))
        server.ask("PUT", server.bucket)
        yield server
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    with closing(socket.socket()) as one:
        return one.connect_ex((LOOPBACK, port)) == 0


def environment(endpoint: str) -> Mapping[str, str]:
    """All that a process needs to reach the server, and nothing from the user's own files."""
    return {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


class Cable:
    """Carries bytes to a port, until it is cut."""

    def __init__(self, target: int) -> None:
        self.port, self._target = free_port(), target
        self._sockets: list[socket.socket] = []
        self.mend()

    def mend(self) -> None:
        """Connections are taken again, at the same port."""
        self._listening = socket.create_server((LOOPBACK, self.port))
        Thread(target=self._listen, args=(self._listening,), daemon=True).start()

    def cut(self) -> None:
        """Nobody listens, and connections break."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._sockets.clear()

    def _listen(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                ours, _ = listening.accept()
                Thread(target=self._carry, args=(ours,), daemon=True).start()

    def _carry(self, ours: socket.socket) -> None:
        with suppress(OSError, ValueError), ours, socket.create_connection((LOOPBACK, self._target)) as theirs:
            self._sockets += [ours, theirs]
            other = {ours: theirs, theirs: ours}
            while True:
                for one in select.select([ours, theirs], [], [])[0]:
                    data = one.recv(1 << 16)
                    if not data:
                        return
                    other[one].sendall(data)
