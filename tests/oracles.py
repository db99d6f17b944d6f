"""Slow, obvious twins of the fast code. They share nothing with it but the definitions.

Three kinds, in exact rationals (`Fraction`) or in ball arithmetic of some hundred bits (python-flint):

- `Lines`: regions and p-values by evaluating the definition at every breakpoint and in every gap, given the residuals
  as lines in the candidate;
- `coefficients`: the same lines from the data, by dense solves with a thousand bits;
- `refitted_p_value`: a p-value by refitting the model to the sample augmented with the candidate; leave-one-out
  residuals by deleting rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isqrt

import numpy as np
from flint import arb, arb_mat, ctx

BITS = 1024
"""Of the ball arithmetic: inverting an ill-conditioned matrix costs it hundreds. What comes out is rounded to KEPT."""
KEPT = 128

Component = tuple[Fraction | float, Fraction | float]


@dataclass(frozen=True)
class Lines:
    """Residuals r_i = A_i − W_i s of the train points and r_N = s of the test point, as exact rationals."""

    A: Sequence[Fraction]
    W: Sequence[Fraction]

    @property
    def N(self) -> int:
        return len(self.A) + 1

    def residuals(self, s: Fraction) -> list[Fraction]:
        return [A - W * s for A, W in zip(self.A, self.W, strict=True)]

    def rrcm_count(self, s: Fraction) -> int:
        return 1 + sum(abs(r) >= abs(s) for r in self.residuals(s))

    def crr_counts(self, s: Fraction) -> tuple[int, int]:
        r = self.residuals(s)
        return 1 + sum(each >= s for each in r), 1 + sum(each <= s for each in r)

    def p_value(self, score: str, s: Fraction) -> Fraction:
        if score == "RRCM":
            return Fraction(self.rrcm_count(s), self.N)
        return min(Fraction(1), Fraction(2 * min(self.crr_counts(s)), self.N))

    def crossings(self, score: str) -> list[Fraction]:
        """All s at which some count may change, in ascending order."""
        found = {Fraction(0)}
        for A, W in zip(self.A, self.W, strict=True):
            found |= {A / (1 + W)} if W != -1 else set()
            if score == "RRCM":
                found |= {-A / (1 - W)} if W != 1 else set()
        return sorted(found)

    def profile(self, score: str) -> list[tuple[Component, Fraction]]:
        """The p-value at every breakpoint, as (b, b), and in every gap (b, c) between two, in ascending order."""
        points = self.crossings(score)
        gaps: list[tuple[Component, Fraction]] = [
            ((-inf, points[0]), points[0] - 1),
            *(((b, c), (b + c) / 2) for b, c in itertools.pairwise(points)),
            ((points[-1], inf), points[-1] + 1),
        ]
        spots = [spot for pair in zip(gaps, ((((b, b), b)) for b in points), strict=False) for spot in pair]
        spots.append(gaps[-1])
        return [(spot, self.p_value(score, at)) for spot, at in spots]


@dataclass(frozen=True)
class WeightedLines(Lines):
    """The same residuals with weights: p adds up the weights of those that count."""

    w: Sequence[int]
    own: int

    def p_value(self, score: str, s: Fraction) -> Fraction:
        r, whole = self.residuals(s), sum(self.w, self.own)
        if score == "RRCM":
            return Fraction(self._weigh([abs(each) >= abs(s) for each in r]), whole)
        fewer = min(self._weigh([each >= s for each in r]), self._weigh([each <= s for each in r]))
        return min(Fraction(1), Fraction(2 * fewer, whole))

    def _weigh(self, counted: Sequence[bool]) -> int:
        return sum((w for w, counts in zip(self.w, counted, strict=True) if counts), self.own)


def weigh(lines: Lines, w: Sequence[float] | np.ndarray, own: float) -> WeightedLines:
    """Lines with weights, which are floats: whole numbers of 2^-1074."""
    *whole, last = (int(each * 2**1074) for each in fractions([*w, own]))
    return WeightedLines(lines.A, lines.W, whole, last)


def region(profile: Sequence[tuple[Component, Fraction]], alpha: Fraction, strict: bool = False) -> list[Component]:
    """The components of {p ≥ α}, or of {p > α}: neighbours that are both kept belong together."""
    components: list[Component] = []
    joined = False
    for (lo, hi), p in profile:
        if not (p > alpha if strict else p >= alpha):
            joined = False
            continue
        if joined:
            components[-1] = (components[-1][0], hi)
        else:
            components.append((lo, hi))
        joined = True
    return components


def fractions(values: Sequence[float] | np.ndarray) -> list[Fraction]:
    """Floats as the rationals they are."""
    return [Fraction(float(each)) for each in values]


# --- from the data, in a thousand bits


@dataclass(frozen=True)
class Coefficients:
    """Everything about one test point, as rationals good to more than thirty digits."""

    mean: Fraction
    m: Fraction
    a: list[Fraction]
    W: list[Fraction]
    diag_Q: list[Fraction]
    sigma2: Fraction
    log_det: float

    def lines(self, residual: str) -> Lines:
        """The residuals as the method writes them: (A, W) in-sample, leave-one-out or studentised."""
        if residual == "in-sample":
            return Lines([self.m * a for a in self.a], self.W)
        d = [q + w * w / self.m for q, w in zip(self.diag_Q, self.W, strict=True)]
        if residual == "loo":
            return Lines(
                [a / e for a, e in zip(self.a, d, strict=True)],
                [w / (self.m * e) for w, e in zip(self.W, d, strict=True)],
            )
        assert residual == "std"
        return Lines(
            [a * root(self.m / e) for a, e in zip(self.a, d, strict=True)],
            [w / root(self.m * e) for w, e in zip(self.W, d, strict=True)],
        )


def root(value: Fraction) -> Fraction:
    """The square root, to KEPT bits below 1."""
    return Fraction(isqrt(int(value * 4**KEPT)), 2**KEPT)


def to_arb(value: float) -> arb:
    man, exp = float(value).as_integer_ratio()
    return arb(man) / arb(exp)


def to_fraction(value: arb) -> Fraction:
    assert value.rel_accuracy_bits() > KEPT or value.abs_upper() < arb(2) ** -KEPT, "precision lost"
    man, exp = map(int, value.mid().man_exp())
    excess = max(0, man.bit_length() - KEPT)
    return Fraction(man >> excess) * Fraction(2) ** (exp + excess)


Formula = Callable[[list[arb], arb], arb]
"""The differences of the coordinates of two points, and θ → the kernel."""


def gaussian(differences: list[arb], theta: arb) -> arb:
    """exp(−θ‖x − z‖²)."""
    return (-theta * sum((each**2 for each in differences), arb(0))).exp()


def laplacian(differences: list[arb], theta: arb) -> arb:
    """exp(−√(2θ)‖x − z‖₁)."""
    return (-(2 * theta).sqrt() * sum((abs(each) for each in differences), arb(0))).exp()


def matern32(differences: list[arb], theta: arb) -> arb:
    """(1 + √3ρ) exp(−√3ρ), ρ = ‖x − z‖/ℓ, ℓ² = 1/(2θ)."""
    s = arb(3).sqrt() * _rho(differences, theta)
    return (1 + s) * (-s).exp()


def matern52(differences: list[arb], theta: arb) -> arb:
    """(1 + √5ρ + 5ρ²/3) exp(−√5ρ)."""
    rho = _rho(differences, theta)
    s = arb(5).sqrt() * rho
    return (1 + s + 5 * rho**2 / 3) * (-s).exp()


def _rho(differences: list[arb], theta: arb) -> arb:
    return (2 * theta).sqrt() * sum((each**2 for each in differences), arb(0)).sqrt()


FORMULAS: dict[str, Formula] = {
    "gaussian": gaussian,
    "laplacian": laplacian,
    "matern32": matern32,
    "matern52": matern52,
}


def kernel(X: np.ndarray, Z: np.ndarray, theta: float, name: str = "gaussian") -> list[list[arb]]:
    """A kernel by its formula, from the doubles as they are; "product" is x′z, for points that are features."""
    if name == "product":
        return [[sum((to_arb(a) * to_arb(b) for a, b in zip(x, z, strict=True)), arb(0)) for z in Z] for x in X]
    formula, t = FORMULAS[name], to_arb(theta)
    return [[formula([to_arb(a) - to_arb(b) for a, b in zip(x, z, strict=True)], t) for z in Z] for x in X]


def column(values: Sequence[arb]) -> arb_mat:
    return arb_mat([[each] for each in values])


def ridge_matrix(X: np.ndarray, theta: float, lam: float, name: str, mean: str = "zero") -> arb_mat:
    """K + λI; with a constant mean bordered, (K + λI, 1; 1′, 0), which solves for the mean, too."""
    K = kernel(X, X, theta, name)
    for i in range(len(X)):
        K[i][i] += to_arb(lam)
    return arb_mat(border(K, mean) + ([[*[arb(1)] * len(X), arb(0)]] if mean == "constant" else []))


def border(rows: list[list[arb]], mean: str) -> list[list[arb]]:
    """Rows of K, with a 1 for the constant mean at the end of each."""
    return [[*row, arb(1)] for row in rows] if mean == "constant" else rows


def padded(values: Sequence[arb], mean: str) -> arb_mat:
    """Values of y as the right-hand side of the system: Σã = 0 is the equation of the constant mean."""
    return column([*values, arb(0)] if mean == "constant" else values)


def precise(function: Callable) -> Callable:
    def wrapped(*args, **kwargs):
        before, ctx.prec = ctx.prec, BITS
        try:
            return function(*args, **kwargs)
        finally:
            ctx.prec = before

    return wrapped


@precise
def coefficients(
    X: np.ndarray,
    y: np.ndarray,
    X_new: np.ndarray,
    theta: float,
    lam: float,
    name: str = "gaussian",
    mean: str = "zero",
) -> list[Coefficients]:
    """Q by inversion, then every quantity by its definition, for each test point."""
    R = ridge_matrix(X, theta, lam, name)
    Q = ridge_matrix(X, theta, lam, name, mean).inv()
    ys = padded([to_arb(each) for each in y], mean)
    a = Q * ys
    n = len(X)
    sigma2 = (ys.transpose() * a)[0, 0] / n
    found = []
    for x in X_new:
        k = column(border(kernel(x[None], X, theta, name), mean)[0])
        own = kernel(x[None], x[None], theta, name)[0][0]
        W = Q * k
        found.append(
            Coefficients(
                mean=to_fraction((k.transpose() * a)[0, 0]),
                m=to_fraction(to_arb(lam) + own - (k.transpose() * W)[0, 0]),
                a=[to_fraction(a[i, 0]) for i in range(n)],
                W=[to_fraction(W[i, 0]) for i in range(n)],
                diag_Q=[to_fraction(Q[i, i]) for i in range(n)],
                sigma2=to_fraction(sigma2),
                log_det=float(R.det().log().mid()),
            )
        )
    return found


def prediction(
    X: np.ndarray, y: Sequence[arb], x: np.ndarray, theta: float, lam: float, name: str, mean: str = "zero"
) -> arb:
    """The ridge prediction at x, from scratch."""
    if not len(X):
        return arb(0)
    weights = ridge_matrix(X, theta, lam, name, mean).solve(padded(y, mean))
    row = border(kernel(x[None], X, theta, name), mean)[0]
    return sum((each * weights[i, 0] for i, each in enumerate(row)), arb(0))


@precise
def refitted_p_value(
    X: np.ndarray,
    y: np.ndarray,
    x_new: np.ndarray,
    z: float,
    theta: float,
    lam: float,
    score: str,
    residual: str,
    name: str = "gaussian",
    mean: str = "zero",
) -> Fraction:
    """The p-value of the candidate z: refit with it, look at all N residuals, count."""
    augmented = np.vstack([X, x_new[None]])
    labels = [to_arb(each) for each in [*y, z]]
    N = len(labels)
    r = []
    for i in range(N):
        others = [j for j in range(N) if residual != "loo" or j != i]
        fitted = prediction(augmented[others], [labels[j] for j in others], augmented[i], theta, lam, name, mean)
        r.append(labels[i] - fitted)
    if residual == "std":  # over the square root of 1 − H_ii, H the matrix from labels to fitted values
        K = arb_mat(border(kernel(augmented, augmented, theta, name), mean))
        H = K * ridge_matrix(augmented, theta, lam, name, mean).inv()
        r = [each / (1 - H[i, i]).sqrt() for i, each in enumerate(r)]
    own = r[-1]

    def at_least(x: arb, y: arb) -> bool:
        assert x >= y or x < y, "a tie: choose another candidate"
        return x >= y

    if score == "RRCM":
        return Fraction(1 + sum(at_least(abs(each), abs(own)) for each in r[:-1]), N)
    upper = 1 + sum(at_least(each, own) for each in r[:-1])
    lower = 1 + sum(at_least(own, each) for each in r[:-1])
    return min(Fraction(1), Fraction(2 * min(upper, lower), N))


@precise
def refitted_jumps(X: np.ndarray, y: np.ndarray, x_new: np.ndarray, theta: float, lam: float) -> list[Fraction]:
    """The candidates at which a studentised residual equals the test point's own, from two refits: it is linear."""
    r = [studentised(X, [to_arb(each) for each in [*y, z]], x_new, theta, lam) for z in (0.0, 1.0)]
    ahead = [[each[-1] - other for other in each[:-1]] for each in r]
    assert all(one > zero for zero, one in zip(*ahead, strict=True)), "it increases with the candidate"
    return sorted(to_fraction(-zero / (one - zero)) for zero, one in zip(*ahead, strict=True))


