"""Hostile stores, and a loop that opens each of them with every command that takes a store.

Each is a small sound store that was changed, in a folder of its own: `canary` is what code would touch, `secret` is
what nobody may read, `outside` is where nothing may be written. Run as a script, the module makes all of them and
prints what came of each command as JSON.
"""

from __future__ import annotations

import gc
import io
import json
import os
import platform
import resource
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.hostile.trial import Outcome, attempt, command

CANARY, SECRET, OUTSIDE, STORE = "canary", "secret", "outside", "x.zarr"
WORD = "TOP-SECRET-d41d8cd9"
"""What stands in the secret."""
ROOT, COPY = "zarr.json", "manifest.json"
N = 10
VARIABLE = f"replications/n={N}/coverage"
CHUNK = f"{VARIABLE}/c.0.0.0.0.0.0.0"
ESCAPES = "\x1b]0;title\x07\x1b[2J\x9b31m\u202eevil\r\nerror: a line of my own"
MARKUP = "</script><script>datum['x'].y</script>"

COMMANDS: Mapping[str, list[str]] = {
    "status": ["status", STORE],
    "status --json": ["status", STORE, "--json"],
    "status --precision": ["status", STORE, "--precision", "0.01"],
    "table": ["table", STORE],
    "table width": ["table", STORE, "--measure", "width,verdict,failed"],
    "figure": ["figure", STORE, "coverage", "-o", "out/figure.svg"],
    "figure seconds": ["figure", STORE, "seconds", "-o", "out/seconds.svg"],
    "report": ["report", STORE, "-o", "out/report.html", "--drawn", "0"],
    "check": ["check", STORE, "--junit", "out/check.xml"],
    "check --json": ["check", STORE, "--json"],
    "export": ["export", STORE, "out/cube.nc"],
    "export --replications": ["export", STORE, "out/rows.csv", "--replications"],
    "errors": ["errors", STORE],
    "logs": ["logs", STORE, "--workers"],
    "replay": ["replay", STORE, "--n", str(N), "--path", "0"],
    "merge": ["merge", STORE, "-o", "out/merged.zarr"],
    "plan": ["plan", "good.toml", "--store", STORE],
    "cancel": ["cancel", STORE],
    "status --verify": ["status", STORE, "--verify"],
}
"""Every command that takes a store; the one that may write to it comes last."""
ALWAYS = ("status", "table", "status --verify")
"""Those that every store is opened with; of the others, unless all are asked for, three in turn."""


@dataclass(frozen=True)
class Case:
    """A hostile store."""

    make: Callable[[Path], None]
    """Changes the store in a folder."""
    refused: bool = True
    """Whether every command that reads what was changed must refuse it; otherwise the usual answer will do."""


# Ways to change a store


def root(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / STORE / ROOT).read_text()))


def save(folder: Path, plain: Mapping[str, Any]) -> None:
    """The root and its copy: whoever makes a store has both in hand."""
    (folder / STORE / ROOT).write_text(json.dumps(plain))
    (folder / STORE / COPY).write_text(json.dumps({"attributes": plain["attributes"]}))


def attribute(name: str, value: object) -> Case:
    """With another attribute, as it stands in the root."""

    def make(folder: Path) -> None:
        plain = root(folder)
        if value is None:
            del plain["attributes"][name]
        else:
            plain["attributes"][name] = value
        save(folder, plain)

    return Case(make)


def part(name: str, change: Callable[[Any], Any], refused: bool = True) -> Case:
    """With a part of the manifest changed."""

    def make(folder: Path) -> None:
        plain = root(folder)
        stored = json.loads(plain["attributes"][name])
        new = change(stored)
        plain["attributes"][name] = json.dumps(stored if new is None else new)
        save(folder, plain)

    return Case(make, refused)


def put(*keys: object, value: object) -> Callable[[Any], None]:
    """A change deep in a part."""

    def change(plain: Any) -> None:
        for key in keys[:-1]:
            plain = plain[key]
        plain[keys[-1]] = value

    return change


