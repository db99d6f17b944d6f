"""The toy, slow where the environment says so: on workers, that is, while the serial loop stays quick."""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import sleep


from harness.nouns import Streams
from tests.harness.toy import Toy, ToyPath

PAUSE = "CKRR_TEST_PAUSE"


@dataclass(frozen=True)
class Slow(Toy):
    """Each path takes so many seconds."""

    def path(self, streams: Streams) -> ToyPath:
        sleep(float(os.environ.get(PAUSE, "0")))
        return super().path(streams)
