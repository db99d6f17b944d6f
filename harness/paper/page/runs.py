"""List the runs that the report needs: the studies of the tables, of the figures, and the corrected ones."""

from __future__ import annotations

from pathlib import Path

from harness.paper.figures import index as figures
from harness.paper.page import corrected
from harness.paper.page.page import PaperPage, get_default_file
from harness.paper.printed import select_printed
from harness.paper.studies import get_store_url, group_by_study, load_published
from harness.paper.summary import PaperReport
from harness.scenario.load import Loaded


class RequiredRuns:
    """Scenarios and stores of a report, at the n and θ that it shows.

    Parameters
    ----------
    results : str
        Folder of the stores.
    quick : bool
        Whether to run only the subset of `--quick`.
    """

    def __init__(self, results: str, quick: bool) -> None:
        self.results, self.quick = results, quick
        self.tables = group_by_study(select_printed((), quick))
        self._figures = figures.load_needed_studies(figures.FIGURES, quick)
        published = {**{name: load_published(name, some) for name, some in self.tables.items()}, **self._figures}
        many = {one.name: (one.load(quick), one.get_store_url(results)) for one in corrected.list_studies(quick)}
        self.loaded: dict[str, Loaded] = {f"paper/{name}": one for name, one in published.items()}
        self.loaded |= {name: one for name, (one, _) in many.items()}
        self.stores = {f"paper/{name}": get_store_url(results, name) for name in published}
        self.stores |= {name: url for name, (_, url) in many.items()}

    def resolve_file(self, output: str | None) -> Path:
        """Return the file of the report; the default folder is created, that of `output` isn't."""
        if output is not None:
            return Path(output)
        target = get_default_file(self.results)
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def make_page(self) -> PaperPage:
        """Build the page from the stores, once all runs are complete."""
        report = PaperReport(self.tables, {name: self.stores[f"paper/{name}"] for name in self.tables})
        return PaperPage(
            report, {name: self.stores[f"paper/{name}"] for name in self._figures}, self.results, self.quick
        )