def node(path: str, change: Callable[[dict[str, Any]], None]) -> Case:
    """With the metadata of an array changed, as the root has them."""

    def make(folder: Path) -> None:
        plain = root(folder)
        change(plain["consolidated_metadata"]["metadata"].setdefault(path, {}))
        save(folder, plain)
        own = folder / STORE / path / ROOT
        if own.exists():
            own.write_text(json.dumps(plain["consolidated_metadata"]["metadata"][path]))

    return Case(make)


def replaced(key: str, create: Callable[[Path, Path], None], refused: bool = True) -> Case:
    """With something else where a file or folder was; `create` gets its path and the folder of the case."""

    def make(folder: Path) -> None:
        path = folder / STORE / key
        if path.is_dir() and not path.is_symlink():
            shutil.move(path, folder / OUTSIDE / "moved")
        elif path.exists():
            path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        create(path, folder)

    return Case(make, refused)


def link(target: str) -> Callable[[Path, Path], None]:
    return lambda path, folder: path.symlink_to(target if target.startswith("/") else folder / target)


def fifo(path: Path, folder: Path) -> None:
    os.mkfifo(path)


def device(path: Path, folder: Path) -> None:
    if os.geteuid() == 0:
        os.mknod(path, 0o20666, os.makedev(1, 5))  # as /dev/zero
    else:
        path.symlink_to("/dev/zero")


def directory(path: Path, folder: Path) -> None:
    path.mkdir()


def sparse(size: int) -> Callable[[Path, Path], None]:
    def create(path: Path, folder: Path) -> None:
        with path.open("wb") as file:
            file.truncate(size)

    return create


def data(content: bytes | str) -> Callable[[Path, Path], None]:
    raw = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    return lambda path, folder: path.write_bytes(raw) and None


def without_copy(case: Case) -> Case:
    """The same, where the root's second copy is gone."""

    def make(folder: Path) -> None:
        case.make(folder)
        (folder / STORE / COPY).unlink(missing_ok=True)

    return Case(make, case.refused)


def bomb() -> bytes:
    """A zstd frame of 64 kB that becomes 2 GB of zeros, with its checksum: blocks of one byte, repeated (RFC 8878)."""
    import google_crc32c

    length, count = 1 << 17, 1 << 14
    header = b"\x28\xb5\x2f\xfd\xe0" + (length * count).to_bytes(8, "little")
    blocks = [(length << 3 | 1 << 1 | (i == count - 1)).to_bytes(3, "little") + b"\0" for i in range(count)]
    inner = header + b"".join(blocks)
    return inner + int(google_crc32c.value(inner)).to_bytes(4, "little")


def receipt(change: Callable[[dict[str, Any]], None] | bytes, name: str = "p0_d0.g0.a0.f1.json") -> Case:
    """With another receipt in place of the one at the first n."""

    def make(folder: Path) -> None:
        where = folder / STORE / "receipts" / f"n={N}"
        (old,) = where.iterdir()
        plain = json.loads(old.read_text())
        old.unlink()
        if isinstance(change, bytes):
            (where / name).write_bytes(change)
        else:
            change(plain)
            (where / name).write_text(json.dumps(plain))

    return Case(make, refused=False)


FAILURE = {"path": 0, "draw": 0, "gamma": 0.1, "theta": 10.0, "lam": 0.1, "kind": "ERROR", "message": "oh"}


def failing(**values: object) -> Case:
    """With a failure that says something strange."""
    return receipt(lambda plain: plain.update(failures=[{**FAILURE, **values}]))


def submitted(**values: object) -> Case:
    """With something that was handed over."""
    usual = {
        "id": "good-01234567",
        "scenario": {"name": "good"},
        "where": "good.toml",
        "files": [],
        "cluster": None,
        "workers": None,
        "retry": False,
        "folder": "/",
        "host": "there",
        "submitted": "2026-01-01T00:00:00+00:00",
        "command": "ckrr submit",
        "how": "process",
    }

    def make(folder: Path) -> None:
        where = folder / STORE / "submission"
        where.mkdir()
        (where / "submission.json").write_text(json.dumps({**usual, **values}))
        (where / "driver.log").write_text("a line\n")

    return Case(make, refused=False)


