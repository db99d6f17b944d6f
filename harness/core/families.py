"""A family of procedures as part of a study: its name there, the names of its procedures, and the axes that it uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast

from harness.core.errors import UserError
from harness.core.packaged import FAMILIES
from harness.core.protocols import Family, FindsLam, LimitedFamily, SupportsInputSearch
from harness.core.schema.axes import CELL
from harness.core.types import Bools, Grid, Theta

MODEL_AXES = ("theta", "lam")
"""Axes of a grid that only the procedures use, not the data: a family may have no use for them."""
NO_VALUE = 0.0
"""Value of θ or λ where no procedure uses it: the only value of such an axis in a grid, and what `factor` is given."""


@dataclass(frozen=True)
class Uses:
    """Which of θ and λ the results of each procedure of a study depend on: the only place that knows.

    Examples
    --------
    >>> grid = Grid(("A", "mean"), (0.0,), ("ml-joint", 10.0), (0.1, 1.0), (25,), (0.1,))
    >>> uses = Uses({"mean": ()}, {"A": ("ml-joint",)})
    >>> uses.list_results("A", grid), uses.list_results("mean", grid)
    ([[(0, 0), (0, 1)], [(1, 0)], [(1, 1)]], [[(0, 0), (0, 1), (1, 0), (1, 1)]])
    """

    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Those of θ and λ that a procedure uses, for procedures that don't use both."""
    finds_lam: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Searches for θ that find λ, too, by procedure: there λ isn't used."""

    def uses_lam(self, procedure: str, theta: Theta) -> bool:
        """Return whether results of a procedure at a θ depend on λ."""
        axes = self.axes.get(procedure, MODEL_AXES)
        return "lam" in axes and not ("theta" in axes and theta in self.finds_lam.get(procedure, ()))

    def list_results(self, procedure: str, grid: Grid) -> list[list[tuple[int, int]]]:
        """Return the different results of a procedure, each by the positions (θ, λ) at which it stands."""
        every = range(len(grid.theta))
        thetas = [[t] for t in every] if "theta" in self.axes.get(procedure, MODEL_AXES) else [list(every)]
        found: list[list[tuple[int, int]]] = []
        for some in thetas:
            if self.uses_lam(procedure, grid.theta[some[0]]):
                found += [[(t, r) for t in some] for r in range(len(grid.lam))]
            else:
                found.append([(t, r) for t in some for r in range(len(grid.lam))])
        return found


@dataclass(frozen=True)
class StudyFamily:
    """A family of procedures in a study.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> forest = SimpleNamespace(procedures=("split", "CV+"), axes=(), reference=None)
    >>> one = StudyFamily("forest", forest, {"forest-split": "split", "forest-CV+": "CV+"})
    >>> one.labels, one.get_own_name("forest-split"), one.axes
    (('forest-split', 'forest-CV+'), 'split', ())
    """

    name: str
    """Name of the family in the study."""
    family: Family
    renamed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """The family's own name of each procedure, by its name in the study; empty if they are the same."""
    redraws: tuple[str, ...] = ()
    """Axes for which the source redraws its data, so that results depend on them whatever the family uses."""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of all procedures in the study."""
        return tuple(self.renamed or self.family.procedures)

    def get_own_name(self, label: str) -> str:
        """Return the family's own name of a procedure."""
        return self.renamed.get(label, label)

    @cached_property
    def given(self) -> tuple[str, ...]:
        """Those of θ and λ that the family is given."""
        used = self.family.axes if isinstance(self.family, LimitedFamily) else MODEL_AXES
        return tuple(axis for axis in MODEL_AXES if axis in used)

    def needs_target(self, theta: Theta) -> bool:
        """Return whether a θ is searched for with the targets, so that there is a fit for each of them."""
        if not isinstance(theta, str) or "theta" not in self.given:
            return False
        return not (isinstance(self.family, SupportsInputSearch) and theta in self.family.input_searches)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """Those of θ and λ that results depend on: the family uses them, or the source redraws its data for them."""
        return tuple(axis for axis in MODEL_AXES if axis in self.given or axis in self.redraws)

    @cached_property
    def finds_lam(self) -> tuple[str, ...]:
        """Searches for θ with which results don't depend on λ: they find it, and the source doesn't redraw its data."""
        if self.axes != MODEL_AXES or "lam" in self.redraws or not isinstance(self.family, FindsLam):
            return ()
        return tuple(self.family.finds_lam)

    def uses_lam(self, theta: Theta) -> bool:
        """Return whether results at a θ depend on λ."""
        return "lam" in self.axes and theta not in self.finds_lam

    def join_results(self, cells: Bools, grid: Grid) -> Bools:
        """Let the first λ stand for all of them at each θ at which λ isn't used, in a mask over …, θ and λ."""
        places = [t for t, theta in enumerate(grid.theta) if "theta" in self.axes and theta in self.finds_lam]
        if places:
            cells = cells.copy()
            first = cells[..., places, :].any(axis=-1)
            cells[..., places, :] = False
            cells[..., places, 0] = first
        return cells

    def find_places(self, grid: Grid) -> list[int]:
        """Return the positions of the family's procedures on the procedure axis of a grid."""
        return [i for i, label in enumerate(grid.procedure) if label in self.labels]

    def find_mask(self, grid: Grid) -> Bools:
        """Return which procedures of a grid are the family's, over (procedure, 1, 1, 1)."""
        import numpy as np

        return np.array([label in self.labels for label in grid.procedure]).reshape(-1, 1, 1, 1)

    def select_fits(self, cells: Bools, grid: Grid) -> Bools:
        """Return which fits some cells need, over γ, θ and λ; axes that the family doesn't use have length 1.

        Parameters
        ----------
        cells : array of bool
            Cells, over procedure, γ, θ and λ.
        grid : Grid
            The grid of the cells.
        """
        unused = tuple(CELL.index(axis) for axis in list_unused_axes(self.axes))
        found: Any = cells[self.find_places(grid)].any(axis=(0, *unused), keepdims=True)
        return self.join_results(cast("Bools", found[0]), grid)

    def list_scored(self, grid: Grid) -> tuple[str, ...]:
        """Return the family's own names of its procedures in a grid, then the reference if it isn't among them."""
        names = tuple(self.get_own_name(grid.procedure[i]) for i in self.find_places(grid))
        reference = self.family.reference
        return names if reference is None or reference in names else (*names, reference)


