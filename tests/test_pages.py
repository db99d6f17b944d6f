"""Sphinx builds the pages without a warning: every link and every reference leads somewhere. Examples aren't run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zlib
from importlib.util import find_spec
from pathlib import Path

import pytest

import ckrr
import ckrr.baselines
import ckrr.study
from tests.house import ROOT

pytestmark = pytest.mark.skipif(find_spec("sphinx_gallery") is None, reason="needs the extra docs: Sphinx builds them")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Sphinx made of a copy, since the gallery writes beside its sources."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("_build", "auto_examples"))
    shutil.copytree(ROOT / ".readme", folder / ".readme")
    for name in ("SECURITY.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "cluster", folder / "cluster", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    options = ["-W", "-q", "--keep-going", "-D", "plot_gallery=0"]
    command = [sys.executable, "-m", "sphinx", *options, str(folder / "docs"), str(folder / "html")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder / "docs")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


def test_the_reference_has_every_public_name(site: Path) -> None:
    data = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    known = {line.split()[0] for line in zlib.decompress(data).decode().splitlines()}
    wanted = {f"ckrr.{name}" for name in [*ckrr.__all__, "ConformalKernelRidge", "NUMERICS_VERSION"]}
    wanted |= {f"ckrr.baselines.{name}" for name in ckrr.baselines.__all__}
    wanted |= {f"ckrr.study.{name}" for name in ckrr.study.__all__}
    wanted |= {"scenarios.source", "scenarios.Synthetic", "cluster.cluster_function"}
    wanted |= {f"harness.core.protocols.{name}" for name in ("Source", "Family", "SupportsHoldout")}
    assert wanted <= known, wanted - known


def test_every_page_can_be_reached(site: Path) -> None:
    """Sphinx warns of pages that are in no table of contents; these are those that it made."""
    for name in ("start", "questions", "faq", "glossary", "api/study", "auto_examples/plot_1_bands"):
        assert (site / f"{name}.html").is_file()
    assert "--accept-changed-source" in (site / "commands.html").read_text()
