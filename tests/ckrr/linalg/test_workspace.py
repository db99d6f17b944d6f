"""Buffers that are used again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import ckrr
from ckrr.linalg import workspace


def test_each_thread_keeps_its_own() -> None:
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(workspace.shared_workspace).result()
        assert pool.submit(workspace.shared_workspace).result() is other
    assert workspace.shared_workspace() is workspace.shared_workspace()
    assert workspace.shared_workspace() is not other


def test_large_buffers_are_let_go() -> None:
    before = workspace.shared_workspace()
    before("large", (workspace._KEPT + 1,))
    assert workspace.shared_workspace() is not before


def test_what_was_answered_stays() -> None:
    """No result lies in a buffer that the next call uses."""
    rng = np.random.default_rng(0)
    X, y, X_new = rng.random(30), rng.random(30), rng.random(40)
    fit = ckrr.fit(X, y, 100.0, 1e-6)
    for procedure in ckrr.PROCEDURES:
        regions, p, scores = (
            fit.regions(X_new, procedure),
            fit.p_values(X_new, X_new, procedure),
            fit.score(X_new, X_new),
        )
        kept = [each.copy() for each in (regions.lower, regions.upper, regions.beyond.hi, p, scores.lower)]
        ckrr.fit(X, 5 * y**2, 30.0, 1e-6).score(rng.random(50), rng.random(50))
        now = (regions.lower, regions.upper, regions.beyond.hi, p, scores.lower)
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(kept, now, strict=True))
