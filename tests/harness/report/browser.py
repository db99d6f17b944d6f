"""A report in a real Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CHROMIUM = Path("/usr/bin/chromium")
MISSING = "there is no /usr/bin/chromium (apt-get install chromium)"
ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)


class Opened:
    """A page, with what it complained of and what it asked the network for."""

    def __init__(self, chromium: Any, report: Path, **options: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = chromium.new_page(**options)
        self.page.on("console", lambda one: self.complaints.append(one.text))
        self.page.on("pageerror", lambda one: self.complaints.append(str(one)))
        self.page.on("request", lambda one: self.requests.append(one.url))
        self.page.goto(report.as_uri())