def several(*cases: Case, refused: bool = False) -> Case:
    def make(folder: Path) -> None:
        for each in cases:
            each.make(folder)

    return Case(make, refused)


def names_files(name: str) -> Case:
    """A manifest whose source needs a file of this name."""
    hashed = "0" * 64
    return several(
        part("fingerprint", put("files", value={name: hashed})),
        part("scenario", put("source", value={"function": f"{name}:source", "test_points": 21})),
        refused=True,
    )


def names(**values: list[Any]) -> Case:
    """A store with other values of an axis, wherever its manifest has them."""
    axes = values.items()
    grids = [part("scenario", put("grid", axis, value=some)) for axis, some in axes]
    families = [part("families", put("krr", "procedures", value=some)) for axis, some in axes if axis == "procedure"]
    return several(*grids, *families, *(part("extents", put(0, "grid", axis, value=some)) for axis, some in axes))


def brings(text: str) -> Case:
    """A store with a source of its own: nothing of it may run."""

    def make(folder: Path) -> None:
        from harness.parsing.hashing import hash_file

        raw = text.replace("FOLDER", str(folder)).encode()
        where = folder / STORE / "files"
        where.mkdir()
        (where / "mine.py").write_bytes(raw)
        part("fingerprint", put("files", value={"mine.py": hash_file(raw)})).make(folder)
        part("scenario", put("source", "function", value="mine.py:source")).make(folder)

    return Case(make, refused=False)


def deep(depth: int) -> str:
    return "[" * depth + "]" * depth


PAYLOAD = "from pathlib import Path\nPath('FOLDER/canary').touch()\n"
PICKLE = {"id": "pickle", "protocol": 5}
V2 = {
    "zarr_format": 2,
    "shape": [2],
    "chunks": [2],
    "dtype": "|O",
    "compressor": None,
    "fill_value": None,
    "filters": [PICKLE],
    "order": "C",
    "attributes": {},
}


def pickled(folder: Path) -> None:
    """An array of the old format whose chunk is a pickle that touches the canary when it is loaded."""
    import pickle

    class Touch:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.system, (f"touch {folder / CANARY}",)

    plain = root(folder)
    for name in ("coverage", "procedure"):
        plain["consolidated_metadata"]["metadata"][name] = V2
        (folder / STORE / name / "0").write_bytes(pickle.dumps([Touch(), 0]))
    save(folder, plain)


def two_thousand_sizes(plain: Any) -> None:
    plain[-1]["grid"]["n"] = list(range(10, 2010))


def grow(count: int) -> Callable[[Any], Any]:
    return lambda plain: plain * count


