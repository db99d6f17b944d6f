"""Readers that aren't zarr-python find the same numbers: zarrita (JavaScript), tensorstore (C++) and zarrs (Rust)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from harness.core.schema.axes import CODES
from tests.harness.studies import contents, prepared, serially

ZARRITA = "0.7.5"
LABELS = ("procedure", "theta")


@pytest.fixture(scope="module", params=["plain", "sharded"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small study with strings, booleans, results at test points, and units that are chunks or shards."""
    where = tmp_path_factory.mktemp("store") / "toy.zarr"
    study = prepared(where, keep=["pointwise"])
    sharded = request.param == "sharded"
    groups = {n: replace(group, sharded=sharded) for n, group in study.manifest.groups.items()}
    serially(replace(study, manifest=replace(study.manifest, groups=groups)))
    return where


@pytest.fixture(scope="module")
def zarrita(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with zarrita and the script that reads a store with it."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm aren't installed")
    folder = tmp_path_factory.mktemp("zarrita")
    words = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), f"zarrita@{ZARRITA}"]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=folder)
    if done.returncode:
        pytest.skip(f"zarrita can't be installed: {done.stderr.strip()[-200:]}")
    shutil.copy(Path(__file__).with_name("read.mjs"), folder)
    return folder


class RangeHandler(SimpleHTTPRequestHandler):
    """Serve files, and the parts of shards that are asked for, as web servers and buckets do."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        path = Path(self.translate_path(self.path))
        if asked is None or not path.is_file():
            return super().do_GET()
        data = path.read_bytes()
        first, last = asked.groups()
        part = data[int(first) : int(last) + 1 if last else None] if first else data[-int(last) :]
        self.send_response(206)
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)
        return None

    def log_message(self, *_: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """A server that takes many connections at once: a reader asks for all chunks of an array together."""

    request_queue_size = 1024


@pytest.fixture(scope="module")
def served(store: Path) -> Iterator[str]:
    """The store as a plain web server offers it."""
    with Server(("127.0.0.1", 0), partial(RangeHandler, directory=str(store.parent))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{store.name}"
        server.shutdown()
        thread.join()


def read_with_zarrita(folder: Path, address: str) -> dict[str, Any]:
    done = subprocess.run(["node", "read.mjs", address], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def assert_same(store: Path, found: dict[str, Any]) -> None:
    meant = contents(store)
    assert found.keys() == meant.keys()
    for name, values in meant.items():
        assert found[name]["shape"] == list(values.shape)
        if name.rpartition("/")[2] in LABELS:
            assert found[name]["content"] == list(values), name
        else:
            assert found[name]["content"] == sha256(values.tobytes()).hexdigest(), name


def test_zarrita_reads_everything_from_files(store: Path, zarrita: Path) -> None:
    assert_same(store, read_with_zarrita(zarrita, str(store)))


def test_zarrita_reads_everything_over_http(store: Path, zarrita: Path, served: str) -> None:
    assert_same(store, read_with_zarrita(zarrita, served))


def test_tensorstore_reads_all_but_strings_and_finds_their_codes(store: Path) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    for name, values in contents(store).items():
        if name.rpartition("/")[2] in LABELS:
            continue
        there = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{store}/{name}/"}}
        found = tensorstore.open(there, read=True).result().read().result()
        assert found.tobytes() == values.tobytes(), name
    for code, axis in CODES.items():
        there = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{store}/{code}/"}}
        found = tensorstore.open(there, read=True).result()
        words = json.loads((store / code / "zarr.json").read_text())["attributes"]["flag_meanings"].split()
        assert [words[i] for i in found.read().result()] == list(contents(store)[axis])


def test_zarrs_reads_everything(store: Path, tmp_path: Path) -> None:
    """As the codecs of zarr-python: there is no other door to zarrs from Python."""
    pytest.importorskip("zarrs")
    code = (
        "import sys, zarr, zarrs, warnings, numpy as np\n"
        "zarr.config.set({'codec_pipeline.path': 'zarrs.ZarrsCodecPipeline'})\n"
        "warnings.simplefilter('ignore')\n"
        "members = zarr.open_group(sys.argv[1], mode='r').members(max_depth=None)\n"
        "found = {name: np.asarray(one[...]) for name, one in members if isinstance(one, zarr.Array)}\n"
        "np.savez(sys.argv[2], **{name: each.astype('U99') if each.dtype.kind == 'T' else each for name, each in "
        "found.items()})\n"
    )
    target = tmp_path / "found.npz"
    done = subprocess.run([sys.executable, "-c", code, str(store), str(target)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    meant = contents(store)
    with np.load(target) as found:
        assert {*found} == {*meant}
        for name, values in meant.items():
            same = found[name] == values if values.dtype.kind == "T" else found[name].tobytes() == values.tobytes()
            assert np.all(same), name
