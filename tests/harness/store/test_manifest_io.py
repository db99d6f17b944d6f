"""A manifest that could not be read back is never written."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.backends.base import open_backend
from harness.core.errors import UserError
from harness.execution import lifecycle
from harness.store.manifest_io import load_manifest
from tests.harness.studies import prepared


@pytest.mark.parametrize("exists", [False, True])
def test_a_store_stays_readable(tmp_path: Path, exists: bool) -> None:
    """A description has no limit in a scenario, and one in a store; without other changes only attributes are saved."""
    store = tmp_path / "a.zarr"
    before = lifecycle.begin_run(prepared(store)) if exists else None
    with pytest.raises(UserError, match=r"can't hold this study: .*description"):
        lifecycle.begin_run(prepared(store, description="x" * 100_001))
    assert load_manifest(open_backend(str(store))) == before
