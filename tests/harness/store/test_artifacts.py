"""Stage one: made once, before the units, kept in the store, and made again if it is torn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

from harness.backends.base import open_backend
from harness.cli import main
from harness.core.errors import UserError
from harness.execution import driver
from harness.execution.facts import plan_to_dict
from harness.execution.progress import SilentProgress
from harness.maintenance.merge import merge_stores
from harness.maintenance.verify import verify
from harness.planning.plan_text import format_plan
from harness.store import artifacts
from tests.harness.studies import assert_identical, prepared, replications, run
from tests.harness.toy_prepared import levels


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """In this process: what is tested here needs no other one."""
    options = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=1, threads_per_worker=2, **options) as cluster, Client(cluster) as one:
        yield one


FUNCTION = "tests.harness.toy_prepared:Prepared"


def changes(log: Path, gamma: tuple[float, ...] = (1.0,)) -> dict[str, Any]:
    source = {"function": FUNCTION, "log": str(log)}
    return {"source": source, "grid__gamma": list(gamma), "grid__n": [10], "grid__procedure": ["exact", "wide"]}


def made(log: Path) -> list[str]:
    return sorted(log.read_text().splitlines())


def arrays(store: Path) -> Path:
    return store / artifacts.FOLDER


def test_it_is_made_first_and_once(tmp_path: Path, client: Client) -> None:
    log, store = tmp_path / "log", tmp_path / "s.zarr"
    run(store, client, **changes(log))
    assert made(log) == ["level-1.0"]
    told = json.loads((arrays(store) / "level-1.0.json").read_text())
    assert told["shape"] == [50, 50]
    assert told["seconds"] >= 0
    assert told["blas"]
    expected = (levels("level-1.0")[:7, :3] == 0).astype(float)
    coverage = replications(store, 10, "coverage")[:, :, 0, 0, 0, 0, 0]
    np.testing.assert_array_equal(coverage, expected)
    assert 0 < expected.mean() < 1
    run(store, client, **{**changes(log), "replications__paths": 9})
    assert made(log) == ["level-1.0"], "a longer study finds it there"


def test_another_gamma_adds_its_own(tmp_path: Path, client: Client) -> None:
    log, store = tmp_path / "log", tmp_path / "s.zarr"
    run(store, client, **changes(log))
    run(store, client, **changes(log, (1.0, 0.25)))
    assert made(log) == ["level-0.25", "level-1.0"]


@pytest.mark.parametrize("harm", ["no receipt", "torn array", "torn receipt", "no array"])
def test_what_is_not_whole_is_made_again(tmp_path: Path, client: Client, harm: str) -> None:
    """No receipt: what a kill between array and receipt leaves."""
    log, store, good = tmp_path / "log", tmp_path / "s.zarr", tmp_path / "good.zarr"
    run(good, client, **changes(log))
    run(store, client, **{**changes(log), "replications__paths": 4})
    array, receipt = arrays(store) / "level-1.0.npy", arrays(store) / "level-1.0.json"
    whole = array.read_bytes()
    if harm == "no receipt":
        receipt.unlink()
    elif harm == "torn array":
        array.write_bytes(whole[:-1] + b"\x7f")
    elif harm == "torn receipt":
        receipt.write_text("{")
    else:
        array.unlink()
    run(store, client, **changes(log))
    assert made(log) == ["level-1.0"] * 3
    assert array.read_bytes() == whole
    np.testing.assert_array_equal(replications(store, 10, "coverage"), replications(good, 10, "coverage"))


def test_a_torn_array_is_never_computed_with(tmp_path: Path, client: Client) -> None:
    store = tmp_path / "s.zarr"
    run(store, client, **changes(tmp_path / "log"))
    (arrays(store) / "level-1.0.npy").write_bytes(b"")
    with pytest.raises(UserError, match=r"prepared/level-1.0 doesn't match its receipt: `ckrr run` prepares it again"):
        artifacts.read(open_backend(str(store)), "level-1.0")
    count, torn = verify(str(store))
    assert [(one.unit, one.what) for one in torn] == [("prepared/level-1.0", "doesn't match its receipt")]
    assert count > 1
    assert artifacts.list_signed(open_backend(str(store))) == []
    run(store, client, **changes(tmp_path / "log"))
    assert made(tmp_path / "log") == ["level-1.0"] * 2, "also where no unit is left"
    assert verify(str(store)) == (count, [])


def test_units_need_what_the_whole_store_has(tmp_path: Path, client: Client) -> None:
    """One γ is asked for, but longer units are of both."""
    log, store = tmp_path / "log", tmp_path / "s.zarr"
    run(store, client, **changes(log, (1.0, 0.25)))
    (arrays(store) / "level-0.25.json").unlink()
    outcome = run(store, client, **{**changes(log), "replications__paths": 9})
    assert made(log) == ["level-0.25"] * 2 + ["level-1.0"]
    assert outcome.failed == 0


def test_workers_of_their_own_give_the_same(tmp_path: Path, client: Client) -> None:
    one, other = tmp_path / "one.zarr", tmp_path / "other.zarr"
    both = changes(tmp_path / "log", (1.0, 0.25))
    run(one, client, **both)
    run(other, **both)
    assert_identical(one, other)


def test_replay_and_merge_find_it(tmp_path: Path, client: Client) -> None:
    one, other, joined = (str(tmp_path / f"{name}.zarr") for name in ("one", "other", "joined"))
    log, saved = tmp_path / "log", str(tmp_path / "saved.npz")
    run(Path(one), client, **changes(log))
    run(Path(other), client, **{**changes(log), "replications__paths": 9})
    merge_stores([one, other], joined)
    assert artifacts.why_invalid(open_backend(joined), "level-1.0") is None
    words = ["replay", joined, "--n", "10", "--path", "3", "--draw", "2", "--save", saved, "--trust"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert "equal bit for bit" in done.output
    with np.load(saved) as arrays:
        assert set(arrays["gamma=1,theta=1,lam=1/y"]) == {levels("level-1.0")[3, 2]}
    artifacts.write(open_backend(other), "level-1.0", np.zeros((50, 50)), 1.0)
    with pytest.raises(UserError, match=r"has a different prepared/level-1\.0"):
        merge_stores([one, other], str(tmp_path / "refused.zarr"))
    assert not (tmp_path / "refused.zarr").exists()


def test_the_plan_says_it_and_refuses_what_does_not_fit(tmp_path: Path, client: Client) -> None:
    study = prepared(tmp_path / "s.zarr", **changes(tmp_path / "log"))
    facts = plan_to_dict(study)
    assert facts["preparations"] == [{"name": "level-1.0", "seconds": 5.0, "memory": 1000000}]
    assert "first level-1.0 is prepared: about 5 s and 1.0 MB of memory" in format_plan(facts)
    assert facts["memory_per_worker"] >= 351e6
    driver.run_prepared(study, SilentProgress(), client)
    again = prepared(tmp_path / "s.zarr", **changes(tmp_path / "log"))
    assert plan_to_dict(again)["preparations"] == []
