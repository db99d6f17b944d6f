"""Make the Content-Security-Policy of a page: its own scripts run, and nothing is loaded from anywhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256


def hash_script(text: str) -> str:
    """Return the source expression that allows one inline script.

    Examples
    --------
    >>> hash_script("1")
    "'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='"
    """
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def make_policy(scripts: Iterable[str]) -> str:
    """Make the policy of a page with these scripts.

    No other script runs, no text becomes code (`eval`), and the page makes no request: images are inside it as
    `data:` URLs. Styles are inline.

    Parameters
    ----------
    scripts : iterable of str
        Texts of the inline scripts, also of those that another script adds to the page.
    """
    allowed = " ".join(map(hash_script, scripts)) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
