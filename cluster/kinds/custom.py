"""Start a cluster with a custom function, named as `kind = "module:function"`.

The function is imported when work starts, not before. Only functions decorated with `@cluster.cluster_function`,
subclasses of Dask's clusters and clients, and what an installed package declares for a name, are called.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from distributed import Client
from distributed.deploy.cluster import Cluster
from pydantic import BaseModel, ConfigDict, PrivateAttr

from cluster.config.base import ClusterFile, Size, StartOptions
from cluster.config.fields import Bytes, Count, Duration
from cluster.config.files import ClusterFileError
from cluster.kinds.marking import is_cluster_function
from cluster.runtime.private import scratch_directory


class PlanTable(BaseModel):
    """Table [plan]: what to plan with, for a cluster that a custom function starts."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    workers: Count = 1
    memory: Bytes | None = None
    """Per worker."""
    lifetime: Duration = inf


class Custom(ClusterFile):
    """A cluster from a custom function, `kind = "module:function"`, called with the other keys as keyword arguments."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    plan: PlanTable = PlanTable()
    _declared: str | None = PrivateAttr(None)
    """Where the function is, "module:function", if `kind` is a name that an installed package declares for it."""

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments for the function."""
        return dict(self.model_extra or {})

    def get_size(self) -> Size:
        """Return the size that the table [plan] gives."""
        return Size(self.plan.workers, self.plan.memory or inf, self.threads, self.plan.lifetime)

    @contextmanager
    def connect(self, options: StartOptions) -> Iterator[Client]:
        """Call the function."""
        with scratch_directory(self.where), custom(self) as client:
            yield client


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
    module, _, name = (file._declared or file.kind).partition(":")
    try:
        imported = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        said = error if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        raise ClusterFileError(file.where, f"kind names {module!r}, which can't be imported: {said}") from None
    if not hasattr(imported, name):
        raise ClusterFileError(file.where, f"kind names {name!r}, which {module!r} doesn't have")
    found: Callable[..., Any] = getattr(imported, name)
    if file._declared is None and not is_cluster_function(found):
        line = "put the line `@cluster.cluster_function` above its definition"
        text = f"kind names {file.kind!r}, which is not called: it is not marked as a function that makes a cluster"
        raise ClusterFileError(file.where, f"{text}; {line} (or name a class of clusters)")
    return found
