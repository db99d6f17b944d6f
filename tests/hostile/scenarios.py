"""Hostile scenario files, `--set` values and cluster files, and a loop that tries `ckrr plan` on all of them.

Each case is made in a folder of its own. What would run code there touches the file `canary` in it. As a program
(`python -m tests.hostile.scenarios CORPUS FOLDER`) the module tries the cases in processes that are forked from one
which has loaded everything, and prints what came of each as JSON.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from tests.hostile.trial import Outcome, attempt, command

CANARY = "canary"
GOOD = """
name = "good"
seed = 1

[source]
function = "heaviside"
test_points = 50

[grid]
gamma = [0.1]
n = [25, 50]
theta = [10, "ml"]
lam = [0.1]
alpha = [0.1]
procedure = ["GPR-f", "RRCM"]

[replications]
paths = 5
draws = 2
"""

DATA = GOOD.replace('function = "heaviside"', 'dataset = "diabetes"')


@dataclass(frozen=True)
class Case:
    """A hostile input: what makes its files, and what is said of it."""

    make: Callable[[Path], str]
    """Makes files in a folder, and returns the path that the command is given."""
    says: str
    """A part of the message; for a file that is fine, of the output."""
    exit_code: int = 2
    words: tuple[str, ...] = ()
    """Other arguments of the command."""


def written(text: str | bytes, says: str, exit_code: int = 2, words: tuple[str, ...] = ()) -> Case:
    """A file with this content; FOLDER in it is the folder's path."""

    def make(folder: Path) -> str:
        data = text.replace("FOLDER", str(folder)).encode() if isinstance(text, str) else text
        (folder / "my.toml").write_bytes(data)
        return str(folder / "my.toml")

    return Case(make, says, exit_code, words)


def changed(old: str, new: str, says: str, exit_code: int = 2) -> Case:
    """The good scenario with one thing replaced."""
    assert old in GOOD
    return written(GOOD.replace(old, new, 1), says, exit_code)


def named(function: str, says: str, more: str = "", files: Mapping[str, str | bytes] | None = None) -> Case:
    """The good scenario with another source, and files beside it."""
    text = GOOD.replace('"heaviside"\ntest_points = 50', f'"{function}"\n{more}')
    inner = written(text, says)

    def make(folder: Path) -> str:
        for name, data in (files or {}).items():
            raw = data.replace("FOLDER", str(folder)).encode() if isinstance(data, str) else data
            (folder / name).write_bytes(raw)
        return inner.make(folder)

    return Case(make, says)


def special(create: Callable[[str], None], text: str | None, says: str) -> Case:
    """A FIFO, link or directory: in place of the file, or beside one with this text that names it (`special.py`, …)."""

    def make(folder: Path) -> str:
        path = folder / ("my.toml" if text is None else next(word for word in text.split('"') if "special" in word))
        create(str(path).partition(":")[0])
        return str(path) if text is None else written(text, says).make(folder)

    return Case(make, says)


def there(path: str, says: str) -> Case:
    """A path that is there on every machine."""
    return Case(lambda folder: path, says)


def set_to(setting: str, says: str, exit_code: int = 2) -> Case:
    """The good scenario, with `--set`."""
    return written(GOOD, says, exit_code, ("--set", setting))


