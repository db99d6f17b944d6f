"""What people do with a dataset, one function an idiom. `python idioms.py STORE FOLDER` runs all, without ckrr.

The store is that of the toy study (`tests.harness.studies`). Each idiom gets the cube and the replications at n = 10 as
plain xarray opens them, with warnings as errors. What fails is written to
`FOLDER/found.json`: the name and the traceback.
"""

from __future__ import annotations

import inspect
import json
import pickle
import sys
import traceback
import warnings
from pathlib import Path

import xarray as xr


def sel(cube: xr.Dataset) -> None:
    assert cube.coverage.sel(procedure="wide", theta="best", n=20, lam=0.1).dims == ("gamma", "alpha")


def sel_nearest(cube: xr.Dataset) -> None:
    assert cube.sel(lam=0.11, method="nearest").lam.item() == 0.1


def sel_by_number(cube: xr.Dataset) -> None:
    assert cube.sel(theta=cube.theta_value == 2.5).theta.item() == "2.5"


def idxmin(cube: xr.Dataset) -> None:
    assert set(cube.width_mean.idxmin("procedure").values.ravel()) <= set(cube.procedure.values)


def idxmax(cube: xr.Dataset) -> None:
    assert set(cube.coverage.idxmax("theta").values.ravel()) <= set(cube.theta.values)


def idxmin_of_nothing(cube: xr.Dataset) -> None:
    found = cube.coverage.where(cube.n > 10).idxmin("procedure")
    assert found.sel(n=10).isnull().all()
    assert set(found.sel(n=20).values.ravel()) <= set(cube.procedure.values)


def where(cube: xr.Dataset) -> None:
    assert cube.where(cube.verdict >= 4).coverage.shape == cube.coverage.shape


def where_drop(cube: xr.Dataset) -> None:
    assert cube.where(cube.procedure == "wide", drop=True).sizes["procedure"] == 1


def where_labels(cube: xr.Dataset) -> None:
    assert (cube.procedure.where(cube.procedure == "wide", "other") == "other").sum() == 3


def isin(cube: xr.Dataset) -> None:
    assert cube.sel(procedure=cube.procedure.isin(["wide", "exact"])).sizes["procedure"] == 2


def groupby(cube: xr.Dataset) -> None:
    assert cube.coverage.groupby("procedure").mean(...).sizes == {"procedure": 4}


def groupby_beside(cube: xr.Dataset) -> None:
    assert cube.load().coverage.groupby("uses_theta").mean(...).size == 1


def groupby_bins(cube: xr.Dataset) -> None:
    assert cube.coverage.groupby_bins("n", [0, 15, 25]).mean(...).size == 2


def sortby(cube: xr.Dataset) -> None:
    assert list(cube.sortby("procedure").procedure.values) == ["exact", "random", "split", "wide"]


def sortby_number(cube: xr.Dataset) -> None:
    assert list(cube.sortby("theta_value").theta.values) == ["1", "2.5", "best"]


def reindex(cube: xr.Dataset) -> None:
    found = cube.reindex(procedure=["wide", "none"])
    assert list(found.procedure.values) == ["wide", "none"]
    assert found.coverage.sel(procedure="none").isnull().all()


def stack(cube: xr.Dataset) -> None:
    whole = cube.coverage.sortby(["procedure", "theta"]).reset_coords(drop=True)
    assert whole.stack(cell=["procedure", "theta", "n"]).unstack("cell").transpose(*whole.dims).equals(whole)


def to_dataframe(cube: xr.Dataset) -> None:
    assert len(cube.to_dataframe()) == 4 * 2 * 3 * 2 * 2 * 2 * 3
    assert len(cube.coverage.to_dataframe().query("procedure == 'wide' and theta == 'best'")) == 16


def to_series(cube: xr.Dataset) -> None:
    assert cube.coverage.to_series().unstack("procedure").shape == (48, 4)


def to_pandas(cube: xr.Dataset) -> None:
    assert cube.coverage.isel(gamma=0, theta=0, lam=0, alpha=0).to_pandas().shape == (4, 2)


def from_dataframe(cube: xr.Dataset) -> None:
    again = xr.Dataset.from_dataframe(cube[["coverage"]].to_dataframe()[["coverage"]])
    assert again.coverage.sum() == cube.coverage.sortby(["procedure", "theta"]).sum()


def plot_line(cube: xr.Dataset) -> None:
    lines = cube.coverage.isel(gamma=0, theta=0, lam=0, alpha=0).plot.line(x="n", hue="procedure")
    assert lines[0].axes.get_legend() is not None
    assert lines[0].axes.get_xlabel().startswith("training sample size n")


def plot_facets(cube: xr.Dataset) -> None:
    cube.coverage.isel(gamma=0, lam=0).plot.line(x="n", hue="procedure", row="theta", col="alpha")


def plot_map(cube: xr.Dataset) -> None:
    drawn = cube.coverage.isel(gamma=0, theta=0, alpha=0, n=0).plot.pcolormesh(x="lam", y="procedure_code")
    assert drawn.get_array().shape == (4, 2)


def plot_scatter(cube: xr.Dataset) -> None:
    cube.isel(quantile=1).plot.scatter(x="width", y="coverage", hue="n")


def concat(cube: xr.Dataset) -> None:
    both = xr.concat([cube.sel(procedure=["wide"]), cube.sel(procedure=["exact", "split"])], "procedure")
    assert list(both.procedure.values) == ["wide", "exact", "split"]


