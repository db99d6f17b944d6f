"""Stores from strangers: opened with any command they run no code, reach nothing outside, hang nowhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.scenarios import GOOD
from tests.hostile.stores import CASES, STORE, WORD

MEGABYTES = 500
_RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2028]")
_WRITERS = ("status --verify", "cancel")
"""Commands that may write to the store."""
_READERS = ("table", "notebook")
"""Those that read replications, so that they must refuse a store with bad ones."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small store that nothing is wrong with."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "good.toml").write_text(GOOD.replace("n = [25, 50]", "n = [10, 20]").replace('[10, "ml"]', "[10]"))
    words = ["run", "good.toml", "--workers", "1", "--store", STORE]
    subprocess.run([sys.executable, "-m", "harness.cli", *words], cwd=folder, check=True, capture_output=True)
    return folder


def opened(sound: Path, folder: Path, thorough: bool = False) -> list[dict[str, Any]]:
    """What came of every case."""
    words = [str(sound), str(folder), "thorough" if thorough else ""]
    command = [sys.executable, "-m", "tests.hostile.stores", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def wrong(case: str, found: dict[str, Any]) -> list[str]:
    """What is wrong with the answer of a command."""
    said, errors = found["stdout"] + found["stderr"], re.findall(r"(?m)^error: .*", found["stderr"])
    plain = found["name"] == "plain xarray"
    outside = [key for key in found["changed"] if not key.startswith(("out/", f"{STORE}/"))]
    inside = [key for key in found["changed"] if key.startswith(f"{STORE}/")]
    codes = (0, 1, 2, 4) if found["name"].startswith("check") else (0, 1, 2)
    return [
        text
        for text, is_wrong in {
            f"a traceback: {found['traceback'][-300:]}": bool(found["traceback"]),
            f"exit code {found['exit_code']}": not plain and found["exit_code"] not in codes,
            f"{found['megabytes']:.0f} MB": not plain and found["megabytes"] > MEGABYTES,  # xarray bounds nothing
            f"control characters: {said!r}": not plain and _RAW.search(said) is not None,
            f"not one line: {found['stderr']!r}": not plain and len(errors) != (found["exit_code"] == 2),
            f"written outside: {outside}": bool(outside),
            f"written inside: {inside}": bool(inside) and found["name"] not in _WRITERS,
            "a secret was shown": WORD in said,
            "not refused": found["name"] in _READERS and CASES[case].refused and found["exit_code"] != 2,
        }.items()
        if is_wrong
    ]


def check(outcomes: list[dict[str, Any]]) -> None:
    problems = [f"{one['case']}: code ran" for one in outcomes if one["ran"]]
    problems += [f"{one['case']}: a secret is in a file" for one in outcomes if one["leaked"]]
    for one in outcomes:
        texts = ((found["name"], text) for found in one["found"] for text in wrong(one["case"], found))
        problems += [f"{one['case']}, {name}: {text}" for name, text in texts]
    codes = Counter(found["exit_code"] for one in outcomes for found in one["found"])
    print(f"{len(outcomes)} hostile stores, {sum(codes.values())} commands, exit codes {dict(codes)}")
    assert not problems, "\n".join(problems)
    assert {one["case"] for one in outcomes} == set(CASES)


def test_stores_from_strangers_do_no_harm(sound: Path, tmp_path: Path) -> None:
    check(opened(sound, tmp_path))


@pytest.mark.soak
def test_every_command_on_every_store(sound: Path, tmp_path: Path) -> None:
    check(opened(sound, tmp_path, thorough=True))
