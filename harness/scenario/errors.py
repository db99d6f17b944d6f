"""Report all mistakes in a file at once, each with its key, its value, and what would be right.

Files may come from untrusted authors, so a report has a bounded number of lines of bounded length, and no control
characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from harness.core.errors import UserError
from harness.core.packaged import FAMILIES
from harness.core.text import escape_line, shorten, shorten_repr, suggest_name

MOST_SHOWN = 20
"""Maximum number of mistakes in a report; the others are counted."""
_LONGEST_LINE = 1000

_WORDS = {
    "missing": "is missing",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "greater_than": "must be > {gt}",
    "greater_than_equal": "must be >= {ge}",
    "less_than": "must be < {lt}",
    "less_than_equal": "must be <= {le}",
    "literal_error": "must be {expected}",
    "too_short": "must have at least {min_length} value",
    "too_long": "must have at most {max_length} values",
    "string_pattern_mismatch": "must start with a letter or digit and have only letters, digits, '.', '_' and '-'",
    "string_too_long": "must have at most {max_length} characters",
    "unexpected_keyword_argument": "is unknown",
    "missing_argument": "is missing",
    "missing_keyword_only_argument": "is missing",
}
UNKNOWN_NAME, COMPLETE_MESSAGE = "unknown_name", "said_all"
"""Custom pydantic error types: an unknown name, whose context has `name` and the `known` names; and a message that is
complete, so that the offending value is not appended."""
HINT = "hint"
"""Key of a custom error's context: text to add to the message after the value."""
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")


@dataclass(frozen=True)
class Complaint:
    """One mistake in a file: its key and what is wrong there."""

    key: str
    text: str
    """Empty for a mistake that is counted but not shown."""
    unknown: bool = False
    """Whether the key is unknown in its table."""

    def __str__(self) -> str:
        return f"{self.key} {self.text}" if self.key else self.text


def make_user_error(
    where: str, complaints: Iterable[Complaint], settings: Mapping[str, str] = MappingProxyType({})
) -> UserError:
    """Make one exception from all mistakes in a file: a line for each of the first ones, then the number of others.

    Parameters
    ----------
    where : str
        Name of the file.
    complaints : iterable of Complaint
        The mistakes, in the order in which they are shown.
    settings : mapping
        Keys changed by `--set`, with the setting; a mistake there is attributed to the setting, not to the file.

    Examples
    --------
    >>> print(make_user_error("my.toml", [Complaint(f"k{i}", "is unknown") for i in range(25)]))  # doctest: +ELLIPSIS
    my.toml: k0 is unknown
    ...
    my.toml: k19 is unknown
    my.toml: … and 5 more mistakes
    """
    all_of_them = list(complaints)
    first = [one for one in all_of_them if one.text][:MOST_SHOWN]
    lines = [f"{_find_origin(one.key, where, settings)}: {escape_line(str(one), _LONGEST_LINE)}" for one in first]
    more = len(all_of_them) - len(first)
    rest = [f"{where}: … and {more} more mistake{'s' if more > 1 else ''}"] if more else []
    return UserError("\n".join([*lines, *rest]))


def _find_origin(key: str, where: str, settings: Mapping[str, str]) -> str:
    """Return where the value of a key comes from: a `--set` option, or else the file.

    Examples
    --------
    >>> _find_origin("grid.n[1]", "my.toml", {"grid.n": "--set grid.n=[25,0]"})
    '--set grid.n=[25,0]'
    """
    setting = next((text for name, text in settings.items() if re.match(rf"{re.escape(name)}(?![\w-])", key)), None)
    return setting or where


def from_pydantic(error: ValidationError, names: Callable[[tuple[Any, ...]], Iterable[str]]) -> list[Complaint]:
    """Translate pydantic's errors into plain messages, one complaint per key.

    Parameters
    ----------
    error : ValidationError
        The error raised by pydantic.
    names : callable
        Returns the keys allowed in the table at a given location.

    Returns
    -------
    list of Complaint
        Complaints beyond those that a report shows have no text: there may be tens of thousands, and formatting is
        slow.
    """
    found: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for one in error.errors(include_url=False):
        found.setdefault(_get_location(one), one)
    lists = {where[:i] for where in found for i, part in enumerate(where) if isinstance(part, int)}
    kept = [(where, one) for where, one in found.items() if where not in lists]
    first = [_make_complaint(one, where, names) for where, one in kept[: 2 * MOST_SHOWN]]
    return [*first, *(Complaint("", "") for _ in kept[2 * MOST_SHOWN :])]


