"""What the report runs by itself: the studies of the tables, those of the figures, and the corrected ones."""

from __future__ import annotations

from pathlib import Path

from harness.paper.figures import index as figures
from harness.paper.page import corrected
from harness.paper.page.page import Page, default_file
from harness.paper.printed import asked
from harness.paper.studies import scenario, store_of, studies
from harness.paper.summary import Report
from harness.scenario.load import Loaded


class Needs:
    """All of them, or those of a first look, at the n and θ that are shown."""

    def __init__(self, results: str, quick: bool) -> None:
        self.results, self.quick = results, quick
        self.tables = studies(asked((), quick))
        self._figures = figures.needs(figures.FIGURES, quick)
        published = {**{name: scenario(name, some) for name, some in self.tables.items()}, **self._figures}
        many = {one.name: (one.loaded(quick), one.url(results)) for one in corrected.runs(quick)}
        self.loaded: dict[str, Loaded] = {f"paper/{name}": one for name, one in published.items()}
        self.loaded |= {name: one for name, (one, _) in many.items()}
        self.stores = {f"paper/{name}": store_of(results, name) for name in published}
        self.stores |= {name: url for name, (_, url) in many.items()}

    def file(self, output: str | None) -> Path:
        """Where the report goes; a folder for stores is made, one that was asked for isn't."""
        if output is not None:
            return Path(output)
        target = default_file(self.results)
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def page(self) -> Page:
        """From the stores, when all is run."""
        report = Report(self.tables, {name: self.stores[f"paper/{name}"] for name in self.tables})
        return Page(report, {name: self.stores[f"paper/{name}"] for name in self._figures}, self.results, self.quick)