def concat_studies(cube: xr.Dataset) -> None:
    assert xr.concat([cube, cube.assign_attrs(title="b")], "study").sizes["study"] == 2


def merge(cube: xr.Dataset) -> None:
    parts = [cube[["coverage"]].sel(n=[each]) for each in (10, 20)]
    assert xr.merge(parts, compat="no_conflicts", join="outer").coverage.equals(cube.coverage)


def combine_by_coords(cube: xr.Dataset) -> None:
    parts = [cube[["coverage"]].sel(n=[each]) for each in (20, 10)]
    assert xr.combine_by_coords(parts).coverage.equals(cube.coverage)


def align(cube: xr.Dataset) -> None:
    one, other = xr.align(cube, cube.sel(procedure=["wide", "exact"]), join="inner")
    assert one.sizes == other.sizes


def arithmetic(cube: xr.Dataset) -> None:
    assert (cube.coverage - cube.coverage.sel(procedure="exact")).sel(procedure="exact").max() == 0


def weighted(cube: xr.Dataset) -> None:
    assert cube.coverage.weighted(cube.replication_count).mean("n").notnull().any()


def interp(cube: xr.Dataset) -> None:
    assert cube.coverage.interp(n=15.0).sizes["procedure"] == 4


def to_netcdf(cube: xr.Dataset, folder: Path) -> None:
    cube.to_netcdf(folder / "cube.nc")
    with xr.open_dataset(folder / "cube.nc") as again:
        assert again.equals(cube)
        assert again.coverage.attrs == cube.coverage.attrs
        assert list(again.verdict.attrs["flag_values"]) == cube.verdict.attrs["flag_values"]


def to_zarr(cube: xr.Dataset, folder: Path) -> None:
    cube.to_zarr(folder / "again.zarr", zarr_format=3, consolidated=False)
    assert xr.open_zarr(folder / "again.zarr", consolidated=False).equals(cube)


def decode_all_coordinates(store: Path) -> None:
    found = xr.open_zarr(store, decode_coords="all")
    beside = {*found.coverage.attrs["ancillary_variables"].split()}
    assert {"coverage_se", "coverage_low", "verdict"} <= beside <= {*found.data_vars}


def pickled(cube: xr.Dataset) -> None:
    assert pickle.loads(pickle.dumps(cube)).equals(cube)


def shown(cube: xr.Dataset) -> None:
    assert "coverage" in cube._repr_html_()
    assert "procedure" in repr(cube)


def flags(runs: xr.Dataset) -> None:
    words = dict(zip(runs.status.attrs["flag_values"], runs.status.attrs["flag_meanings"].split(), strict=True))
    assert set(runs.status.to_series().map(words)) == {"ok"}
    assert words[255] == "not_run"


def attributes(cube: xr.Dataset, runs: xr.Dataset) -> None:
    for each in (*cube.variables.values(), *runs.variables.values()):
        assert each.attrs["long_name"]
        assert len(each.attrs["description"]) > 5
        assert each.dtype == object or each.attrs["units"]
    assert "prediction intervals" in cube.attrs["description"]


def codes(cube: xr.Dataset, runs: xr.Dataset) -> None:
    for one in (cube, runs):
        for axis in ("procedure", "theta"):
            words = one[f"{axis}_code"].attrs["flag_meanings"].split()
            assert [words[i] for i in one[f"{axis}_code"].values] == list(one[axis].values)


def replications(runs: xr.Dataset) -> None:
    assert list(runs.path.values) == list(range(7))
    assert list(runs.draw.values) == [0, 1, 2]
    assert runs.coverage.sel(path=3, draw=2, procedure="wide").dims == ("gamma", "theta", "lam", "alpha")
    assert runs.coverage.min("draw").idxmin("path").dims[0] == "procedure"
    assert "path" in runs.coverage.isel(alpha=0, lam=0, gamma=0).to_dataframe().reset_index()


def tree(store: Path) -> None:
    found = xr.open_datatree(store)
    assert found["replications/n=10"]["path"].size == 7
    assert found.sel(procedure="wide")["replications/n=20/coverage"].ndim == 6
    assert found["replications"].mean(["path", "draw"])["n=10/coverage"].shape == (4, 2, 3, 2, 2)


def hvplot(cube: xr.Dataset, folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the packages that it imports
        import holoviews  # type: ignore[import-not-found, unused-ignore]
        import hvplot.xarray  # type: ignore[import-not-found, unused-ignore]  # noqa: F401

        plot = cube.coverage.isel(gamma=0, theta=0, lam=0).hvplot.line(x="n", by="procedure", groupby="alpha")
        holoviews.save(plot, folder / "plot.html")
    assert "exact" in (folder / "plot.html").read_text()


IDIOMS = {name: one for name, one in list(globals().items()) if inspect.isfunction(one) and one.__module__ == __name__}


def main(store: str, folder: str, *leave_out: str) -> None:
    """Run all idioms, and write those that fail to a file."""
    failed = {}
    for name, idiom in IDIOMS.items():
        known = {"store": Path(store), "folder": Path(folder)}
        known |= {"cube": xr.open_zarr(store), "runs": xr.open_zarr(store, group="replications/n=10")}
        try:
            if name not in leave_out:
                idiom(**{each: known[each] for each in inspect.signature(idiom).parameters})
        except Exception:
            failed[name] = traceback.format_exc()
    (Path(folder) / "found.json").write_text(json.dumps({"version": xr.__version__, "failed": failed}))


if __name__ == "__main__":
    main(*sys.argv[1:])
