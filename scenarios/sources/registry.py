"""Data sets for regression that are inside packages of PyPI, with their origin, licence and hash.

The registry is for `dataset = "diabetes"` in a scenario. The hash is that of the canonical data: a .csv file with a
header line, the inputs in the order given here, and the target last (`datasets.read_dataset`). A name keeps its rows
for ever, since stores refer to them: other rows get another name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Dataset:
    """A data set inside a package: where its rows are, what they mean, and whose they are."""

    text: str
    """One sentence that says what a row is."""
    origin: str
    """Who published it, and where."""
    licence: str
    package: str
    """Name of the package on PyPI, and a version that has these rows."""
    files: tuple[str, ...]
    """Paths below the folder of packages. Columns of several files stand side by side."""
    inputs: tuple[str, ...]
    target: str
    rows: int
    sha256: str
    """Hash of the canonical data."""
    header: tuple[str, ...] = ()
    """Column names, if the files have no header line."""
    delimiter: str = ","
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Names of categories that the file has as numbers, by column."""

    @property
    def module(self) -> str:
        """Name of the top-level module that the files are in."""
        return self.files[0].partition("/")[0]


_DIABETES = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")
_AUTOMPG = ("cylinders", "displacement", "horsepower", "weight", "acceleration", "year", "origin")

DATASETS: dict[str, Dataset] = {
    "abalone": Dataset(
        text="The age of abalones, as rings of the shell, from sex, size and weights.",
        origin="Nash, Sellers, Talbot, Cawthorn & Ford (1994), UCI Machine Learning Repository, doi:10.24432/C55C7W",
        licence="CC BY 4.0",
        package="scikit-lego==0.9.10",
        files=("sklego/data/abalone.zip",),
        inputs=(
            "sex",
            "length",
            "diameter",
            "height",
            "whole_weight",
            "shucked_weight",
            "viscera_weight",
            "shell_weight",
        ),
        target="rings",
        rows=4177,
        sha256="ffa124af26414bfd9d9a8bf691a48e0c9c3e34967b7552dc39b7db0e5dcf21bd",
    ),
    "auto-mpg": Dataset(
        text="Miles per gallon of cars from their engine, weight, year and origin; 6 cars of unknown power left out.",
        origin="Quinlan (1993), UCI Machine Learning Repository, doi:10.24432/C5859H",
        licence="CC BY 4.0",
        package="mlxtend==0.25.0",
        files=("mlxtend/data/data/autompg.csv.gz",),
        header=(*_AUTOMPG, "name", "mpg"),
        inputs=_AUTOMPG,
        target="mpg",
        rows=392,
        sha256="ec26f8a71e6ad34300b74027a3941f90fcfaf35545d499c487d5318e37fd9d84",
        labels={"origin": {"1": "USA", "2": "Europe", "3": "Japan"}},
    ),
    "diabetes": Dataset(
        text="How far diabetes went in a year, from age, sex, body mass, blood pressure and six blood values.",
        origin="Efron, Hastie, Johnstone & Tibshirani (2004), Least angle regression, Annals of Statistics 32, 407–499",
        licence="BSD-3-Clause, with scikit-learn",
        package="scikit-learn==1.9.1",
        files=("sklearn/datasets/data/diabetes_data_raw.csv.gz", "sklearn/datasets/data/diabetes_target.csv.gz"),
        header=(*_DIABETES, "progression"),
        delimiter=" ",
        inputs=_DIABETES,
        target="progression",
        rows=442,
        sha256="3114ab341876a0349fcd509a224446b834e9c7166bd156c0d9c807d555397255",
    ),
    "diamonds": Dataset(
        text="Prices of round-cut diamonds in US dollars, from carat, cut, colour, clarity and measures.",
        origin="Wickham (2016), ggplot2: Elegant graphics for data analysis; data of 2008",
        licence="MIT, with ggplot2 and plotnine",
        package="plotnine==0.15.8",
        files=("plotnine/data/diamonds.csv",),
        inputs=("carat", "cut", "color", "clarity", "depth", "table", "x", "y", "z"),
        target="price",
        rows=53940,
        sha256="ba0bc93ba55f5a4904b82871d90174b6b7bfc8948408fa67648056ac89ea3b8c",
    ),
    "engel": Dataset(
        text="What Belgian working-class households spent on food in 1857, from their income, in francs.",
        origin="Engel (1857), as in Koenker & Bassett (1982), Econometrica 50, 43–61",
        licence="public domain",
        package="statsmodels==0.15.0",
        files=("statsmodels/datasets/engel/engel.csv",),
        inputs=("income",),
        target="foodexp",
        rows=235,
        sha256="1ab6a5c4e884ef9ad624949d2b7e94652eccd75ba3905d1a46c85d28b153ec49",
    ),
}
"""Registered data sets by the name that a scenario uses."""
