"""Write the inventories that no package has: `python docs/inventories/write.py`.

They have only the objects that our pages and docstrings refer to. README.md says where the addresses come from.
"""

from __future__ import annotations

import zlib
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).parent
NUMPY = {
    "numpy.ndarray": ("class", "reference/generated/$.html#$"),
    "numpy.quantile": ("function", "reference/generated/$.html#$"),
    "numpy.random.Generator": ("class", "reference/random/generator.html#$"),
    "numpy.random.default_rng": ("function", "reference/random/generator.html#$"),
    "numpy.typing.ArrayLike": ("data", "reference/typing.html#$"),
    "numpy.typing.NDArray": ("data", "reference/typing.html#$"),
}
XARRAY = {
    "xarray.DataArray": ("class", "generated/$.html#$"),
    "xarray.Dataset": ("class", "generated/$.html#$"),
    "xarray.Dataset.sel": ("method", "generated/$.html#$"),
    "xarray.DataTree": ("class", "generated/$.html#$"),
    "xarray.open_datatree": ("function", "generated/$.html#$"),
    "xarray.open_zarr": ("function", "generated/$.html#$"),
}
ZARR = {
    "zarr.open_group": ("function", "api/zarr/open/#$"),
    "zarr.Array": ("class", "api/zarr/array/#$"),
    "zarr.Group": ("class", "api/zarr/group/#$"),
}


def write_inventory(project: str, objects: dict[str, tuple[str, str]]) -> None:
    """Write an inventory in version 2 of Sphinx's format: four lines of text, then compressed lines."""
    head = (
        "# Sphinx inventory version 2\n"
        f"# Project: {project}\n"
        f"# Version: {version(project)}\n"
        "# The remainder of this file is compressed using zlib.\n"
    )
    lines = "".join(
        f"{name} py:{role} 1 {address.replace('$', name)} -\n" for name, (role, address) in sorted(objects.items())
    )
    (FOLDER / f"{project}.inv").write_bytes(head.encode() + zlib.compress(lines.encode(), 9))


if __name__ == "__main__":
    write_inventory("numpy", NUMPY)
    write_inventory("xarray", XARRAY)
    write_inventory("zarr", ZARR)
