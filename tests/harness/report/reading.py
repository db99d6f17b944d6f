"""Reading a report as a machine does: is it well formed, and what is in it?"""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "input", "img"}
ENDS_BY_ITSELF = {"td", "th", "tr"}
"""Their end tags may be left out, where another begins or the parent ends."""


@dataclass
class Table:
    caption: str = ""
    rows: list[list[str]] = field(default_factory=list)


class Reader(HTMLParser):
    """Every element with its attributes, tables as lists, and a complaint for each end that doesn't match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.complaints: list[str] = []
        self.tables: list[Table] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        self.complaints += [f"{name} isn't closed" for name in self.open]

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attributes)))
        if name in ENDS_BY_ITSELF:
            while self.open and self.open[-1] in (ENDS_BY_ITSELF if name == "tr" else {"td", "th"}):
                self.open.pop()
        if name == "table":
            self.tables.append(Table())
        elif name == "tr":
            self.tables[-1].rows.append([])
        elif name in ("td", "th"):
            self.tables[-1].rows[-1].append("")
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        while self.open and self.open[-1] != name and self.open[-1] in ENDS_BY_ITSELF:
            self.open.pop()
        if not self.open or self.open[-1] != name:
            self.complaints.append(f"</{name}> at {self.getpos()} closes {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_startendtag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attributes)))

    def handle_data(self, data: str) -> None:
        if "script" in self.open or "style" in self.open:
            return
        self.text.append(data)
        if "caption" in self.open:
            self.tables[-1].caption += data
        elif self.tables and self.tables[-1].rows and self.tables[-1].rows[-1] and "table" in self.open:
            self.tables[-1].rows[-1][-1] += data.rstrip("\n")

    def table(self, beginning: str) -> Table:
        """By the beginning of its caption."""
        return next(one for one in self.tables if one.caption.startswith(beginning))

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).replace("\u00a0", " ").split())
