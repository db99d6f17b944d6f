"""The modules of the house, by name."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
OURS = ("ckrr", "cluster", "harness", "scenarios")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for package in OURS for path in sorted((ROOT / package).rglob("*.py"))}