CASES: dict[str, Case] = {
    # names that lead outside
    "a file above the store": names_files("../../outside/authorized_keys"),
    "a file at an absolute path": names_files("/tmp/ckrr-hostile.py"),
    "a file with a NUL": names_files("a\0b.py"),
    "a file with a newline": names_files("a\nb.py"),
    "a file with a backslash": names_files("..\\b.py"),
    "files is a link": replaced("files", link(OUTSIDE), refused=False),
    "receipts is a link": replaced("receipts", link(OUTSIDE)),
    "a receipt is a link": replaced(f"receipts/n={N}", link(OUTSIDE)),
    "replications is a link": replaced("replications", link(OUTSIDE)),
    "an array is a link": replaced(VARIABLE, link(OUTSIDE)),
    "a chunk is a link": replaced(CHUNK, link(SECRET)),
    "a chunk is a FIFO": replaced(CHUNK, fifo),
    "a chunk is a device": replaced(CHUNK, device),
    "a chunk is a directory": replaced(CHUNK, directory),
    "a label is a link": replaced("procedure/c/0", link(SECRET), refused=False),
    "the cube's chunk is a link": replaced("coverage/c.0.0.0.0.0.0", link(SECRET), refused=False),
    "the root is a link": without_copy(replaced(ROOT, link(SECRET))),
    "the root is a FIFO": without_copy(replaced(ROOT, fifo)),
    "the root is a device": without_copy(replaced(ROOT, device)),
    "the root is /dev/zero": without_copy(replaced(ROOT, link("/dev/zero"))),
    "the root is a directory": without_copy(replaced(ROOT, directory)),
    "the root is sparse": without_copy(replaced(ROOT, sparse(20 << 30))),
    "the copy is a FIFO, the root is gone": several(
        replaced(COPY, fifo), Case(lambda folder: (folder / STORE / ROOT).unlink()), refused=True
    ),
    "the copy is a link, the root is gone": several(
        replaced(COPY, link(SECRET)), Case(lambda folder: (folder / STORE / ROOT).unlink()), refused=True
    ),
    "the driver is a FIFO": replaced("driver.json", fifo, refused=False),
    "the driver is a link": replaced("driver.json", link(SECRET), refused=False),
    "the log is a link": several(submitted(), replaced("submission/driver.log", link(SECRET))),
    "the log is a FIFO": several(submitted(), replaced("submission/driver.log", fifo)),
    "the log is /dev/zero": several(submitted(), replaced("submission/workers.log", link("/dev/zero"))),
    "the submission is a link": several(submitted(), replaced("submission/submission.json", link(SECRET))),
    "prepared is a link": replaced("prepared", link(OUTSIDE), refused=False),
    # code
    "a pickle of the old format": Case(pickled),
    "a pickle filter": node("coverage", lambda meta: meta.update(codecs=[{"name": "numcodecs.pickle"}])),
    "an unknown codec": node("coverage", lambda meta: meta.update(codecs=[{"name": "evil", "configuration": {}}])),
    "codecs of a replication": node(VARIABLE, lambda meta: meta.update(codecs=[{"name": "bytes"}, {"name": "gzip"}])),
    "codecs that are no list": node(VARIABLE, lambda meta: meta.update(codecs={"name": "bytes"})),
    "an object's data type": node("coverage", lambda meta: meta.update(data_type="object")),
    "a structured data type": node("coverage", lambda meta: meta.update(data_type={"name": "structured"})),
    "storage transformers": node("coverage", lambda meta: meta.update(storage_transformers=[{"name": "evil"}])),
    "an array of somebody else's": node("evil", lambda meta: meta.update(V2)),
    "an array outside": node("../../outside/x", lambda meta: meta.update(V2)),
    "a group in a group": node("replications", lambda meta: meta.update(consolidated_metadata={"metadata": {"x": V2}})),
    "an attribute that scales": node("coverage", lambda meta: meta["attributes"].update(scale_factor=1e300)),
    "a source of its own": brings(f"{PAYLOAD}\ndef source():\n    pass\n"),
    "a source that is a shell": part(
        "scenario", put("source", value={"function": "os:system", "command": "touch canary"}), refused=False
    ),
    "a family that is a module": part("scenario", put("family", value="os:environ"), refused=False),
    "a table of passwords": part(
        "scenario", put("source", value={"function": "table", "file": "/etc/passwd", "target": "x"}), refused=False
    ),
    # claims of size
    "10^12 paths": part("extents", put(0, "paths", value=10**12)),
    "2^31 paths and draws": part("extents", lambda plain: plain[0].update(paths=2**31, draws=2**31)),
    "10^9 units": several(
        part("extents", lambda plain: plain[0].update(paths=10**9)),
        part("groups", put(str(N), "block", value=[1, 1])),
        refused=True,
    ),
    "10^8 replications": part("extents", lambda plain: plain[0].update(paths=10**8)),
    "a grid of 256^3 cells": part(
        "extents",
        lambda plain: plain[0]["grid"].update(
            {axis: [i / 7 for i in range(256)] for axis in ("gamma", "lam", "alpha", "theta")}
        ),
    ),
    "two thousand n": part("extents", two_thousand_sizes),
    "a shape of 10^15": node(VARIABLE, lambda meta: meta.update(shape=[10**15, 2, 2, 1, 1, 1, 4])),
    "a chunk of 10^15": node(
        "coverage", lambda meta: meta["chunk_grid"]["configuration"].update(chunk_shape=[10**15, 1, 1, 1, 1, 1])
    ),
    "10^18 test points": attribute("test_points", 10**18),
    "a hundred thousand extents": part("extents", grow(100_000)),
    "a block of 10^9": part("groups", put(str(N), "block", value=[10**9, 10**9])),
    "a bomb in a replication": replaced(CHUNK, data(bomb())),
    "a bomb in a label": replaced("procedure/c/0", data(bomb()), refused=False),
    "a bomb in the cube": replaced("coverage/c.0.0.0.0.0.0", data(bomb()), refused=False),
    "a frame without a size": replaced(CHUNK, data(b"\x28\xb5\x2f\xfd\x00\x58" + bytes(40))),
    # malformed metadata
    "no JSON": without_copy(replaced(ROOT, data("{"))),
    "JSON that is no table": without_copy(replaced(ROOT, data("[]"))),
    "JSON of a deep list": without_copy(replaced(ROOT, data(deep(100_000)))),
    "JSON with a long number": without_copy(replaced(ROOT, data("9" * 10_000))),
    "no text": without_copy(replaced(ROOT, data(bytes(range(128, 256))))),
    "attributes that are a list": Case(lambda folder: save(folder, {**root(folder), "attributes": []})),
    "a schema that is a text": attribute("ckrr_schema", "2"),
    "a schema of tomorrow": attribute("ckrr_schema", 99),
    "no scenario": attribute("scenario", None),
    "a scenario that is no JSON": attribute("scenario", "{"),
    "a scenario that is a list": attribute("scenario", "[]"),
    "a deep scenario": attribute("scenario", deep(100_000)),
    "extents that are numbers": attribute("extents", 7),
    "no extents": part("extents", lambda plain: []),
    "an extent without a grid": part("extents", lambda plain: plain[0].pop("grid") and None),
    "a grid without an axis": part("extents", lambda plain: plain[0]["grid"].pop("lam") and None),
    "an axis that is a text": part("extents", put(0, "grid", "lam", value="abc")),
    "an axis with a table": part("extents", put(0, "grid", "lam", value=[{}])),
    "an empty axis": part("extents", put(0, "grid", "n", value=[])),
    "an axis with a value twice": part("extents", put(0, "grid", "gamma", value=[0.1, 0.1])),
    "a γ that is NaN": part("extents", put(0, "grid", "gamma", value=[float("nan")])),
    "an n that is a text": part("extents", put(0, "grid", "n", value=["10", "20"])),
    "minus one path": part("extents", put(0, "paths", value=-1)),
    "half a path": part("extents", put(0, "paths", value=0.5)),
    "no group of an n": part("groups", lambda plain: plain.pop(str(N)) and None),
    "a block of nothing": part("groups", put(str(N), "block", value=[0, 1])),
    "a block of three": part("groups", put(str(N), "block", value=[1, 1, 1])),
    "chunks of another axis": part("groups", put(str(N), "chunks", value={"evil": 1})),
    "a name that leads outside": part("scenario", put("name", value="../../outside/x")),
    "a scenario that asks for more": part("scenario", put("replications", "paths", value=10**9)),
    "a scenario of another n": part("scenario", put("grid", "n", value=[7])),
    "a source that is a list": part("scenario", put("source", value=["heaviside"])),
    "a seed that is a text": part("fingerprint", put("seed", value="1")),
    "threads without end": part("fingerprint", put("blas_threads", value=10**9)),
    "a hash that is none": part("fingerprint", put("files", value={"x.py": "../../x"})),
    "levels that are texts": part("levels", put("RRCM", str(N), "0.1", value="high")),
    "levels of a strange α": part("levels", put("RRCM", str(N), "evil", value=0.5)),
    "a history of numbers": part("history", lambda plain: [1, 2]),
    "a history without times": part("history", lambda plain: [{}]),
    "versions that are a list": part("history", put(0, "versions", value=[1])),
    "kept what nobody knows": part("keep", lambda plain: ["evil"]),
    "no consolidated metadata": without_copy(
        Case(lambda folder: save(folder, {k: v for k, v in root(folder).items() if k != "consolidated_metadata"}))
    ),
    "consolidated metadata that are a list": Case(
        lambda folder: save(folder, {**root(folder), "consolidated_metadata": []})
    ),
    # receipts, drivers and submissions
    "a receipt that is no JSON": receipt(b"{"),
    "a receipt that is deep": receipt(deep(100_000).encode()),
    "a receipt of tomorrow": receipt(lambda plain: None, "p0_d0.g7.a0.f0.json"),
    "a receipt with a long number": receipt(lambda plain: None, f"p0_d0.g{'9' * 200}.a0.f0.json"),
    "a receipt of a far unit": receipt(lambda plain: None, "p999999999_d999999999.g0.a0.f0.json"),
    "a receipt with failures that are texts": receipt(lambda plain: plain.update(failures="many")),
    "a receipt with a failure of nothing": receipt(lambda plain: plain.update(failures=[{}])),
    "a failure on a path that is a text": failing(path="0"),
    "seconds that are texts": receipt(lambda plain: plain.update(seconds={"compute": "long"})),
    "a BLAS that is a number": receipt(lambda plain: plain.update(blas=7)),
    "another study's receipt": receipt(lambda plain: plain.update(fingerprint="f" * 16), "p0_d0.g0.a0.f0.json"),
    "a driver that is a list": replaced("driver.json", data("[]"), refused=False),
    "a driver with a text for a rate": replaced(
        "driver.json",
        data(json.dumps({"name": "x", "host": "there", "pid": 1, "beat": 1e12, "progress": {"rate": "fast"}})),
        refused=False,
    ),
    "a driver with an infinite beat": replaced(
        "driver.json", data('{"name": "x", "host": "there", "pid": 1, "beat": Infinity}'), refused=False
    ),
    "a driver that is process 0": replaced(
        "driver.json", data(json.dumps({"name": "x", "host": platform.node(), "pid": 0, "beat": 1.0})), refused=False
    ),
    "a submission without an id": submitted(id="", handle={"pid": 1, "host": platform.node()}),
    "a submission of a process": submitted(handle={"pid": os.getpid(), "host": platform.node()}),
    "a submission of all processes": submitted(handle={"pid": -1, "host": platform.node()}),
    "a submission of a job and more": submitted(how="slurm", handle={"job": "1,2,3"}),
    "a submission to whoever": submitted(how="evil"),
    "a submission with files outside": submitted(files=["../../outside/x"]),
    "a submission that started at no time": submitted(how="task", starts=[{"time": "never", "done": 0}]),
    "a submission that is no table": several(submitted(), replaced("submission/submission.json", data("[1]"))),
    # text
    "escapes in a message": failing(message=ESCAPES),
    "escapes in a kind": failing(kind=ESCAPES),
    "escapes in a host": part("history", put(0, "host", value=ESCAPES), refused=False),
    "escapes in a command": part("history", put(0, "command", value=ESCAPES), refused=False),
    "escapes in a time": part("history", put(0, "start", value=ESCAPES), refused=False),
    "escapes in a procedure": part("extents", put(0, "grid", "procedure", value=[ESCAPES, "RRCM"])),
    "escapes in a description": part("scenario", put("description", value=ESCAPES), refused=False),
    "escapes in an outcome": submitted(ended=ESCAPES, outcome=ESCAPES, code=2, host=ESCAPES),
    "escapes in a log": several(submitted(), replaced("submission/driver.log", data(ESCAPES * 10))),
    "escapes in a driver": replaced(
        "driver.json", data(json.dumps({"name": "x", "host": ESCAPES, "pid": 9, "beat": 4e9})), refused=False
    ),
    "markup in a procedure": names(procedure=[MARKUP, "RRCM"]),
    "markup in a search": names(theta=[MARKUP]),
    "markup in a description": part("scenario", put("description", value=MARKUP), refused=False),
    "escapes in the name of a file": Case(lambda folder: (folder / STORE / "a\x1b[2J").touch(), refused=False),
    "a lone surrogate": failing(message="\ud800"),
}


