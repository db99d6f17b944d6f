"""A source is tried before any work starts, outside the study."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from harness.core.errors import UserError
from harness.core.protocols import Streams
from harness.core.seeds import Seeds
from harness.core.types import Extent
from harness.scenario.probe import check_source
from tests.harness.plans import GRID
from tests.harness.toy import Toy


@dataclass(frozen=True)
class Broken(Toy):
    """It fails on every path, and writes down which."""

    seen: list[bytes] = field(default_factory=list)

    def path(self, streams: Streams) -> Any:
        self.seen.append(streams("level").bytes(16))
        raise ValueError("no such path")


def test_no_path_of_the_study_is_tried() -> None:
    """A path that ends its process would end the driver."""
    source, seeds = Broken(), Seeds.from_source(1, {})
    with pytest.raises(UserError, match=r"my.toml: source can't draw a sample of n = 10: ValueError: no such path"):
        check_source(source, seeds, Extent(GRID, 7, 1), "my.toml")
    assert source.seen == [seeds.make_path_streams(path)("level").bytes(16) for path in range(7, 12)]
