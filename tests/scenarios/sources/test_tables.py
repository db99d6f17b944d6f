"""Tables: how rows are resampled, and scaled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scenarios import Table
from scenarios.sources.tables import scale_table, table
from tests.scenarios.worlds import Recorded, parts


def numbered(rows: int = 20, test_points: int = 5) -> Table:
    """Row i is x = i, y = 100 + i."""
    i = np.arange(rows, dtype=float)
    return Table(i, 100 + i, test_points)


def test_a_draw_by_hand() -> None:
    streams = Recorded(1)
    source = numbered()
    sample = source.path(streams).draw(streams, 8, {})
    again = Recorded(1)
    order = again("rows").permutation(20)
    assert sample.y_test.tolist() == (100 + order[:5]).tolist()
    assert sample.y.tolist() == (100 + order[5:13]).tolist()
    assert (sample.X[:, 0] == sample.y - 100).all()
    assert (sample.X_test[:, 0] == sample.y_test - 100).all()
    assert (parts(sample)["noise"] == again("noise").standard_normal(8)).all()
    assert (parts(sample)["noise_test"] == again("test noise").standard_normal(5)).all()
    assert set(streams.names) == set(again.names)


def test_rows_are_used_once() -> None:
    sample = numbered().draw(Recorded(3), 15, {})
    assert sorted([*sample.y, *sample.y_test]) == [100 + i for i in range(20)]


def test_the_largest_sample() -> None:
    assert numbered().largest_n == 15
    with pytest.raises(ValueError, match=r"^n must be at most 15 \(20 rows − 5 test points\), got 16$"):
        numbered().draw(Recorded(3), 16, {})


def test_rows_are_exchangeable() -> None:
    """Each row is a test row equally often, and the rank of a test row among the train rows is uniform."""
    source = numbered(rows=12, test_points=2)
    draws = 4000
    tested, ranks = np.zeros(12), np.zeros(5)
    for draw in range(draws):
        sample = source.draw(Recorded(9, draw), 4, {})
        tested[sample.X_test[:, 0].astype(int)] += 1
        ranks[(sample.y < sample.y_test[0]).sum()] += 1
    assert abs(tested / draws - 2 / 12).max() < 5 * np.sqrt(10 / 72 / draws)
    assert abs(ranks / draws - 0.2).max() < 5 * np.sqrt(0.16 / draws)


def test_a_table_keeps_its_own_copy() -> None:
    X, y = np.zeros((4, 1)), np.zeros(4)
    source = Table(X, y, 1)
    X[:], y[:] = 1, 1
    assert not source.X.any()
    assert not source.y.any()


def test_scaling() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(50, 7, (30, 3)), rng.normal(-3, 2, 30)
    X[:, 1] = 4.0
    scaled_X, scaled_y = scale_table(X, y)
    for j in (0, 2):
        assert scaled_X[:, j] == pytest.approx((X[:, j] - min(X[:, j])) / (max(X[:, j]) - min(X[:, j])))
        assert (scaled_X[:, j].min(), scaled_X[:, j].max()) == (0, 1)
    assert (scaled_X[:, 1] == 0).all()
    assert scaled_y.mean() == pytest.approx(0, abs=1e-14)
    assert scaled_y.var() == pytest.approx(1)
    assert (scale_table(X, np.full(30, 0.1))[1] == 0).all()


def test_scaling_is_symmetric_in_the_rows() -> None:
    rng = np.random.default_rng(1)
    X, y, order = rng.random((30, 2)), rng.random(30), rng.permutation(30)
    for shuffled, plain in zip(scale_table(X[order], y[order]), scale_table(X, y), strict=True):
        assert shuffled == pytest.approx(plain[order], abs=1e-14)


@pytest.mark.parametrize("scale", [False, True])
def test_a_table_from_a_file(tmp_path: Path, scale: bool) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,y,b\n" + "".join(f"{i},{i * i},{-i}\n" for i in range(10)))
    source = table(str(file), target="y", test_points=3, scale=scale)
    i = np.arange(10.0)
    X, y = np.column_stack([i, -i]), i**2
    expected = scale_table(X, y) if scale else (X, y)
    for array, wanted in zip((source.X, source.y), expected, strict=True):
        assert (array == wanted).all()
    assert (source.dimension, source.test_points, source.largest_n) == (2, 3, 7)


def test_too_few_rows(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,y\n1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"^test_points must be less than the 2 rows of .*t\.csv, got 200$"):
        table(str(file))
    with pytest.raises(ValueError, match=r"^test_points must be less than the 20 rows of the table, got 20$"):
        numbered(test_points=20)