def make(name: str, sound: Path, folder: Path) -> None:
    """The folder of a case."""
    folder.mkdir()
    for each in (OUTSIDE, "out", "here"):
        (folder / each).mkdir()
    (folder / SECRET).write_text(WORD)
    (folder / OUTSIDE / "kept").write_text(WORD)
    shutil.copytree(sound / STORE, folder / STORE)
    shutil.copy(sound / "good.toml", folder / "good.toml")
    CASES[name].make(folder)


def opened_by(words: list[str], name: str, folder: Path) -> Outcome:
    """What a command makes of the store."""
    return attempt(name, lambda: command(words), folder, folder)


def by_plain_xarray(folder: Path) -> Outcome:
    """Whether plain xarray runs code."""

    def act() -> tuple[int, str, str, str]:
        import xarray as xr

        try:
            return 0, str(float(xr.open_zarr(folder / STORE).load()["coverage"].max())), "", ""
        except Exception as error:
            return 1, "", type(error).__name__, ""

    return attempt("plain xarray", act, folder, folder)


def by_notebook(folder: Path) -> Outcome:
    """What a notebook makes of the store: its status as HTML, and replications that are read lazily."""

    def act() -> tuple[int, str, str, str]:
        from traceback import format_exc

        from ckrr import study

        try:
            shown = study.status(STORE)
            mean = float(study.open_replications(STORE)[f"n={N}"]["coverage"].mean())
            return 0, f"{shown!r}{shown._repr_html_()}{mean}", "", ""
        except study.UserError as error:
            return 2, "", f"error: {error}", ""
        except Exception:
            return 1, "", "", format_exc()

    return attempt("notebook", act, folder, folder)


