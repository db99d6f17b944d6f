"""Bad input gets one line that names the argument and the value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ckrr

X, Y = np.linspace(0, 1, 5)[:, None], np.arange(5.0)
FIT = ckrr.fit(X, Y, theta=1.0, lam=0.1)
NAN = np.array([0.0, np.nan, 1.0, np.inf, 2.0])

BAD: list[tuple[str, Callable[[], object]]] = [
    (r"X must be finite, got nan at X\[1\] \(2 such\)", lambda: ckrr.fit(NAN, Y, 1.0, 0.1)),
    (r"X must be finite, got nan at X\[1, 0\] \(1 such\)", lambda: ckrr.fit([[0.0], [np.nan]], [0, 1], 1.0, 0.1)),
    (r"X must be an array of real numbers, got \['a', 'b'\]", lambda: ckrr.fit(["a", "b"], [0, 1], 1.0, 0.1)),
    (r"X must be an array of real numbers, got 'text'", lambda: ckrr.fit("text", Y, 1.0, 0.1)),
    (
        r"X must be an array of real numbers, got array\(\[1\.\+1\.j\]\)",
        lambda: ckrr.fit(np.array([1 + 1j]), [0], 1.0, 0.1),
    ),
    (r"X must be an array of real numbers, got \[None, 1\]", lambda: ckrr.fit([None, 1], [0, 1], 1.0, 0.1)),
    (
        r"X must be an array of numbers, got rows of unequal length: \[\[1\], \[1, 2\]\]",
        lambda: ckrr.fit([[1], [1, 2]], [0, 1], 1.0, 0.1),
    ),
    (r"X must be an array, got the single value 3", lambda: ckrr.fit(3, [0], 1.0, 0.1)),
    (r"X must not be empty, got shape \(0, 1\)", lambda: ckrr.fit([], [], 1.0, 0.1)),
    (r"X must not be empty, got shape \(3, 0\)", lambda: ckrr.fit(np.empty((3, 0)), [1, 2, 3], 1.0, 0.1)),
    (
        r"X must be of shape \(points, dimension\), got shape \(2, 2, 2\)",
        lambda: ckrr.fit(np.zeros((2, 2, 2)), [0, 1], 1.0, 0.1),
    ),
    (r"y must be of shape \(5,\), one for each row of X, got shape \(4,\)", lambda: ckrr.fit(X, Y[:4], 1.0, 0.1)),
    (
        r"y must be of shape \(5,\), one for each row of X, got shape \(5, 1\) \(try y.ravel\(\)\)",
        lambda: ckrr.fit(X, Y[:, None], 1.0, 0.1),
    ),
    (r"y must be finite, got nan at y\[1\] \(2 such\)", lambda: ckrr.fit(X, NAN, 1.0, 0.1)),
    (
        r"y must not have masked values, got 1 of them",
        lambda: ckrr.fit(X, np.ma.masked_greater(Y, 3), 1.0, 0.1),
    ),
    (r"theta must be a finite number > 0, got 0", lambda: ckrr.fit(X, Y, 0, 0.1)),
    (r"theta must be a finite number > 0, got inf", lambda: ckrr.fit(X, Y, np.inf, 0.1)),
    (r"theta must be a number > 0 or one of ml, .*, got 'tiny'", lambda: ckrr.fit(X, Y, "tiny", 0.1)),
    (
        r"theta must be a number > 0, got 'ml' \(for a search use factor_ml\)",
        lambda: ckrr.Inputs(X, X).factor("ml", 0.1),  # type: ignore[arg-type]
    ),
    (
        r"X_new must have 2 columns as X has, got shape \(2,\) \(one point is \[\[…\]\]\)",
        lambda: ckrr.fit(np.eye(2), [0, 1], 1.0, 0.1).predict([0.5, 0.5]),
    ),  # type: ignore[arg-type]
    (r"theta must be a finite number > 0, got \[1, 2\]", lambda: ckrr.fit(X, Y, [1, 2], 0.1)),  # type: ignore[arg-type]
    (r"lam must be a finite number > 0, got -1", lambda: ckrr.fit(X, Y, 1.0, -1)),
    (r"lam must be a finite number > 0, got nan", lambda: ckrr.fit(X, Y, 1.0, np.nan)),
    (r"lam must be a finite number > 0, got None", lambda: ckrr.fit(X, Y, 1.0, None)),  # type: ignore[arg-type]
    (r"lam must be a finite number > 0, got True", lambda: ckrr.fit(X, Y, 1.0, True)),
    (r"X_new must have 1 column as X has, got shape \(1, 2\)", lambda: FIT.predict([[1.0, 2.0]])),
    (r"X_new must be finite, got inf at X_new\[0\] \(1 such\)", lambda: FIT.predict([np.inf])),
    (r"X_new must not be empty, got shape \(0, 1\)", lambda: FIT.regions([])),
    (r"y_new must be of shape \(2,\), one for each row of X_new, got shape \(1,\)", lambda: FIT.p_values([0, 1], [1])),
    (r"y_new must be of shape \(1,\), one for each row of X_new, got shape \(2,\)", lambda: FIT.score([0], [1, 2])),
    (
        r"y must be of shape \(1,\), one for each row of X_new, got shape \(2,\)",
        lambda: FIT.regions([0]).contains([1, 2]),
    ),
    (
        r"procedure must be one of GPR-f, .*, got 'RRCM-lo' \(did you mean 'RRCM-loo'\?\)",
        lambda: FIT.regions([0], "RRCM-lo"),
    ),
    (r"procedure must be one of GPR-f, .*, got 'gpr-F' \(did you mean 'GPR-f'\?\)", lambda: FIT.regions([0], "gpr-F")),
    (r"procedure must be one of GPR-f, .*, got 7", lambda: FIT.p_values([0], [0], 7)),  # type: ignore[arg-type]
    (r"procedures must name at least one of GPR-f, .*, got none", lambda: FIT.score([0], [0], [])),
    (r"procedures must not repeat a name, got \['CRR', 'CRR'\]", lambda: FIT.score([0], [0], ["CRR", "CRR"])),
    (r"alpha must be a number strictly between 0 and 1, got 1\.0", lambda: FIT.regions([0], alpha=1.0)),
    (r"boundary must be '>=' .*, got '≥'", lambda: FIT.regions([0], boundary="≥")),
    (r"X_test must have 1 column as X has, got shape \(2, 2\)", lambda: ckrr.Inputs(X, np.zeros((2, 2)))),
    (
        r"Y must be of shape \(5, targets\), one row for each row of X, got shape \(4, 2\)",
        lambda: ckrr.Inputs(X, X).factor(1.0, 0.1).score(np.zeros((4, 2)), np.zeros((5, 2))),
    ),
    (
        r"Y_test must have 2 columns as Y has, got shape \(5, 3\)",
        lambda: ckrr.Inputs(X, X).factor(1.0, 0.1).score(np.zeros((5, 2)), np.zeros((5, 3))),
    ),
]


@pytest.mark.parametrize(("message", "call"), BAD, ids=[message[:40] for message, _ in BAD])
def test_bad_input_is_named(message: str, call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        call()


def test_components_outside_are_named() -> None:
    with pytest.raises(IndexError, match=r"^i, j must be a point of 1 and a level of 1, got 1, 0$"):
        FIT.regions([0.5]).components(1)


def test_what_is_there_is_told() -> None:
    assert "ConformalKernelRidge" in dir(ckrr)
    assert repr(FIT.score([0.5], [2.0], "RRCM", 0.3)) == "<Scores of shape (1, 1, 1): 100.0% hits>"
    with pytest.raises(AttributeError, match=r"^module 'ckrr' has no attribute 'nothing'$"):
        _ = ckrr.nothing


def test_long_values_are_shortened() -> None:
    with pytest.raises(ValueError, match=r"^X must be an array of real numbers, got .{60}…$"):
        ckrr.fit(["text"] * 100, Y, 1.0, 0.1)