@dataclass(frozen=True)
class FamilyRecord:
    """What a store records of a family: everything that the results of its procedures depend on.

    It is kept for each family, so that another family extends a store, and a changed one concerns its own procedures.
    """

    use: str
    """Name of the family's code: a bundled name, "sklearn:…", "package.module:name" or "file.py:name"."""
    procedures: tuple[str, ...]
    """Procedures that the store has, by their names in the study."""
    axes: tuple[str, ...] = MODEL_AXES
    """Those of θ and λ that results depend on."""
    given: tuple[str, ...] = MODEL_AXES
    """Those of θ and λ that the family is given."""
    version: int | str = 0
    """Version of the family's numerics."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that the scenario sets."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Hash of each file next to the scenario that defines the family."""
    description: str = field(default="", compare=False)
    """What the family says it is, in one line."""
    finds_lam: tuple[str, ...] = field(default=(), compare=False)
    """Searches for θ in the store with which results don't depend on λ. Stores without any don't have this key."""

    @property
    def file_keys(self) -> Mapping[str, str]:
        """Name under which a store keeps each file: it contains the hash, so that an edited file has another one."""
        return {name: f"{hashed.removeprefix('sha256:')[:16]}-{name}" for name, hashed in self.files.items()}

    def is_same(self, other: FamilyRecord) -> bool:
        """Return whether two records are of the same family, possibly with other procedures."""
        return replace(self, procedures=()) == replace(other, procedures=())

    def extend(self, other: FamilyRecord) -> FamilyRecord:
        """Return the record of the same family with the procedures and searches of both."""
        procedures, searches = (
            tuple(dict.fromkeys((*mine, *more)))
            for mine, more in ((self.procedures, other.procedures), (self.finds_lam, other.finds_lam))
        )
        return replace(other, procedures=procedures, finds_lam=searches)


def check_version(url: str, name: str, record: FamilyRecord, version: int | str) -> None:
    """Raise UserError if a store has results of another version of a family, whose bits may differ.

    Parameters
    ----------
    url : str
        Address of the store.
    name : str
        Name of the family.
    record : FamilyRecord
        What the store records of it.
    version : int or str
        Version of the family's numerics here.
    """
    if record.version == version:
        return
    what = f"the family {name!r} is version {version} here, and {record.version} in {url}"
    if record.use in FAMILIES:
        raise UserError(
            f"{what}, whose last digits differ: tables, figures and reports still read the store; for all else "
            "choose another --store, or install the version that made it"
        )
    raise UserError(f"{what}: install the version that the store was made with")


def find_theta_owner(families: Mapping[str, FamilyRecord]) -> str | None:
    """Return the name of the family whose θ a store keeps as `theta_hat`: its first one that is given θ."""
    return next((name for name, one in families.items() if "theta" in one.given), None)


def list_placeholder_rules(
    families: Mapping[str, FamilyRecord], held: Grid, asked: Grid
) -> list[Mapping[str, tuple[object, ...]]]:
    """Return rules that exclude procedures that use θ or λ where the axis has no value, because none used it before.

    Parameters
    ----------
    families : mapping
        Records of all families, by name.
    held, asked : Grid
        Grid of the store, and the one that is asked for.
    """
    rules: list[Mapping[str, tuple[object, ...]]] = []
    for axis in MODEL_AXES:
        if axis == "lam" and any(one.finds_lam for one in families.values()):
            rules += _list_rules_without_lam(families, held, asked)
        elif NO_VALUE in getattr(held, axis):
            using = tuple(label for one in families.values() if axis in one.given for label in one.procedures)
            rules += [{axis: (NO_VALUE,), "procedure": using}] if using else []
    return rules


def _list_rules_without_lam(
    families: Mapping[str, FamilyRecord], held: Grid, asked: Grid
) -> list[Mapping[str, tuple[object, ...]]]:
    """Return rules that exclude cells without a λ but for those at which a search finds it."""
    if NO_VALUE not in (*held.lam, *asked.lam):
        return []
    rules: list[Mapping[str, tuple[object, ...]]] = []
    for one in families.values():
        thetas = tuple(dict.fromkeys(theta for theta in (*held.theta, *asked.theta) if theta not in one.finds_lam))
        if "lam" in one.given and thetas and one.procedures:
            rules.append({"theta": thetas, "lam": (NO_VALUE,), "procedure": one.procedures})
    return rules


def list_unused_axes(axes: Sequence[str]) -> tuple[str, ...]:
    """Return those of θ and λ that are not among the axes that a procedure uses."""
    return tuple(axis for axis in MODEL_AXES if axis not in axes)
