"""Read the text and the TOML of a cluster file. Nothing in it is executed, and only small regular files are read.

The file may be untrusted. `tomllib` takes quadratic time and memory for a dotted key with many parts, and recurses in
nested lists: 16 kB limit that to a second.
"""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

LARGEST = 1 << 14
"""Maximum bytes of a file: enough for a thousand host names."""
_LONGEST_REASON = 200


class ClusterFileError(ValueError):
    """A cluster file is invalid, or its cluster can't be started as described.

    Parameters
    ----------
    where : str
        The file.
    problem : str or pydantic.ValidationError
        What is wrong.
    model : type
        Model that the file was validated against.
    """

    def __init__(self, where: str, problem: str | ValidationError, model: type[BaseModel] = BaseModel) -> None:
        super().__init__(f"{where}: {problem}")
        self.where, self.problem, self.model = where, problem, model


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Parse the text of a cluster file."""
    if len(text) > LARGEST:
        raise _make_size_error(where)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ClusterFileError(where, f"is not TOML: {str(error)[:_LONGEST_REASON]}") from None
    except RecursionError:
        raise ClusterFileError(where, "is nested too deeply") from None
    except ValueError:  # Python reads no more than 4300 decimal digits
        raise ClusterFileError(where, "has a whole number of more than 64 bits") from None


def _make_size_error(where: str) -> ClusterFileError:
    return ClusterFileError(where, f"has more than {LARGEST >> 10} kB")


def read_text(path: str | Path) -> str:
    """Read the text of a cluster file; refuse FIFOs and devices, which could block or never end."""
    try:
        with open(path, "rb", opener=_open_nonblocking) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ClusterFileError(str(path), "can't be read: it is no regular file")
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise _make_size_error(str(path))
        return data.decode()
    except OSError as error:
        raise ClusterFileError(str(path), f"can't be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ClusterFileError(str(path), f"is not text in UTF-8 (byte {error.start})") from None


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file without blocking, so that a FIFO without a writer can be refused."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
