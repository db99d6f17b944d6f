"""The commands as a user types them, in processes of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.harness.commands import QUICK, TOY, ckrr, start
from tests.harness.studies import until

ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "toy.toml").write_text(TOY)
    return tmp_path


def test_a_study_from_the_first_command_to_the_last(folder: Path) -> None:
    """plan, run, status, and run again, which has nothing to do."""
    code, out, err = ckrr("plan", "toy.toml", cwd=folder)
    assert (code, err) == (0, "")
    assert "asked for 24 replications, 24 left" in out
    assert not (folder / "results").exists(), "a plan writes nothing"

    code, out, err = ckrr("run", "toy.toml", cwd=folder)
    assert code == 0, err
    assert "toy: 24 replications in" in out
    assert "100%  24 of 24 replications" in err
    assert "and median width, at α = 0.1, θ = 1, λ = 0.1" in out
    heads, *rows = out.partition("and median width")[2].splitlines()[1:4]
    ends = [match.end() for match in re.finditer(r"n = \d+|width", heads)]
    assert len(ends) >= 2
    for row in rows:
        assert all(row[end - 1] != " " and row[end : end + 1] in ("", " ") for end in ends), "columns are aligned"
    assert 'the cube: xarray.open_zarr("results/toy.zarr")' in out
    assert out.endswith("ckrr report results/toy.zarr\n")

    code, out, err = ckrr("report", "toy.toml", "--drawn", "0", cwd=folder)
    assert (code, err) == (0, "")
    assert out.startswith("wrote results/toy.html (")
    assert "<h1>toy</h1>" in (folder / "results" / "toy.html").read_text()

    code, out, _ = ckrr("status", "results/toy.zarr", cwd=folder)
    assert code == 0
    assert "complete" in out
    code, out, _ = ckrr("status", "results/toy.zarr", "--json", cwd=folder)
    assert json.loads(out)["complete"] is True
    assert ckrr("status", "toy.toml", "--json", cwd=folder) == (0, out, ""), "a scenario means its store"
    (folder / "more.toml").write_text(TOY.replace("paths = 6", "paths = 7"))
    code, out, _ = ckrr("status", "more.toml", cwd=folder)
    assert "complete" in out
    assert (
        "the scenario file isn't what the last run was asked for (it was edited, or the run had --set or --until)"
        in out
    )
    (folder / "more.toml").write_text(TOY.replace("lam =", "lambda ="))
    assert "the scenario file isn't what the last run" in ckrr("status", "more.toml", cwd=folder)[1]
    assert ckrr("plan", "toy.toml", cwd=folder)[1].endswith("24 replications: complete, nothing to do\n")

    code, out, _ = ckrr("run", "toy.toml", "--json", cwd=folder)
    facts = json.loads(out)
    assert facts["units"] == 0
    assert facts["complete"] is True
    assert facts["efficiency"] is None

    code, _, err = ckrr("run", "toy.toml", "--set", "seed=6", cwd=folder)
    assert code == 2
    assert "belongs to another study: seed was 5 and is 6. Choose another --store" in err


def test_failures_show_in_the_exit_code(folder: Path) -> None:
    code, out, _ = ckrr("run", "toy.toml", *QUICK, "--set", "source.fails_at=0.3", cwd=folder)
    assert code == 1
    assert "replications of cells failed: ckrr errors results/toy.zarr says why" in out


def test_smoke_has_a_store_of_its_own(folder: Path) -> None:
    for _ in range(2):  # it starts anew each time
        code, out, _ = ckrr("run", "toy.toml", "--smoke", "--workers", "1", cwd=folder)
        assert code == 0
        assert "2 replications in" in out
    assert [each.name for each in (folder / "results").iterdir()] == ["toy-smoke.zarr"]


def test_a_source_in_a_file_beside_the_scenario(folder: Path) -> None:
    """Its text goes into the store, and workers need nothing else."""
    (folder / "mine.py").write_text(
        "import numpy as np\nfrom scenarios import Synthetic\n"
        "def sine(frequency: float = 5.0, test_points: int = 21):\n"
        "    return Synthetic(lambda X: np.sin(frequency * X[:, 0]), test_points=test_points)\n"
    )
    text = TOY.replace("tests.harness.toy:Toy", "mine.py:sine").replace("fails_at = 0.0", "frequency = 3")
    (folder / "mine.toml").write_text(text.replace("n = [10, 20]", "n = [10]"))
    code, _, err = ckrr("run", "mine.toml", cwd=folder)
    assert code == 0, err
    assert (folder / "results/toy.zarr/files/mine.py").read_text() == (folder / "mine.py").read_text()
    text = (folder / "mine.py").read_text()
    (folder / "mine.py").write_text(f"{text}# a comment\n")
    code, out, err = ckrr("run", "mine.toml", cwd=folder)
    assert code == 2
    assert "mine.py was edited since the store was made (the old text is in" in err
    code, out, err = ckrr("run", "mine.toml", "--accept-changed-source", cwd=folder)
    assert code == 0, err
    assert "complete, nothing to do" in out
    code, _, err = ckrr("run", "mine.toml", "--workers", "1", "--set", "replications.paths=8", cwd=folder)
    assert code == 0, err
    (folder / "mine.py").write_text(text.replace("np.sin(", "np.cos("))
    code, _, err = ckrr("run", "mine.toml", cwd=folder)
    assert code == 2
    assert "mine.py was edited since the store was made (the old text is in" in err


def test_a_table_beside_the_scenario(folder: Path) -> None:
    rows = "\n".join(f"{i / 60},{i % 7}" for i in range(60))
    (folder / "data.csv").write_text(f"x,y\n{rows}\n")
    text = TOY.replace("tests.harness.toy:Toy", "table").replace("fails_at = 0.0", 'file = "data.csv"')
    (folder / "table.toml").write_text(text.replace("gamma = [1.0]", "gamma = [0]"))
    code, out, err = ckrr("run", "table.toml", *QUICK, cwd=folder)
    assert code == 0, err
    assert "γ = 0" in out


LONG = ("run", "toy.toml", "--set", "replications.paths=1500", "--set", "source.test_points=3000")
STOPPING = "stopping: what is done is kept (Ctrl-C again to quit at once)"


@contextmanager
def started(folder: Path, pattern: str) -> Iterator[subprocess.Popen[str]]:
    """A long run, half a second after its store has a file like this; killed at the end if it hasn't ended."""
    process = start(*LONG, cwd=folder)
    try:
        deadline = monotonic() + 60
        while not list((folder / "results").glob(f"toy.zarr/{pattern}")):
            assert monotonic() < deadline
            assert process.poll() is None, process.communicate()
            sleep(0.05)
        sleep(0.5)
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def interrupted(process: subprocess.Popen[str], until: str = "") -> list[str]:
    """Ctrl-C, as from a terminal: it reaches the whole process group. What it says then, without its progress."""
    os.killpg(process.pid, signal.SIGINT)
    assert process.stderr is not None
    lines: list[str] = []
    while (not until or until not in lines) and (line := process.stderr.readline()):
        lines += [line.rstrip()] if "replications" not in line else []
    return lines