_LOADED = (
    "click.testing",
    "dask.array",
    "harness.api",
    "harness.cli",
    "harness.cube.replications",
    "harness.maintenance.failures",
    "harness.figures.plots.coverage",
    "harness.figures.plots.seconds",
    "harness.families.krr",
    "harness.maintenance.merge",
    "harness.maintenance.replay",
    "harness.report.page",
    "harness.report.write",
    "harness.results.formats",
    "harness.results.tables",
    "harness.planning.plan_text",
    "harness.submit.cancel",
    "harness.submit.logs",
    "harness.maintenance.verify",
    "scenarios",
    "scipy.fftpack",
)


def load_everything() -> None:
    """What commands import, once for all children; nothing that starts a thread."""
    for name in _LOADED:
        import_module(name)
    from matplotlib.figure import Figure

    Figure().subplots().figure.savefig(io.BytesIO(), format="svg")  # fonts


def commands(name: str, thorough: bool) -> dict[str, list[str]]:
    """Those that a case is opened with."""
    others = [title for title in COMMANDS if title not in ALWAYS]
    first = 3 * list(CASES).index(name)
    turn = {others[(first + i) % len(others)] for i in range(3)}
    return {title: words for title, words in COMMANDS.items() if thorough or title in turn or title in ALWAYS}


