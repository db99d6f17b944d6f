"""Start a cluster with a custom function, named as `kind = "module:function"`.

The function is imported when work starts, not before. Only functions decorated with `@cluster.cluster_function`, and
subclasses of Dask's clusters and clients, are called.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client
from distributed.deploy.cluster import Cluster

from cluster.config.load import ClusterFileError
from cluster.config.spec import Custom
from cluster.kinds.marking import is_cluster_function


@contextmanager
def custom(file: Custom) -> Iterator[Client]:
    """Call the function with the file's options and yield a client; close the client and the cluster at the end."""
    made = _call_function(file)
    if isinstance(made, Client):
        with made:
            yield made
    elif isinstance(made, Cluster):
        with made, Client(made, set_as_default=False) as client:
            yield client
    else:
        what = type(made).__name__
        raise ClusterFileError(
            file.where, f"kind names {file.kind!r}, which must return a cluster or a client, got {what}"
        )


def _call_function(file: Custom) -> Any:
    function = _import_function(file)
    try:
        return function(**file.options)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise ClusterFileError(file.where, f"kind names {file.kind!r}, which can't make a cluster: {said}") from error


def _import_function(file: Custom) -> Callable[..., Any]:
    module, _, name = file.kind.partition(":")
    try:
        imported = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        said = error if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        raise ClusterFileError(file.where, f"kind names {module!r}, which can't be imported: {said}") from None
    if not hasattr(imported, name):
        raise ClusterFileError(file.where, f"kind names {name!r}, which {module!r} doesn't have")
    found: Callable[..., Any] = getattr(imported, name)
    if not is_cluster_function(found):
        line = "put the line `@cluster.cluster_function` above its definition"
        text = f"kind names {file.kind!r}, which is not called: it is not marked as a function that makes a cluster"
        raise ClusterFileError(file.where, f"{text}; {line} (or name a class of clusters)")
    return found