@pytest.mark.parametrize("pattern", ["receipts/*/*.json", "zarr.json"])
def test_interrupted_by_the_keyboard_it_says_how_to_go_on(pattern: str, folder: Path) -> None:
    """In the middle of units, or while workers start. What is done stays done."""
    with started(folder, pattern) as process:
        assert interrupted(process) == [STOPPING, "stopped: what is done is kept, the same command resumes"]
        assert process.wait(timeout=60) == 130
        assert_no_process_is_left(process.pid)
    _, out, _ = ckrr("status", "results/toy.zarr", "--json", cwd=folder)
    state = json.loads(out)
    assert state["share"] > 0 or pattern == "zarr.json"
    assert state["share"] < 1
    assert "stopped" in state["last_run"]


@pytest.mark.parametrize("pattern", ["receipts/*/*.json", pytest.param("zarr.json", marks=pytest.mark.soak)])
def test_interrupted_twice_it_ends_at_once(pattern: str, folder: Path) -> None:
    with started(folder, pattern) as process:
        assert interrupted(process, until=STOPPING) == [STOPPING]
        assert interrupted(process) == ["quit: what is done is kept, the same command resumes"]
        assert process.wait(timeout=60) == 130
        assert_no_process_is_left(process.pid)
    assert ckrr("status", "results/toy.zarr", cwd=folder)[0] == 0


