"""Check that a scenario and a store belong to the same study. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from harness.core.errors import UserError
from harness.core.families import FamilyRecord, check_version
from harness.core.packaged import FAMILIES
from harness.core.schema.measures import COVERAGE_EXPECTED
from harness.planning.study_changes import list_study_changes
from harness.store.manifest import FILES


def check_fingerprint(url: str, old: Mapping[str, Any], new: Mapping[str, Any], accept_changed: bool = False) -> None:
    """Raise UserError if a store belongs to another study, and list the differences.

    Parameters
    ----------
    url : str
        URL of the store, for the message.
    old, new : mapping
        Fingerprints of the store and of the scenario.
    accept_changed : bool
        Whether files of the source may differ: the user asserts that they give the same numbers.
    """
    old, new = ({**one, "files": {}} if accept_changed else one for one in (old, new))
    differing = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
    if differing == ["files"] and old["files"].keys() == new["files"].keys():
        names = ", ".join(name for name, hashed in old["files"].items() if new["files"][name] != hashed)
        how = "choose another --store, or add --accept-changed-source if it gives the same numbers"
        raise UserError(f"{url}: {names} was edited since the store was made (the old text is in {url}/{FILES}): {how}")
    if differing == ["keep"] and (COVERAGE_EXPECTED in old["keep"]) != (COVERAGE_EXPECTED in new["keep"]):
        has = "has" if COVERAGE_EXPECTED in old["keep"] else "doesn't have"
        how = "leave expected_coverage out of the scenario, or choose another --store"
        raise UserError(f"{url} {has} expected coverage, and the two aren't mixed in one store: {how}")
    if differing:
        also = "use the version of ckrr that made it" if differing == ["numerics"] else "another name in the scenario"
        text = "; ".join(list_study_changes(old, new))
        raise UserError(f"{url} belongs to another study: {text}. Choose another --store, or {also}")


def check_families(
    url: str, old: Mapping[str, FamilyRecord], new: Mapping[str, FamilyRecord], accept_changed: bool = False
) -> None:
    """Raise UserError if a family that a store has results of was changed since. Other families aren't concerned.

    Parameters
    ----------
    url : str
        URL of the store, for the message.
    old, new : mapping
        Records of the families of the store and of the scenario, by name.
    accept_changed : bool
        Whether files of a family may differ: the user asserts that they give the same numbers.
    """
    for name, one in new.items():
        for other, held in old.items():
            both = [label for label in one.procedures if label in held.procedures and other != name]
            if both:
                what = f"has {', '.join(both)} from family {other!r}, and the scenario takes it from {name!r}"
                raise UserError(f"{url} {what}: {_suggest_owner(one, held, old)}, or choose another --store")
        if name in old and one.use == old[name].use in FAMILIES:
            check_version(url, name, old[name], one.version)
        for problem in _find_changes(old[name], one, accept_changed) if name in old else ():
            stored = ", ".join(old[name].procedures)
            others = "or leave the family out to go on with the others"
            how = f"{_format_rename(one, old)} (in front of each of its procedures, if it has several); {others}"
            raise UserError(f"{url}: {problem} since {stored} of family {name!r} was computed: {how}")


def _suggest_owner(one: FamilyRecord, held: FamilyRecord, old: Mapping[str, FamilyRecord]) -> str:
    """Say how to write families that have the same procedure: bundled ones share it, others need another name."""
    if one.use not in FAMILIES or held.use not in FAMILIES:
        return _format_rename(one, old)
    contained = set(FAMILIES[one.use]) <= set(FAMILIES[held.use])
    return f'write family = "{held.use}"' if contained else f'write family = ["{held.use}", "{one.use}"]'


def _find_changes(old: FamilyRecord, new: FamilyRecord, accept_changed: bool) -> Iterator[str]:
    """Describe how a family was changed."""
    edited = [name for name, hashed in new.files.items() if old.files.get(name) != hashed]
    if edited and not accept_changed:
        yield f"{', '.join(edited)} was edited (if it gives the same numbers, add --accept-changed-source)"
    if old.use != new.use:
        yield f"its code was changed from {old.use!r} to {new.use!r}"
    for key in sorted({*old.parameters, *new.parameters}):
        before, after = (_format_parameter(one.parameters, key) for one in (old, new))
        if before != after:
            yield f"{key} was changed from {before} to {after}"
    if old.version != new.version:
        yield f"its version was changed from {old.version} to {new.version}"
    if old.axes != new.axes:
        yield f"the axes that it uses were changed from {list(old.axes)} to {list(new.axes)}"


def _format_parameter(parameters: Mapping[str, Any], key: str) -> str:
    return repr(parameters[key]) if key in parameters else "its default"


def _format_rename(one: FamilyRecord, old: Mapping[str, FamilyRecord]) -> str:
    """Show how to give a family, and so its procedures, a name that the store doesn't have yet."""
    taken = {*old, *(label for each in old.values() for label in each.procedures)}
    base = one.use.rpartition(":")[2]
    name = next(free for k in count(2) if (free := f"{base}_{k}") not in taken)
    settings = "".join(f", {key} = {json.dumps(value)}" for key, value in one.parameters.items())
    table = f'{{ use = "{one.use}", name = "{name}"{settings} }}'
    return f'give it another name: {table} in family, and "{name}" in grid.procedure'
