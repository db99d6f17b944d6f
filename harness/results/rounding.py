"""Round numbers to their standard errors, so that no digit is shown that the error makes meaningless."""

from __future__ import annotations

from math import floor, inf, isfinite, isinf, isnan, log10

DASH = "–"
"""Shown in place of a missing number."""
_MOST_EXTRA = 3
"""Digits that an end of an interval may have beyond those that its length allows."""


def count_decimals(error: float) -> int:
    """Return the number of decimals that show one significant digit of an error, or two if the first is 1.

    Examples
    --------
    >>> tuple(map(count_decimals, (0.0034, 0.0013, 0.12, 7.0, 0.0996)))
    (3, 4, 2, 0, 1)
    """
    return max(-_find_last_place(error), 0)


def _find_last_place(error: float) -> int:
    """Return the power of ten of the last digit to show."""
    place = floor(log10(error))
    leading = round(error * 10.0**-place)
    return place + 1 if leading == 10 else place - int(leading == 1)


def format_with_error(value: float, error: float, least: float = 0.0) -> str:
    """Format a value with its standard error, both rounded to the digits that the error allows.

    Parameters
    ----------
    value, error : float
        A number and its standard error. Without an error (0, or unknown: NaN or inf), the value is formatted alone.
    least : float
        The smallest error that the value can have, which determines its digits if `error` is unknown.

    Examples
    --------
    >>> format_with_error(0.90123, 0.0034), format_with_error(1.0, 0.0)
    ('0.901 ± 0.003', '1')
    >>> format_with_error(0.9, float("nan"), 0.02), format_with_error(float("inf"), float("nan"))
    ('0.90', 'inf')
    >>> format_with_error(123456.0, 1230.0), format_with_error(float("nan"), 1.0), format_with_error(0.00004, 0.00002)
    ('123500 ± 1200', '–', '4e-05 ± 2e-05')
    """
    if isnan(value):
        return DASH
    if not isfinite(value):
        return "inf" if value == inf else "−inf"
    if not isfinite(error) or error <= 1e-12 * abs(value):
        return format_without_error(value, error, least)
    if error < 1e-4:
        return _format_tiny(value, error)
    digits = count_decimals(error)
    if digits == 0 and error >= 10:
        unit = 10.0 ** _find_last_place(error)
        return f"{round(value / unit) * unit:.0f} ± {round(error / unit) * unit:.0f}"
    return f"{_format_fixed(value, digits)} ± {error:.{digits}f}"


def format_estimate(value: float, error: float, low: float, high: float, least: float = 0.0) -> str:
    """Format a value with its standard error, or with the ends of its interval where no standard error says enough.

    Parameters
    ----------
    value, error, least : float
        As in `format_with_error`.
    low, high : float
        Ends of the confidence interval.

    Examples
    --------
    >>> format_estimate(0.9, 0.01, 0.88, 0.92), format_estimate(1.76, inf, 1.37, inf)
    ('0.900 ± 0.010', '1.76 (1.37 to ∞)')
    >>> format_estimate(1.0, 0.0, 0.998, 1.0), format_estimate(0.0, 0.0, 0.0, 0.02)
    ('1 (> 0.998)', '0 (< 0.02)')
    """
    if error == 0 and high > low and value in (0.0, 1.0):  # its error isn't 0: show a bound
        return f"0 (< {high:.1g})" if value == 0 else f"1 (> {1 - float(f'{1 - low:.1g}'):g})"
    if isfinite(value) and (isinf(low) or isinf(high)):  # no standard error says that
        return f"{value:.3g} ({_format_end(low)} to {_format_end(high)})"
    return format_with_error(value, error, least)


def format_interval(value: float, low: float, high: float) -> str:
    """Format a value with the ends of its interval, all with the digits that half the interval allows.

    Examples
    --------
    >>> format_interval(-0.1234, -0.1611, -0.0911), format_interval(0.5, -0.25, inf), format_interval(0.0, 0.0, 0.0)
    ('-0.12 (-0.16 to -0.09)', '0.5 (-0.25 to ∞)', '0')
    >>> format_interval(-0.02, -0.04, -0.0012)
    '-0.020 (-0.040 to -0.001)'
    """
    if isnan(value):
        return DASH
    half = (high - low) / 2
    if isnan(half) or half == 0:
        return f"{value:.4g}"
    if isinf(half) or not 1e-4 <= half < 1e4:
        return f"{value:.3g} ({_format_end(low)} to {_format_end(high)})"
    digits = count_decimals(half)
    for _ in range(_MOST_EXTRA):  # an end beside 0 must not look like 0
        digits += any(end != 0 and float(f"{end:.{digits}f}") == 0 for end in (low, high))
    centre, *ends = (_format_fixed(each, digits) for each in (value, low, high))
    return f"{centre} ({ends[0]} to {ends[1]})"


def _format_end(value: float) -> str:
    """Format an end of an interval, which may be infinite."""
    return ("∞" if value > 0 else "−∞") if isinf(value) else f"{value:.3g}"


def _format_fixed(value: float, digits: int) -> str:
    """Format a number with fixed decimals, and zero without a minus sign."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def format_without_error(value: float, error: float, least: float = 0.0) -> str:
    """Format a value whose error is 0 or unknown; if it is unknown, with the digits that an error of `least` allows."""
    if isfinite(error):
        return f"{value:.4g}"
    return f"{value:.{count_decimals(least)}f}" if 1e-4 <= least < 1 else f"{value:.3g}"


def _format_tiny(value: float, error: float) -> str:
    """Format a value with an error below 1e-4 in scientific notation, to avoid leading zeros."""
    if abs(value) >= 1e-3:
        return f"{value:.{count_decimals(error)}f} ± {error:.0e}"
    place = floor(log10(error))
    figures = max(floor(log10(abs(value))) - place, 0) if value else 0
    return f"{value:.{figures}e} ± {error:.0e}" if value else f"0 ± {error:.0e}"
