"""Render the outcome of a check as JUnit XML, which continuous integration services show as tests.

Each cell is a test case: an invalid one has a `failure`, one that is undecided, borderline or without a result is
`skipped`, unless it is allowed to pass.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from harness.core.text import escape_line
from harness.results.check import CheckedCell, Outcome
from harness.statistics.verdicts import INVALID

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAME = "ckrr check"
_START = f'{_HEAD}<testsuites name="{_NAME}" '.encode()
_NO_CHARACTERS = re.compile("[\ufffe\uffff]")
"""Characters that XML doesn't allow, besides the control characters that `escape_line` replaces."""


def render_junit(outcome: Outcome, store: str) -> str:
    """Render the outcome of a check as JUnit XML.

    Parameters
    ----------
    outcome : Outcome
        Outcome of the check.
    store : str
        Name of the store, which becomes that of the test suite.
    """
    failures = outcome.counts[INVALID]
    skipped = sum(count for word, count in outcome.counts.items() if not outcome.is_passing(word)) - failures
    numbers = {"tests": outcome.cells.sizes["cell"], "failures": failures, "errors": 0, "skipped": skipped}
    counts = {name: str(count) for name, count in numbers.items()}
    root = ET.Element("testsuites", {"name": _NAME, **counts})
    suite = ET.SubElement(root, "testsuite", {"name": _clean(store), **counts})
    for cell in outcome.iter_cells():
        _add_case(suite, cell)
    ET.indent(root)
    return f"{_HEAD}{ET.tostring(root, encoding='unicode')}\n"


def is_junit(contents: bytes) -> bool:
    """Return whether a file with these contents was rendered by `render_junit`."""
    return contents.startswith(_START)


def _add_case(suite: ET.Element, cell: CheckedCell) -> None:
    case = ET.SubElement(
        suite, "testcase", {"classname": _clean(str(cell.axes["procedure"])), "name": _clean(cell.label)}
    )
    told = _clean(f"{cell.verdict}: {cell.describe()}")
    if cell.passes:
        ET.SubElement(case, "system-out").text = told
    elif cell.verdict == INVALID:
        ET.SubElement(case, "failure", {"type": cell.verdict, "message": told})
    else:
        ET.SubElement(case, "skipped", {"type": cell.verdict, "message": told})


def _clean(text: str) -> str:
    """Replace characters that XML doesn't allow by escape sequences; the XML library escapes the others."""
    return _NO_CHARACTERS.sub(lambda match: f"\\u{ord(match[0]):04x}", escape_line(text))
