"""A dashboard that is asked for. In a file of its own: no cluster without one may be open beside it in one process."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

import cluster
from tests.cluster.listening import listening, ports, with_children
from tests.cluster.runtime.test_web import file_of


@pytest.mark.skipif(find_spec("bokeh") is None, reason="bokeh isn't installed")
def test_a_dashboard_that_is_asked_for_is_on_loopback_and_told(tmp_path: Path) -> None:
    notes: list[str] = []
    file = cluster.read(file_of(tmp_path, "dashboard = true"))
    before = ports(with_children([psutil.Process()]))
    with file.connect(cluster.StartOptions(2, 1e9, notes.append)) as client:
        client.wait_for_workers(2, timeout=60)
        ours = with_children([psutil.Process()])
        assert listening(ours) == {"127.0.0.1"}
        assert len(ports(ours) - before) == 6, "and that of the dashboard"
        (note,) = notes
        assert "no login" in note
        link = next(word for word in note.split() if word.startswith("http://127.0.0.1:"))
        with urlopen(link, timeout=30) as page:
            assert page.status == 200