def test_interrupted_before_it_starts(folder: Path) -> None:
    """While Python loads what it needs: no traceback then, either."""
    process = start(*LONG, cwd=folder)
    until(lambda: "numpy" in Path(f"/proc/{process.pid}/maps").read_text())
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1].startswith("stopped")
    assert "Traceback" not in err


def assert_no_process_is_left(group: int) -> None:
    deadline = monotonic() + 60
    while monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        sleep(0.1)
    pytest.fail("a process of the run is left")


@pytest.fixture(scope="module")
def smoked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("smoked")
    (here / "toy.toml").write_text(TOY)
    assert ckrr("run", "toy.toml", "--smoke", "--workers", "1", "--store", "results/toy.zarr", cwd=here)[0] == 0
    return here


@pytest.mark.parametrize(
    "arguments", [["--help"], ["status", "results/toy.zarr"], ["status", "toy.toml"], ["list"], ["run", "--help"]]
)
def test_light_commands_start_light(arguments: list[str], smoked: Path) -> None:
    """Neither Dask nor xarray nor Zarr is loaded, and for a state not even NumPy."""
    code = (
        "import sys\nfrom harness.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit as end:\n    assert end.code == 0, end.code\n"
        "heavy = {'dask', 'distributed', 'xarray', 'zarr', 'numpy', 'scipy', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=smoked, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_new_writes_a_scenario_that_runs(folder: Path) -> None:
    code, out, _ = ckrr("new", "fresh", cwd=folder)
    assert code == 0
    assert "ckrr run fresh.toml --smoke" in out
    code, _, err = ckrr("plan", "fresh.toml", cwd=folder)
    assert code == 0, err
    code, _, err = ckrr("new", "fresh", cwd=folder)
    assert code == 2
    assert err == "error: fresh.toml already exists: choose another name\n"


def test_new_takes_a_folder(folder: Path) -> None:
    code, out, _ = ckrr("new", "some/where/my", cwd=folder)
    assert code == 0
    where = "some/where/my.toml"
    assert out == f"made the folder some/where, wrote {where}; try it with: ckrr run {where} --smoke\n"
    assert ckrr("new", "some/where/other", cwd=folder)[1].startswith("wrote some/where/other.toml")
    assert ckrr("plan", "some/where/my.toml", cwd=folder)[0] == 0
    code, _, err = ckrr("new", "some/where/my.toml/other", cwd=folder)
    assert (code, err.count("\n")) == (2, 1)
    assert "since some/where/my.toml is a file: choose another folder" in err


def test_from_python_in_a_plain_script(folder: Path) -> None:
    """Without `if __name__ == "__main__":`, which people forget; and the calls are calls, in any order."""
    script = (
        "import harness\nfrom harness import plan, run, status\n"
        "cube = harness.run('toy.toml', workers=1)\n"
        "left = harness.plan('toy.toml')['replications_left']\n"
        "print(dict(cube.sizes)['n'], left, status('results/toy.zarr')['complete'])\n"
        "try:\n    run('nothing.toml')\nexcept harness.UserError as mistake:\n    print(mistake)\n"
    )
    (folder / "script.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "script.py"], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "2 0 True"
    assert second.startswith("nothing.toml: no such file")


def test_output_may_be_cut_off(folder: Path) -> None:
    command = f"{sys.executable} -m harness.cli plan toy.toml | head -1"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.stderr == ""


def test_list_names_what_comes_along(folder: Path) -> None:
    code, out, _ = ckrr("list", cwd=folder)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "scenarios: ckrr run NAME"
    assert lines[1].startswith("  quickstart ")
    heads = [line.split(":")[0] for line in lines if not line.startswith(" ")]
    assert heads == ["scenarios", "families", "sources", "clusters"]
    assert any(line.startswith("  worlds/student ") for line in lines)
    assert any(line.startswith("  baselines  GPR-f, ") and line.endswith(", CV+, J+GP") for line in lines)


@pytest.mark.parametrize("words", [["list"], ["--version"], ["rum"]])
def test_python_m_harness_is_the_same_command(words: list[str], folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    short, long = (
        subprocess.run(
            [sys.executable, "-m", name, *words], cwd=folder, env=environment, capture_output=True, text=True
        )
        for name in ("harness", "harness.cli")
    )
    assert short.returncode == long.returncode
    assert (short.stdout, short.stderr) == tuple(
        text.replace("harness.cli", "harness") for text in (long.stdout, long.stderr)
    )
    assert short.returncode == (2 if words == ["rum"] else 0)


def test_bash_completes_it(folder: Path) -> None:
    """As the page of commands says; bash asks for the words so."""
    for words, expected in [("ckrr st", "plain,status"), ("ckrr run --clu", "plain,--cluster")]:
        environment = {**os.environ, "_CKRR_COMPLETE": "bash_complete", "COMP_WORDS": words}
        environment["COMP_CWORD"] = str(len(words.split()) - 1)
        script = Path(sys.executable).with_name("ckrr")
        done = subprocess.run([script], cwd=folder, env=environment, capture_output=True, text=True, check=True)
        assert expected in done.stdout.splitlines()


def test_it_is_a_command_of_dask_too(folder: Path) -> None:
    words = [sys.executable, "-m", "dask", "ckrr", "list"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("scenarios: ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["status", "nothing.zarr"],
            "error: nothing.zarr: there is neither a store nor a scenario here, and no bundled scenario of that name "
            "(`ckrr list` shows them); `ckrr run SCENARIO --store nothing.zarr` makes a store",
        ),
        (["status", "toy.toml"], "results/toy.zarr: there is no store here; `ckrr run toy.toml` makes one"),
        (["status", "quickstart"], "results/quickstart.zarr: there is no store here; `ckrr run quickstart` makes one"),
        (["status", "."], "holds something that is not a ckrr store"),
        (["run", "toy.toml", "--store", "toy.toml"], "is a file; a store is a directory"),
        (["run", "toy.toml", "--store", "."], "holds something that is not a ckrr store"),
        (["run", "toy.toml", "toy.toml", "--store", "x"], "--store takes one scenario"),
        (["plan", "toy.toml", "--set", "grid.n=[400]", "--workers", "1000"], "GB per worker"),
        (["run", "toy.toml", "--worker", "1"], "error: No such option '--worker'. (Did you mean"),
        (["rum", "toy.toml"], "error: No such command 'rum'. Did you mean 'run'? See `"),
        (["new", "my study"], "'.', '_' and '-', got 'my study': try `ckrr new my-study`"),
        (["new", "there/é"], "got 'é': try `ckrr new there/my`"),
        (["run", "toy.toml", "--cluster", "toy.toml"], "toy.toml: is a scenario, not a cluster file: `ckrr run toy.to"),
        (["run"], "error: Missing argument 'SCENARIO...'. See `"),
        (["--worker", "1"], "error: No such option '--worker'. See `"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], expected: str, folder: Path) -> None:
    code, _, err = ckrr(*arguments, cwd=folder)
    assert code == 2
    assert len(err.splitlines()) == 1
    assert err.startswith("error: ")
    assert expected in err
    assert sorted(each.name for each in folder.iterdir()) == ["toy.toml"], "nothing is made"
