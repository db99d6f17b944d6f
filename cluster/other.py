"""Any cluster that Dask reaches, through a function of the user's. It is imported here, and only when work starts."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client
from distributed.deploy.cluster import Cluster

from cluster.reading import Wrong
from cluster.spec import Other


@contextmanager
def other(file: Other) -> Iterator[Client]:
    """A client of what the function makes, called with the file's options; both are closed at the end."""
    made = _made(file)
    if isinstance(made, Client):
        with made:
            yield made
    elif isinstance(made, Cluster):
        with made, Client(made, set_as_default=False) as client:
            yield client
    else:
        what = type(made).__name__
        raise Wrong(file.where, f"kind names {file.kind!r}, which must return a cluster or a client, got {what}")


def _made(file: Other) -> Any:
    function = _function(file)
    try:
        return function(**file.options)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise Wrong(file.where, f"kind names {file.kind!r}, which can't make a cluster: {said}") from error


def _function(file: Other) -> Callable[..., Any]:
    module, _, name = file.kind.partition(":")
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    except ImportError as error:
        raise Wrong(file.where, f"kind names {module!r}, which can't be imported: {error}") from None
    except AttributeError:
        raise Wrong(file.where, f"kind names {name!r}, which {module!r} doesn't have") from None
    return found
