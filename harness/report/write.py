"""Write the report of a study to a file, and guard files that ckrr didn't write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from harness.backends.address import is_url
from harness.core.errors import UserError
from harness.parsing.files import read_regular_file
from harness.parsing.selections import Selection
from harness.parsing.targets import check_folder, open_draft
from harness.store.locate import find_store

COMPARISON = "comparison.html"
"""Default file of a report of several studies."""
LARGEST_PAGE = 1 << 30
"""Largest file that is looked at before it is replaced, in bytes."""


def get_default_file(url: str) -> Path:
    """Return the default file of a report.

    `results/my.html` for `results/my.zarr`; in the current folder for a store in a bucket.
    """
    name = url.rstrip("/").rpartition("/")[2].removesuffix(".zarr") or "report"
    return Path(f"{name}.html") if is_url(url) else Path(url).with_name(f"{name}.html")


def write(
    url: str,
    output: str | None = None,
    shown: str | None = None,
    settings: int | None = None,
    design: str | None = None,
    versus: str | None = None,
) -> Path:
    """Write the report of a store, and return the path of the file.

    The file is written completely or not at all.

    Parameters
    ----------
    url : str
        Store, or a scenario, which stands for its default store.
    output : str, optional
        File to write. Default: beside the store.
    shown : str, optional
        Name of the store in the commands that the report shows. Default: `url`.
    settings : int, optional
        Maximal number of combinations of γ, θ, λ and α with figures.
    design : {"fixed", "anytime"}, optional
        Design of the verdicts. Default: as the study needs it.
    versus : str, optional
        Procedure that others are compared with. Default: GPR-f, or the first one for y*.
    """
    url = find_store(url)
    target = Path(output) if output else get_default_file(url)
    check_target(target)
    from harness.report.page import render_page
    from harness.report.sections.figures import SETTINGS
    from harness.results.replications import keep_variables

    with keep_variables():
        page = render_page(url, shown or url, SETTINGS if settings is None else settings, design, versus)
    write_atomically(target, page)
    return target


def write_report(
    stores: str | Path | Sequence[str | Path],
    output: str | Path | None = None,
    where: Selection | None = None,
    versus: str | None = None,
    drawn: int | None = None,
    design: str | None = None,
    shown: Sequence[str] | None = None,
) -> Path:
    """Write the report of a study, or a comparison of several, as one HTML file, and return its path.

    Parameters
    ----------
    stores : str, Path or sequence of these
        Paths or URLs of stores, or scenarios, which stand for their default stores.
    output : str or Path, optional
        File to write. Default: beside the store; comparison.html in the current folder for several.
    where : mapping or str, optional
        For several stores: values to select, so that one cell of each procedure and study is left.
    versus : str, optional
        The procedure that others are compared with. Default for one store: GPR-f, or the first one for y*.
    drawn : int, optional
        For one store: maximal number of combinations of γ, θ, λ and α with figures.
    design : {"fixed", "anytime"}, optional
        Design of the verdicts. Default: as each study needs it.
    shown : sequence of str, optional
        Names of the stores in the commands that the report shows. Default: their paths.
    """
    some = [str(store) for store in ([stores] if isinstance(stores, str | Path) else stores)]
    file = None if output is None else str(output)
    if len(some) == 1:
        if where:
            raise UserError("where is for a report of several stores: that of one has all its cells")
        return write(some[0], file, shown[0] if shown else None, drawn, design, versus)
    if not some:
        raise UserError("there is no store to report on: name at least one")
    if drawn is not None:
        raise UserError("drawn is for the report of one store: that of several has no figures")
    target = Path(file or COMPARISON)
    check_target(target)
    from harness.report.comparison_page import render_comparison

    write_atomically(target, render_comparison(some, shown or some, where, versus, design))
    return target


def is_page(page: bytes) -> bool:
    """Return whether this or an earlier version of ckrr wrote a page."""
    by_0_1 = b" UTC by <code>ckrr " in page[-8000:]  # its footer: version 0.1 named no generator
    return by_0_1 or b'<meta name="generator" content="ckrr">' in page[:4096]


def check_target(
    target: Path,
    endings: Sequence[str] = (".html", ".htm"),
    option: str = "-o",
    is_ours: Callable[[bytes], bool] = is_page,
) -> None:
    """Raise UserError if the target can't be written, or if that would replace a file that isn't ours.

    Parameters
    ----------
    target : Path
        File to write.
    endings : sequence of str
        Endings that its name may have.
    option : str
        Option of the command line that named it.
    is_ours : callable
        Returns whether ckrr wrote a file with these contents.
    """
    check_folder(target, option)
    if target.suffix.lower() not in endings:
        raise UserError(f"{target} must end in {endings[0]}")
    if target.exists() and not _has_contents(target, is_ours):
        raise UserError(
            f"{target} exists and was not written by ckrr: choose another name with {option}, or remove it first"
        )


def _has_contents(target: Path, is_ours: Callable[[bytes], bool]) -> bool:
    try:
        return is_ours(read_regular_file(target, LARGEST_PAGE))
    except ValueError:
        return False


def write_atomically(target: Path, text: str) -> None:
    """Write a file completely or not at all."""
    with open_draft(target) as draft:
        draft.write_text(text, encoding="utf-8", errors="xmlcharrefreplace")