def runs_code(name: str) -> bool:
    """Whether plain xarray is tried: where metadata name code, and Zarr doesn't wait for ever."""
    slow = ("FIFO", "device", "/dev/zero", "sparse", "bomb")
    return not any(word in name for word in slow) and any(
        word in name for word in ("pickle", "codec", "type", "transformers", "array", "link", "source", "group")
    )


def is_read_lazily(name: str) -> bool:
    """Whether a notebook is tried: where chunks of replications, their metadata or texts were changed."""
    return any(word in name for word in ("bomb", "frame", "chunk", "replication", "codec", "array", "escapes"))


def main(sound: str, folder: str, thorough: str = "", *names: str) -> None:
    """Make all cases, open each with its commands, and print what came of it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    load_everything()
    gc.freeze()
    for i, name in enumerate(names or CASES):
        here = Path(folder) / str(i)
        make(name, Path(sound), here)
        *others, last = commands(name, bool(thorough)).items()
        found = [opened_by(words, title, here) for title, words in others]
        found += [by_plain_xarray(here)] if thorough or runs_code(name) else []
        found += [by_notebook(here)] if thorough or is_read_lazily(name) else []
        found.append(opened_by(last[1], last[0], here))
        written = [path.read_text(errors="replace") for path in (here / "out").glob("*.*") if path.is_file()]
        facts = {"ran": (here / CANARY).exists(), "leaked": any(WORD in text for text in written)}
        print(json.dumps({"case": name, **facts, "found": [asdict(one) for one in found]}), flush=True)
        shutil.rmtree(here)


if __name__ == "__main__":
    main(*sys.argv[1:])
