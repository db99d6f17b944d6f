"""Read cluster files: the key `kind` determines which other keys there are."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, ValidationInfo

from cluster.config.base import ClusterFile
from cluster.config.fields import refuse
from cluster.config.files import ClusterFileError, parse_toml, read_text
from cluster.kinds.address import Address
from cluster.kinds.custom import Custom
from cluster.kinds.local import Local
from cluster.kinds.slurm import Slurm
from cluster.kinds.ssh import Ssh

KINDS: dict[str, type[ClusterFile]] = {"local": Local, "address": Address, "ssh": Ssh, "slurm": Slurm}


FindPlugin = Callable[[str], str | None]
"""Return "module:function" for a name that an installed package declares, or None."""


def _find_nothing(name: str) -> str | None:
    return None


def _check_kind(kind: str, info: ValidationInfo) -> str:
    find: FindPlugin = (info.context or {}).get("find", _find_nothing)
    if kind not in KINDS and not re.fullmatch(r"[\w.]+:\w+", kind) and find(kind) is None:
        near = "".join(f" (did you mean {each!r}?)" for each in get_close_matches(kind.casefold(), KINDS, n=1))
        refuse(f"one of {', '.join(KINDS)} or 'module:function'{near}")
    return kind


class Kind(BaseModel):
    """The key `kind`, which determines the other keys."""

    model_config = ConfigDict(strict=True)

    kind: Annotated[str, AfterValidator(_check_kind)]


def read(path: str | Path, find: FindPlugin = _find_nothing) -> ClusterFile:
    """Read and validate a cluster file.

    Parameters
    ----------
    path : str or Path
        The file.
    find : callable
        Returns "module:function" for a `kind` that an installed package declares by name. Default: none is known.

    Raises
    ------
    cluster.ClusterFileError
        If it can't be read or is invalid; lists all errors in it.
    """
    return parse(read_text(path), str(path), Path(path).parent, find)


def parse(text: str, where: str, folder: Path, find: FindPlugin = _find_nothing) -> ClusterFile:
    """Parse and validate the text of a cluster file; paths in it are relative to `folder`."""
    plain = parse_toml(text, where)
    if "kind" not in plain and {"grid", "source", "replications"} & plain.keys():
        how = f'`ckrr run {where}` runs it on this machine; a cluster file has a kind, such as kind = "local"'
        raise ClusterFileError(where, f"is a scenario, not a cluster file: {how}")
    model: type[BaseModel] = Kind
    try:
        name = Kind.model_validate(plain, context={"find": find}).kind
        model = kind = KINDS.get(name, Custom)
        found = kind.model_validate(plain, context={"folder": folder})
    except ValidationError as error:
        raise ClusterFileError(where, error, model) from None
    except OverflowError:
        raise ClusterFileError(where, "has a size or a time that is too large") from None
    found._where = where
    if isinstance(found, Custom) and ":" not in name:
        found._declared = find(name)
    return found
