"""Render HTML templates.

Templates escape all values (autoescape), so that no text in a store can become code. Only `markupsafe.Markup`, which
templates and `label_svg` return, is inserted as it is. A name that a template doesn't get is an error.
"""

from __future__ import annotations

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


class Templates:
    """Templates in the folder `templates` of one or more packages.

    Parameters
    ----------
    *packages : str
        Packages, searched in this order.

    Examples
    --------
    >>> Templates("harness.report.html").render("level.html", text="a < b")
    Markup('<p class="soft">a &lt; b</p>')
    """

    def __init__(self, *packages: str) -> None:
        self._environment = Environment(
            loader=ChoiceLoader([PackageLoader(package) for package in packages]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def render(self, template: str, /, **values: object) -> Markup:
        """Render a template with these values."""
        return Markup(self._environment.get_template(template).render(values))


TEMPLATES = Templates("harness.report.html")
"""Templates of the report."""


def label_svg(svg: str, label: str) -> Markup:
    """Mark an <svg> element, whose text is escaped already, as an image with a label.

    Examples
    --------
    >>> label_svg('<svg width="9"></svg>', "a < b")
    Markup('<svg role="img" aria-label="a &lt; b" width="9"></svg>')
    """
    return Markup(svg.replace("<svg ", Markup('<svg role="img" aria-label="{}" ').format(label), 1))
