"""The commit of the installed ckrr."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.core import environment as module
from harness.core.environment import find_commit
from tests.harness.studies import ROOT, run_serially


def test_a_run_records_the_commit(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    head = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    record = run_serially(tmp_path / "toy.zarr", order=[0])
    assert str(record.history[-1]["commit"]).rstrip("+") == head.stdout.strip()


def test_without_a_checkout_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also inside the repository of somebody else, and where git says no."""
    monkeypatch.setattr(module, "__file__", str(tmp_path / "harness" / "core" / "environment.py"))
    subprocess.run(["git", "init", "-q", str(tmp_path.parent)], check=True)
    assert find_commit.__wrapped__() is None
    (tmp_path / ".git").write_text("nonsense")
    assert find_commit.__wrapped__() is None
