"""Check that a page is one well-formed file."""

from __future__ import annotations

from tests.harness.report.reading import Reader

LOADS = ("src", "srcset", "data", "poster", "action", "background")


def check_form(text: str) -> Reader:
    found = Reader(text)
    assert found.complaints == []
    assert text.startswith("<!DOCTYPE html>")
    names = [name for name, _ in found.elements]
    assert names.count("h1") == names.count("title") == names.count("main") == 1
    assert ("html", {"lang": "en"}) in found.elements
    ids = [one["id"] for _, one in found.elements if "id" in one]
    assert len(ids) == len(set(ids))
    targets = {one["for"] for name, one in found.elements if name == "label"}
    assert targets <= set(ids)
    return found