def studentised(X: np.ndarray, labels: list[arb], x_new: np.ndarray, theta: float, lam: float) -> list[arb]:
    """All N residuals of a fit to the augmented sample, over √(1 − H_ii), H the matrix from labels to fitted values."""
    points = np.vstack([X, x_new[None]])
    H = arb_mat(kernel(points, points, theta)) * ridge_matrix(points, theta, lam, "gaussian").inv()
    fitted = H * column(labels)
    return [(label - fitted[i, 0]) / (1 - H[i, i]).sqrt() for i, label in enumerate(labels)]


@precise
def refitted_pit(
    X: np.ndarray, y: np.ndarray, x_new: np.ndarray, z: float, theta: float, lam: float, tau: float
) -> Fraction:
    """(#{r_i < r_N} + τ·#{r_i = r_N}) / N over all N residuals, r_N among them, from a refit with the candidate z."""
    r = studentised(X, [to_arb(each) for each in [*y, z]], x_new, theta, lam)
    tied = [abs(each - r[-1]) < arb(2) ** (-BITS // 2) for each in r]  # exactly equal where the points are
    below = sum(bool(each < r[-1]) for each, tie in zip(r, tied, strict=True) if not tie)
    return (below + Fraction(tau) * sum(map(bool, tied))) / len(r)


# --- the judge


def inside(components: Sequence[Component], z: Fraction) -> bool:
    return any(lo <= z <= hi for lo, hi in components)


def disagreements(
    ours: Sequence[tuple[float, float]], oracle: Sequence[Component], zones: Sequence[Component]
) -> list[str]:
    """Where two regions differ, other than inside the `zones` of doubt around the oracle's breakpoints.

    Outside the zones membership must be equal, and every finite end of ours must lie in a zone.
    """
    found = [
        f"the end {end} is at no breakpoint"
        for component in ours
        for end in component
        if abs(end) < inf and not inside(zones, Fraction(end))
    ]
    exact = [(_rational(lo), _rational(hi)) for lo, hi in ours]
    ends = sorted({end for zone in zones for end in zone if abs(end) < inf})
    spots = [(a + b) / 2 for a, b in itertools.pairwise(ends)] + ([ends[0] - 1, ends[-1] + 1] if ends else [])
    found += [
        f"at {float(z)}: ours {inside(exact, z)}, oracle {inside(oracle, z)}"
        for z in spots
        if not inside(zones, z) and inside(exact, z) != inside(oracle, z)
    ]
    return found


def _rational(end: float) -> Fraction | float:
    return Fraction(end) if abs(end) < inf else end
