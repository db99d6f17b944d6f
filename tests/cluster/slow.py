"""The toy, slow where the environment says so: on workers, that is, while the serial loop stays quick."""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import sleep

from threadpoolctl import threadpool_info

from harness.core.types import Streams
from tests.harness.toy import Toy, ToyPath

PAUSE, THREADS = "CKRR_TEST_PAUSE", "CKRR_TEST_THREADS"


@dataclass(frozen=True)
class Slow(Toy):
    """Each path takes so many seconds."""

    def path(self, streams: Streams) -> ToyPath:
        sleep(float(os.environ.get(PAUSE, "0")))
        return super().path(streams)


@dataclass(frozen=True)
class Watching(Toy):
    """It writes down how many BLAS threads it is computed with."""

    def path(self, streams: Streams) -> ToyPath:
        if THREADS in os.environ:
            found = {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}
            with open(os.environ[THREADS], "a") as file:
                file.write(f"{max(found)}\n")
        return super().path(streams)