def zip_bomb() -> bytes:
    """An .npz file of 600 kB whose arrays claim and hold 600 MB."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("X.npy", "y.npy"):
            with archive.open(name, "w", force_zip64=True) as member:
                header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({300 << 17},), }}".ljust(117) + "\n"
                member.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
                for _ in range(300):
                    member.write(bytes(1 << 20))
    return data.getvalue()


def large_shape() -> bytes:
    """An .npz file whose header claims 8 PB, and which has none of them."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name in ("X.npy", "y.npy"):
            header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**15},), }}".ljust(117) + "\n"
            archive.writestr(name, b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    return data.getvalue()


def link_to(target: str) -> Callable[[str], None]:
    return lambda path: os.symlink(target, path)


def sparse(size: int) -> Callable[[str], None]:
    def create(path: str) -> None:
        with open(path, "wb") as file:
            file.truncate(size)

    return create


def beside(name: str, create: Callable[[str], None], text: str, says: str) -> Case:
    """A file that is fine, with something in its folder that it doesn't name."""

    def make(folder: Path) -> str:
        create(str(folder / name))
        return written(text, says).make(folder)

    return Case(make, says, 0)


def listed(values: Iterable[object]) -> str:
    return f"[{', '.join(map(str, values))}]"


def keys(count: int, pattern: str = "k{} = 1") -> str:
    return "\n".join(pattern.format(i) for i in range(count))


TOUCH = 'command = "touch FOLDER/canary"'
"""What `os.system` would do."""
PAYLOAD = "import pathlib\npathlib.Path('FOLDER/canary').touch()\n"
ON_CALL = "from pathlib import Path\n\n\ndef made(**options):\n    Path('FOLDER/canary').touch()\n"
WIDE = GOOD.replace("[25, 50]", listed(range(2, 200))).replace("[0.1]\nn", f"{listed(range(1, 200))}\nn")
ASKS_MUCH = WIDE.replace('[10, "ml"]', listed(range(1, 200)))

SCENARIOS: dict[str, Case] = {
    "good": written(GOOD, "asked for 20 replications", 0),
    # code
    "os.system": named("os:system", "put the line `@scenarios.source` above its definition", TOUCH),
    "subprocess.run": named("subprocess:run", "which is not called", 'args = ["touch", "FOLDER/canary"]'),
    "subprocess.Popen": named("subprocess:Popen", "it lacks dimension, test", 'args = ["touch", "FOLDER/canary"]'),
    "builtins.exec": named("builtins:exec", "put the line", "source = \"open('FOLDER/canary', 'w')\""),
    "builtins.open": named("builtins:open", "put the line", 'file = "FOLDER/canary"\nmode = "w"'),
    "pathlib.Path": named("pathlib:Path", "it lacks dimension"),
    "webbrowser.open": named("webbrowser:open", "put the line", 'url = "file:///FOLDER/canary"'),
    "runpy.run_path": named("runpy:run_path", "put the line", 'path_name = "FOLDER/x.txt"', {"x.txt": PAYLOAD}),
    "a mock": named("unittest.mock:call", "neither a function nor a class"),
    "a module": named("os:path", "neither a function nor a class"),
    "imported by a file": named("m.py:system", "'m.py' only imports it", TOUCH, {"m.py": "from os import system\n"}),
    "partial of a file": named(
        "m.py:f",
        "only imports",
        "",
        {"m.py": "import os\nfrom functools import partial\nf = partial(os.system, 'touch FOLDER/canary')\n"},
    ),
    "a file that exits": named(
        "m.py:f", "'m.py', which doesn't run: SystemExit: 0", "", {"m.py": "raise SystemExit(0)"}
    ),
    "a file that isn't Python": named("m.py:f", "which doesn't run: SyntaxError", "", {"m.py": "]["}),
    "a file of zeros": named("m.py:f", "which doesn't run", "", {"m.py": bytes(100)}),
    "a file of nested code": named("m.py:f", "which doesn't run", "", {"m.py": "(" * 5000 + ")" * 5000}),
    "a large file of code": named("m.py:f", "which has more than 1024 kB", "", {"m.py": "#" * (1 << 21)}),
    "family os.system": written('family = "os:system"\n' + GOOD, "family names 'os:system', which has no procedures"),
    "family class": written('family = "pathlib:Path"\n' + GOOD, "which is a class that lacks procedures, searches"),
    "family module": written('family = "os:path"\n' + GOOD, "which is a module"),
    "family mock": written('family = "unittest.mock:call"\n' + GOOD, "which has no procedures, searches"),
    # names
    "no module": named(":x", "names '', which can't be imported"),
    "relative module": named("..os:system", "which can't be imported", TOUCH),
    "NUL in a module": named("a\\u0000b:x", "which can't be imported"),
    "NUL in a file": named("a\\u0000.py:x", "no file has such a name"),
    "NUL in a table": named("table", "no file has such a name", 'file = "a\\u0000.csv"'),
    "long function": named("x" * 200_000, "source.function must be one of"),
    "long module": named("x" * 100_000 + ":x", "can't be imported"),
    "long path": named("x/" * 3000 + "x.py:x", "File name too long"),
    "name with dots": changed('"good"', '"../../x"', "name must start with a letter"),
    "absolute name": changed('"good"', '"/tmp/x"', "name must start with a letter"),
    "name with a newline": changed('"good"', '"good\\nerror: x"', "name must start with a letter"),
    "name of 1000": changed('"good"', f'"{"x" * 1000}"', "name must have at most 100 characters"),
    "control characters": changed("seed = 1", 'seed = "\\u001b]0;x\\u0007"', "got '\\x1b]0;x\\x07'"),
    "control characters in a key": changed("seed = 1", '"\\u001b[2J" = 1\nseed = 1', "'\\x1b[2J' is unknown"),
    "a key that turns text": changed("seed = 1", '"\\u202e" = 1\nseed = 1', "'\\u202e' is unknown"),
    "an empty key": changed("seed = 1", '"" = 1\nseed = 1', "'' is unknown"),
    "a key like a type": changed("seed = 1", '"int" = 1\nseed = 1', "int is unknown"),
    "__class__": changed("test_points = 50", '__class__ = "x"', "source.__class__ is unknown"),
    # form
    "nothing": written("", "name is missing"),
    "bytes": written(b"\xff\xfe\x00", "is not text in UTF-8 (byte 0)"),
    "zeros": written(bytes(1000), "is not TOML"),
    "surrogate": changed('"good"', '"\\ud800"', "is not TOML"),
    "large": written("#" * (1 << 21), "has more than 256 kB"),
    "nested lists": written("a = " + "[" * 50_000 + "]" * 50_000, "is nested more than 16 levels deep"),
    "nested lists of 300": written(f"a = {'[' * 300}{']' * 300}\n{GOOD}", "is nested more than 16 levels deep"),
    "nested tables": written("a = " + "{a=" * 20_000 + "1" + "}" * 20_000, "is nested more than 16 levels deep"),
    "long key": written(".".join("a" * 100_000) + " = 1", "has a key of more than 16 parts"),
    "long quoted key": written(".".join(['"a b"'] * 30_000) + " = 1", "has a key of more than 16 parts"),
    "long header": written(f"[{'.'.join('a' * 100_000)}]", "has a key of more than 16 parts"),
    "long key in a table": written(f"a = {{{'.'.join('a' * 100_000)} = 1}}", "has a key of more than 16 parts"),
    "long parts of a key": written(".".join(["a" * 100] * 2000) + " = 1", "is nested more than 16 levels deep"),
    "dotted keys": written(keys(15_000, "a.k{} = 1") + GOOD, "a is unknown"),
    "dotted tables": written(keys(15_000, "a{}.k = 1") + GOOD, "more mistakes"),
    "unknown keys": written(keys(20_000) + GOOD, "… and 19980 more mistakes"),
    "unknown keys of the source": changed("test_points = 50", keys(10_000), "… and 9980 more mistakes"),
    "unknown keys of the grid": changed("lam = [0.1]", f"lam = [0.1]\n{keys(10_000)}", "… and 9980 more mistakes"),
    "long keys": written(keys(100, "k" * 1000 + "{} = 1") + GOOD, "… and 80 more mistakes"),
    "escapes": changed("seed = 1", 'seed = "' + '\\"' * 100_000 + '"', "seed must be a whole number"),
    "tables of tables": written("[[a]]\n" * 40_000 + GOOD, "a is unknown"),
    # numbers
    "many digits": changed("paths = 5", f"paths = {'9' * 5000}", "whole number of more than 64 bits"),
    "many hexadecimal digits": changed("paths = 5", f"paths = 0x{'f' * 100_000}", "whole number of more than 64 bits"),
    "128 bits": changed("seed = 1", f"seed = {2**127}", "whole number of more than 64 bits"),
    "many paths": changed("paths = 5\ndraws = 2", f"paths = {2**31}\ndraws = {2**31}", "replications.draws must be <="),
    "paths × draws": changed("paths = 5\ndraws = 2", "paths = 100000\ndraws = 100000", "paths × draws of at most"),
    "no paths": changed("paths = 5", "paths = -9223372036854775808", "replications.paths must be >= 1"),
    "infinity": changed("gamma = [0.1]", "gamma = [1e999]", "grid.gamma[0] must be a finite number"),
    "not a number": changed("lam = [0.1]", "lam = [nan]", "grid.lam[0] must be"),
    "seconds": changed("paths = 5", "paths = 5\nseconds = inf", "replications.seconds must be a finite number"),
    "test points": changed("test_points = 50", "test_points = 1000000000", "from 1 to 1000000"),
    "pool": changed("test_points = 50", f"pool = {10**18}", "from 1 to 1000000"),
    "cells": written(ASKS_MUCH, "grid must have at most 10000000 cells, got"),
    "values": changed("[25, 50]", listed(range(2, 5000)), "grid.n must have at most 256 values"),
    "the same value": changed("[25, 50]", listed([25] * 200), "grid.n must not have a value twice: 25"),
    "rules": written(GOOD + "[[exclude]]\nn = 25\n" * 10_000, "exclude must have at most 1000 values"),
    "wrong rules": written(GOOD + "[[exclude]]\nn = 'x'\n" * 10_000, "more mistakes"),
    "values of a rule": written(
        f"{GOOD}[[exclude]]\nn = {listed([25] * 50_000)}", "exclude[0].n must have at most 256"
    ),
    "wrong names in rules": written(
        GOOD + "[[exclude]]\nprocedure = " + listed(["'x'"] * 256) + "\n", "… and 236 more"
    ),
    "scales": written(f"scales = {listed([1] * 80_000)}\n{GOOD}", "scales must have at most 10000 values"),
    "features": written(f"features = {10**9}\n{GOOD}", "features must be <= 100000"),
    "kept": written("keep = " + listed(["'pointwise'"] * 10_000) + GOOD, "keep must have at most 256 values"),
    # types
    "a date": changed("seed = 1", "seed = 1979-05-27", "seed must be a whole number, got datetime.date"),
    "a date for a source": named(
        "m.py:f",
        "source.when must not be or contain a date",
        "when = 1979-05-27",
        {"m.py": "from scenarios import Synthetic\ndef f(when):\n    return Synthetic(lambda X: X[:, 0])\n"},
    ),
    "tables for lists": changed("n = [25, 50]", "n = {a = 1}", "grid.n[0] must be a whole number"),
    "a list for a table": changed("[source]", "[[source]]", "source must be a table"),
    "a text for a table": written('grid = "x"\n' + GOOD.partition("[grid]")[0], "grid must be a table"),
    "lists for names": changed('["GPR-f", "RRCM"]', '[["GPR-f"]]', "grid.procedure[0] must be a string"),
    "truth for numbers": changed("[25, 50]", "[true]", "grid.n[0] must be a number"),
    "a function of lists": changed('"heaviside"', '["heaviside"]', "source.function must be a string"),
    # files
    "a FIFO": special(os.mkfifo, None, "is no regular file"),
    "a link to a FIFO": special(
        lambda path: (os.mkfifo(path + ".fifo"), link_to(path + ".fifo")(path))[1], None, "is no regular file"
    ),
    "a directory": special(os.mkdir, None, "is a directory"),
    "a link to itself": special(lambda path: os.symlink(path, path), None, "no such file"),
    "/dev/zero": there("/dev/zero", "is no regular file"),
    "a link to /dev/zero": special(link_to("/dev/zero"), None, "is no regular file"),
    "/dev/full": there("/dev/full", "is no regular file"),
    "/proc/self/mem": there("/proc/self/mem", "can't be read"),
    "a path too long": there("x" * 5000, "no such file"),
    "a large sparse file": special(sparse(1 << 40), None, "has more than 256 kB"),
    "code from a FIFO": special(os.mkfifo, GOOD.replace("heaviside", "special.py:f"), "it is no regular file"),
    "code from a device": special(link_to("/dev/zero"), GOOD.replace("heaviside", "special.py:f"), "no regular file"),
    "a table from a FIFO": special(os.mkfifo, GOOD.replace('heaviside"', 'table"\nfile = "special.csv"'), "no regular"),
    "a table from a device": special(
        link_to("/dev/zero"), GOOD.replace('heaviside"', 'table"\nfile = "special.npz"'), "it is no regular file"
    ),
    "a sparse table": special(
        sparse(1 << 40), GOOD.replace('heaviside"', 'table"\nfile = "special.csv"'), "1048576 kB"
    ),
    "a copy of a data set that is sparse": beside("diabetes.csv", sparse(1 << 40), DATA, "good →"),
    "a copy of a data set that is a FIFO": beside("diabetes.csv", os.mkfifo, DATA, "good →"),
    "a data set elsewhere": written(DATA.replace('"diabetes"', '"../../etc/passwd"'), "dataset must be one of abalone"),
    "a Parquet file of zeros": named("table", "pyarrow", 'file = "a.parquet"', {"a.parquet": bytes(99)}),
    "a Parquet file of marks": named("table", "pyarrow", 'file = "a.parquet"', {"a.parquet": b"PAR1" * 9}),
    "an Arrow file of marks": named("table", "pyarrow", 'file = "a.arrow"', {"a.arrow": b"ARROW1\0\0" * 9}),
    "a suite of itself": written('scenarios = ["my.toml"]', "scenarios[0] must be a scenario, got the suite"),
    "a suite of devices": written('scenarios = ["/dev/zero", "../zero.toml"]', "no such file"),
    "a suite of many": written(f"scenarios = {listed(range(10_000))}", "scenarios must be a list of scenarios"),
    "a suite with escapes": written('scenarios = ["\\u001b[2J.toml"]', "\\x1b[2J.toml: no such file"),
    "a table that unpacks": named("table", "arrays of at most 256 MB", 'file = "a.npz"', {"a.npz": zip_bomb()}),
    "a table that claims": named("table", "can't be created: MemoryError", 'file = "a.npz"', {"a.npz": large_shape()}),
    "a pickled table": named(
        "table", "as np.savez writes them", 'file = "a.npz"', {"a.npz": b"cos\nsystem\n(S'touch FOLDER/canary'\ntR."}
    ),
    # settings
    "--set os.system": set_to("source.function='os:system'", "put the line"),
    "--set nested": set_to("grid.n=" + "[" * 50_000, "the value is nested more than 16 levels deep"),
    "--set long key": set_to("a." * 50_000 + "a=1", "the key has more than 16 parts"),
    "--set long key in a value": set_to("seed={" + "a." * 50_000 + "a=1}", "the value has a key of more than 16 parts"),
    "--set digits": set_to("seed=" + "9" * 5000, "seed must be a whole number"),
    "--set long text": set_to("name='" + "x" * 100_000 + "'", "name must have at most 100 characters"),
    "--set control": set_to("seed='\x1b[2J\x07'", "--set seed='\\x1b[2J\\x07': the value is not TOML"),
    "--set two keys": set_to("seed=1\nname='x'", "must be one value, got several keys"),
    "--set no key": set_to("..=1", "must be key=value"),
    "--set paths": set_to(f"replications.paths={2**31}", "replications.paths must be <= 1000000000"),
}


def cluster(text: str | bytes, says: str, exit_code: int = 2) -> Case:
    """A cluster file, for the packaged scenario `quickstart`."""
    inner = written(text, says)
    return Case(lambda folder: inner.make(folder), says, exit_code)


SLURM = 'kind = "slurm"\njobs = 4\nmemory = "8 GB"\nwalltime = "01:00:00"\ninterface = "lo"\n'
SSH = 'kind = "ssh"\nmemory = "1 GB"\nhosts = ["localhost"]\n'
LOCAL = 'kind = "local"\n'

CLUSTERS: dict[str, Case] = {
    "good": cluster(f"{LOCAL}workers = 2\n", "asked for", 0),
    # code: a plan imports nothing
    "os.system": cluster(f'kind = "os:system"\n{TOUCH}\n', "asked for", 0),
    "a module that isn't there": cluster('kind = "no_such_module:make"\n', "asked for", 0),
    "a module with a payload": Case(
        lambda folder: (
            (folder / "bomb.py").write_text(PAYLOAD.replace("FOLDER", str(folder))),
            cluster('kind = "bomb:make"\n', "").make(folder),
        )[1],
        "asked for",
        0,
    ),
    "shell for Slurm": cluster(f'{SLURM}job_script_prologue = ["touch FOLDER/canary"]\n', "asked for", 0),
    "directives": cluster(f'{SLURM}job_extra_directives = ["--wrap=touch FOLDER/canary"]\n', "asked for", 0),
    "a Python that is a shell": cluster(f"{SLURM}python = \"sh -c 'touch FOLDER/canary' #\"\n", "asked for", 0),
    "shell for hosts": cluster(f'{SSH}prologue = ["touch FOLDER/canary"]\n', "asked for", 0),
    # form
    "nothing": cluster("", "kind is missing"),
    "bytes": cluster(b"\xff\xfe\x00", "is not text in UTF-8 (byte 0)"),
    "zeros": cluster(bytes(1000), "is not TOML"),
    "large": cluster("#" * (1 << 20), "has more than 16 kB"),
    "text cut in a letter": cluster("#" + "é" * (1 << 14), "has more than 16 kB"),
    "nested lists": cluster("a = " + "[" * 8000 + "]" * 8000, "is nested too deeply"),
    "nested lists of 300": cluster(f"{LOCAL}workers = {'[' * 300}{']' * 300}", "workers must be a whole number"),
    "nested tables": cluster("a = " + "{a=" * 4000 + "1" + "}" * 4000, "is nested too deeply"),
    "long key": cluster(".".join("a" * 8000) + " = 1", "kind is missing"),
    "long header": cluster(f"[{'.'.join('a' * 8000)}]", "kind is missing"),
    "unknown keys": cluster(LOCAL + keys(1500), "… and 1480 more mistakes"),
    "long kind": cluster(f'kind = "{"x" * 15_000}"', "kind must be one of local"),
    "control characters": cluster('kind = "\\u001b]0;x\\u0007"', "got '\\x1b]0;x\\x07'"),
    "control characters in a key": cluster(f'{LOCAL}"\\u001b[2J" = 1', "'\\x1b[2J' is unknown"),
    "surrogate": cluster('kind = "\\ud800"', "is not TOML"),
    "a list for a kind": cluster('kind = ["local"]', "kind must be a string"),
    "a date": cluster(f"{LOCAL}workers = 1979-05-27", "workers must be a whole number, got datetime.date"),
    # numbers
    "many digits": cluster(f"{LOCAL}workers = {'9' * 5000}", "whole number of more than 64 bits"),
    "many hexadecimal digits": cluster(f"{LOCAL}threads = -0x{'f' * 8000}", "is not TOML"),
    "hexadecimal memory": cluster(f"{LOCAL}memory = 0x{'f' * 8000}", "got a number with thousands of digits"),
    "no workers": cluster(f"{LOCAL}workers = -9223372036854775808", "workers must be >= 1"),
    "infinite memory": cluster(f'{LOCAL}memory = "1e999 GB"', "has a size or a time that is too large"),
    "memory that isn't a number": cluster(f'{LOCAL}memory = "nan GB"', 'memory must be a size like "4 GB"'),
    "long walltime": cluster(SLURM.replace("01:00:00", "9" * 4000), "has a size or a time that is too large"),
    "longer walltime": cluster(SLURM.replace("01:00:00", "9" * 5000), "walltime must be a time"),
    "no time": cluster(f"{SSH}timeout = -inf", "timeout must be > 0"),
    "an address with a newline": cluster('kind = "address"\naddress = "tcp://x\\n:1"', "address must be like"),
    "an address without a scheduler": cluster(
        'kind = "address"\naddress = "tcp://127.0.0.1:1"\ntimeout = 0.5', "no scheduler answers"
    ),
    # files
    "a FIFO": special(os.mkfifo, None, "it is no regular file"),
    "a directory": special(os.mkdir, None, "can't be read: Is a directory"),
    "/dev/zero": there("/dev/zero", "it is no regular file"),
    "a link to /dev/zero": special(link_to("/dev/zero"), None, "it is no regular file"),
    "a link to itself": special(lambda path: os.symlink(path, path), None, "can't be read"),
    "a path too long": there("x" * 5000, "can't be read: File name too long"),
    "a large sparse file": special(sparse(1 << 40), None, "has more than 16 kB"),
}


def arguments(corpus: str, name: str, folder: Path) -> list[str]:
    """The command line for a case, whose files are made now."""
    case = CORPORA[corpus][name]
    path = case.make(folder)
    if corpus == "clusters":
        return ["plan", "quickstart", "--cluster", path, *case.words]
    return ["plan", path, *case.words]


CORPORA = {"scenarios": SCENARIOS, "clusters": CLUSTERS}


def tried(corpus: str, name: str, folder: Path) -> Outcome:
    """Try a case in a child process."""
    folder.mkdir()
    (folder / "here").mkdir()
    words = arguments(corpus, name, folder)
    return attempt(name, lambda: command(words), folder, folder / "here")


def main(corpus: str, folder: str) -> None:
    """Try all cases of a corpus, and print what came of them."""
    for name in ("execution.clusters", "execution.prepare", "families.krr", "scenario.load", "planning.plan_text"):
        import_module(f"harness.{name}")
    import_module("scenarios")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for i, name in enumerate(CORPORA[corpus]):
        print(json.dumps(asdict(tried(corpus, name, Path(folder) / str(i)))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