def _get_location(one: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the location of an error without pydantic's union branches; an unknown key may have the name of one."""
    parts, is_key = one["loc"], one["type"] in _UNKNOWN
    return tuple(part for i, part in enumerate(parts, 1) if not _is_noise(part) or (is_key and i == len(parts)))


def _make_complaint(
    one: Mapping[str, Any], where: tuple[Any, ...], names: Callable[[tuple[Any, ...]], Iterable[str]]
) -> Complaint:
    if not where:
        return Complaint("", str(one["msg"]))
    return Complaint(_format_key(where), _describe_error(one, where, names), unknown=one["type"] in _UNKNOWN)


def _format_key(where: tuple[Any, ...]) -> str:
    """Format a location as users write it, for example grid.theta[3]."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{_format_part(part)}" for part in where).removeprefix(
        "."
    )


def _format_part(part: object) -> str:
    """Return a key as written in the file, quoted if it has characters other than letters, digits, "_" and "-"."""
    text = shorten(str(part))
    return text if text.replace("_", "").replace("-", "").isalnum() else repr(text)


def _is_noise(part: object) -> bool:
    """Return whether part of a location is the name of a union branch, which pydantic inserts there."""
    return isinstance(part, str) and ("[" in part or part in ("str", "float", "int", "constrained-str"))


def _describe_error(
    one: Mapping[str, Any], where: tuple[Any, ...], names: Callable[[tuple[Any, ...]], Iterable[str]]
) -> str:
    kind = one["type"]
    if kind in _UNKNOWN:
        known = list(names(where[:-1]))
        return f"is unknown{suggest_name(str(where[-1]), known)}; known here: {', '.join(known)}"
    words = _WORDS.get(kind)
    context = one.get("ctx", {})
    text = words.format(**context) if words else str(one["msg"])
    if kind.startswith("missing") or kind == COMPLETE_MESSAGE:
        return text
    hint = str(context.get(HINT, ""))
    if kind == UNKNOWN_NAME and not hint:
        text += suggest_name(context["name"], context["known"])
    return f"{text}, got {shorten_repr(one['input'])}{hint}"


def suggest_family(procedure: str) -> str:
    """Return ": family = … has it" with the first bundled family that has a procedure, or "" if none has.

    Examples
    --------
    >>> suggest_family("split"), suggest_family("forest")
    (': family = "baselines" has it', '')
    """
    return next((f': family = "{name}" has it' for name, names in FAMILIES.items() if procedure in names), "")


def refuse_cluster_file(plain: Mapping[str, Any], where: str) -> None:
    """Raise UserError if the table of a scenario file is that of a cluster file, with the command that takes both."""
    if "kind" in plain and not {"grid", "source", "replications"} & plain.keys():
        what = f"is a cluster file (kind = {shorten_repr(plain['kind'])}), not a scenario"
        raise UserError(f"{where}: {what}: give it after a scenario, as in `ckrr run SCENARIO --cluster {where}`")


def suggest_table(complaint: Complaint, tables: Mapping[str, Iterable[str]]) -> Complaint:
    """Add the right table to the complaint about an unknown key, if the key is known in another table.

    Examples
    --------
    >>> one = Complaint("source.lam", "is unknown; known here: test", unknown=True)
    >>> str(suggest_table(one, {"[grid]": ["n", "lam"]}))
    'source.lam is unknown here: lam belongs in [grid]'
    """
    name = complaint.key.rpartition(".")[2]
    homes = [table for table, names in tables.items() if name in names]
    if not complaint.unknown or not homes:
        return complaint
    return replace(complaint, text=f"is unknown here: {name} belongs in {' or '.join(homes)}")


def make_key_lookup(model: type[BaseModel]) -> Callable[[tuple[Any, ...]], Iterable[str]]:
    """Return a function that maps a location in a model to the keys allowed there."""

    def names(where: tuple[Any, ...]) -> Iterable[str]:
        here: type[BaseModel] = model
        for part in where:
            if isinstance(part, str):
                here = _find_model(here.model_fields[part].annotation) or here
        return here.model_fields

    return names


def _find_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for each in get_args(annotation) if (found := _find_model(each))), None)


class ScenarioError(Exception):
    """Mistakes in one part of a scenario."""

    def __init__(self, *complaints: Complaint) -> None:
        super().__init__("; ".join(map(str, complaints)))
        self.complaints = complaints
