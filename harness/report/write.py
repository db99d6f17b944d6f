"""Writing the report to a file."""

from __future__ import annotations

import os
from pathlib import Path

from harness.backends.address import is_url
from harness.core.errors import UserError
from harness.store.locate import find_store

LARGEST = 5_000_000
"""Bytes of a report that can be mailed."""


def get_default_file(url: str) -> Path:
    """Beside a store of this machine, `results/my.html` for `results/my.zarr`; here for one in a bucket."""
    name = url.rstrip("/").rpartition("/")[2].removesuffix(".zarr") or "report"
    return Path(f"{name}.html") if is_url(url) else Path(url).with_name(f"{name}.html")


def write(url: str, output: str | None = None, shown: str | None = None, settings: int | None = None) -> Path:
    """Writes the report of a store and says where; all or nothing.

    Parameters
    ----------
    url : the store, or a scenario, which means its default store
    output : the file; unless told, beside the store
    shown : how the reader knows the store
    settings : how many choices of γ, θ, λ and α have figures
    """
    url = find_store(url)
    target = Path(output) if output else get_default_file(url)
    check_target(target)
    from harness.report.page import render_page
    from harness.report.sections.figures import SETTINGS

    write_atomically(target, render_page(url, shown or url, SETTINGS if settings is None else settings))
    return target


def check_target(target: Path) -> None:
    """Refuses what can't be a file."""
    if target.is_dir():
        raise UserError(f"{target} is a directory: -o takes the name of a file")
    if not target.parent.is_dir():
        raise UserError(f"{target.parent} is no directory: -o takes a file in one that is there")


def write_atomically(target: Path, text: str) -> None:
    """Writes a file, all or nothing."""
    draft = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        draft.write_text(text, encoding="utf-8", errors="xmlcharrefreplace")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
