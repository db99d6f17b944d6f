"""A report never takes the place of a file that isn't a page of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.core.errors import UserError
from harness.report.write import check_target, write_atomically

PAGE = '<!DOCTYPE html>\n<html><head><meta charset="utf-8">\n<meta name="generator" content="ckrr">\n</head></html>\n'
BY_0_1 = "<html><footer><p>Written 2026-11-01 10:00 UTC by <code>ckrr paper --report</code>.</p></footer></html>\n"


@pytest.mark.parametrize("name", ["my.toml", "report", "my.html.txt"])
def test_a_page_ends_in_html(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"must end in \.html"):
        check_target(tmp_path / name)


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    target = tmp_path / "thesis.html"
    target.write_text("<html><title>My thesis</title></html>")
    with pytest.raises(UserError, match="exists and was not written by ckrr: choose another name with -o"):
        check_target(target)


@pytest.mark.parametrize("page", [PAGE, BY_0_1])
def test_our_own_page_is_replaced(page: str, tmp_path: Path) -> None:
    target = tmp_path / "my.html"
    target.write_text(page)
    check_target(target)
    write_atomically(target, PAGE)
    check_target(target)
