"""Reading a cluster file. Nothing in it is executed."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ValidationError

from cluster.spec import ClusterFile, Kind, checked, model_of


class Wrong(ValueError):
    """What is wrong with a cluster file: a sentence, or what pydantic found."""

    def __init__(self, where: str, problem: str | ValidationError, model: type[BaseModel] = ClusterFile) -> None:
        super().__init__(f"{where}: {problem}")
        self.where, self.problem, self.model = where, problem, model


def read(path: str | Path) -> ClusterFile:
    """A cluster file, checked whole.

    Raises
    ------
    cluster.Wrong
        With every mistake in it.
    """
    return parsed(text_of(path), str(path), Path(path).parent)


def parsed(text: str, where: str, folder: Path) -> ClusterFile:
    """The same of a text that stood in a file; the paths in it are relative to the folder."""
    model: type[BaseModel] = Kind
    try:
        plain = tomllib.loads(text)
        model = model_of(plain)
        return checked(plain, where, folder)
    except tomllib.TOMLDecodeError as error:
        raise Wrong(where, f"is not TOML: {error}") from None
    except ValidationError as error:
        raise Wrong(where, error, model) from None


def text_of(path: str | Path) -> str:
    """What stands in a cluster file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise Wrong(str(path), f"can't be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Wrong(str(path), f"is not text in UTF-8 (byte {error.start})") from None
