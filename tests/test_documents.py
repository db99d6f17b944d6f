"""What stands in the documents is run: their commands, their code and their tables, in the order in which they come."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import yaml
from click.testing import CliRunner

from ckrr.baselines import split_level
from harness.cli import main
from harness.compute.study import Study
from harness.compute.unit import compute_unit
from harness.core.protocols import Family
from harness.core.schema.cube import CUBE
from harness.core.schema.measures import KEPT, list_variables
from harness.core.seeds import Seeds
from harness.core.types import Extent, Grid, Values
from harness.families.regressors import make_family
from harness.figures import FIGURES
from harness.results.measures import MEASURES
from harness.scenario.families import find_family
from harness.scenario.load import load
from scenarios import SOURCES
from tests.harness.studies import only, unit

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text()
PAGES = {page.stem: page.read_text() for page in sorted(DOCS.glob("*.md"))}
CUSTOM = PAGES["custom-procedure"]
TUTORIAL = ("start", "study", "export")
"""Pages whose shell commands are one session, in this order."""


def blocks(text: str, language: str) -> list[str]:
    return [str(each) for each in re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)]


def fenced(text: str, language: str, containing: str) -> str:
    """The block of code that has a text in it."""
    (found,) = [block for block in blocks(text, language) if containing in block]
    return found


def python(code: str, folder: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tutorial was followed, command by command."""
    here = tmp_path_factory.mktemp("tutorial")
    (here / "jump.toml").write_text(fenced(PAGES["start"], "toml", 'name = "jump"'))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        lines = "".join(code for page in TUTORIAL for code in blocks(PAGES[page], "sh")).splitlines()
        assert len(lines) > 12
        for line in lines:
            program, *words = shlex.split(line)
            assert program == "ckrr"
            done = CliRunner().invoke(main, words)
            assert done.exit_code == 0, f"{line}: {done.output}"
    return here


def test_the_tutorial_ends_in_a_picture_and_a_report(folder: Path) -> None:
    assert (folder / "coverage.png").stat().st_size > 10_000
    assert "RRCM-loo" in (folder / "jump.html").read_text()


def test_what_the_tutorial_says_is_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the 60 paths that it has at that place."""
    import harness

    store = str(folder / "60.zarr")
    harness.run(folder / "jump.toml", store=store, workers=1)
    done = CliRunner().invoke(main, ["table", store, "--measure", "coverage_expected,width"])
    assert done.output.partition("\n")[2] == fenced(PAGES["start"], "text", "procedure")
    found = harness.estimate(store).value.squeeze().sel(n=25)
    assert float(found.sel(procedure="GPR-f")) == pytest.approx(0.84, abs=0.005)
    for name in ("RRCM-loo", "CRR-loo"):
        assert float(found.sel(procedure=name)) == pytest.approx(0.92, abs=0.006)
    assert (harness.verdicts(store).verdict == "undecided").sum() == 3
    harness.run(folder / "jump.toml", store=store, workers=1, until="verdict", budget=2000)
    said = harness.verdicts(store).squeeze()
    assert said.paths.max("procedure").to_series().to_dict() == {25: 225, 100: 200}
    assert said.verdict.sel(procedure="GPR-f").to_series().to_dict() == {25: "invalid", 100: "borderline"}
    assert (said.verdict.drop_sel(procedure="GPR-f") == "valid").all()


def test_its_code_runs(folder: Path) -> None:
    page = PAGES["cube"]
    cube, replications = fenced(page, "python", "cube = xr.open_zarr"), fenced(page, "python", "open_datatree")
    lazy = fenced(page, "python", "def reduce")
    same = "import numpy as np\nnp.testing.assert_allclose(by_n['mean'], cube.coverage.transpose(*by_n['mean'].dims))"
    python("\n".join([cube, replications, lazy, same, fenced(PAGES["how-sure"], "python", "study.estimate")]), folder)


def test_its_bins_are_drawn(folder: Path) -> None:
    """As `ckrr figure … conditional` draws them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        settings = ['name="my"', 'keep=["bins"]', "replications.paths=4", "grid.n=[100]"]
        told = ["run", "jump.toml", *(word for each in settings for word in ("--set", each))]
        assert CliRunner().invoke(main, told).exit_code == 0
    drawn = "import matplotlib\nmatplotlib.use('agg')"
    python("\n".join([drawn, fenced(PAGES["cube"], "python", "coverage_by_x"), "assert by_x.notnull().any()"]), folder)


def test_its_graph_is_computed_beside_other_work(folder: Path) -> None:
    code = fenced(PAGES["python"], "python", "study.graph")
    python(f"{code}\nassert six == 6\nassert (cube.replication_count == 60).all()", folder)
    (found,) = re.findall(r"`(ckrr plan jump.toml\s+--graph .*?)`", PAGES["python"])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert CliRunner().invoke(main, shlex.split(found)[1:]).exit_code == 0
    assert (folder / "plan.svg").is_file()


def test_the_conclusion_of_the_study(folder: Path) -> None:
    """Its widths."""
    import harness

    found = harness.estimate(str(folder / "results/jump.zarr"), "width").squeeze()
    for name, n, value in [
        ("RRCM-loo", 25, "1.57 ± 0.03"),
        ("GPR-f", 25, "1.13 ± 0.02"),
        ("RRCM-loo", 100, "1.16 ± 0.01"),
        ("GPR-f", 100, "1.084 ± 0.006"),
    ]:
        one = found.sel(procedure=name, n=n)
        value_digits, error_digits = (len(text.partition(".")[2]) for text in value.split(" ± "))
        assert f"{float(one.value):.{value_digits}f} ± {float(one.se):.{error_digits}f}" == value
        assert value in " ".join(PAGES["study"].split())


def test_the_messages_of_the_frequent_questions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    sessions = [each for each in blocks(PAGES["faq"], "console") if each.startswith("$ ")]
    assert len(sessions) >= 5
    for session in sessions:
        line, _, expected = session.partition("\n")
        program, *words = shlex.split(line.removeprefix("$ "))
        assert program == "ckrr"
        done = CliRunner().invoke(main, words)
        assert done.output.replace(str(folder), "/home/me") == expected, line


def test_other_messages_of_the_frequent_questions(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the frequent questions, too."""
    monkeypatch.chdir(tmp_path)
    scenario = (folder / "jump.toml").read_text().replace("paths = 60", "paths = 3")
    source = tmp_path / "mine.py"
    source.write_text(fenced(PAGES["custom-source"], "python", " sine"))
    mine, sing = (scenario.replace('"jump"', f'"{name}"') for name in ("mine", "sing"))
    (tmp_path / "mine.toml").write_text(mine.replace('"heaviside"', '"mine.py:sine"'))
    (tmp_path / "sing.toml").write_text(sing.replace("lam = [0.1]", "lam = [1e-14]"))

    def say(*words: str) -> str:
        return CliRunner().invoke(main, words).output.replace(str(tmp_path), "/home/me")

    say("run", "mine.toml", "--workers", "1")
    source.write_text(source.read_text() + "# a comment\n")
    assert say("run", "mine.toml") == fenced(PAGES["faq"], "console", "was edited")
    say("run", "sing.toml")  # bundled code runs in this process, which is quicker
    assert fenced(PAGES["faq"], "console", "lost its digits") in say("errors", "results/sing.zarr")


def test_the_code_of_the_frequent_questions(folder: Path) -> None:
    """Its doctests, in the folder of the tutorial."""
    flags = "doctest.NORMALIZE_WHITESPACE"
    code = f"import doctest; done = doctest.testfile({str(DOCS / 'faq.md')!r}, False, optionflags={flags})"
    python(f"{code}\nassert done.failed == 0 and done.attempted > 8, done", folder)


def test_the_readme_s_cube_is_sliced_as_it_says(folder: Path) -> None:
    assert fenced(README, "toml", 'name = "jump"') == fenced(PAGES["start"], "toml", 'name = "jump"')
    python(fenced(README, "python", "open_zarr"), folder)


def test_the_first_slice_of_the_tutorial_runs(folder: Path) -> None:
    """Of the quickstart, whose results have the same axes."""
    code = fenced(PAGES["start"], "python", "open_zarr")
    assert "results/quickstart.zarr" in code
    python(code.replace("quickstart", "jump"), folder)


def run_family(family: Family, procedures: Sequence[str], paths: int = 12) -> dict[str, Values]:
    """Results of a family on a step with noise, at n = 25 and two levels."""
    grid = Grid(tuple(procedures), (0.1, 0.2), (0.0,), (0.0,), (25,), (0.1, 0.25))
    source, seeds = SOURCES["heaviside"](test_points=21), Seeds.from_source(7, {})
    block = compute_unit(Study(Extent(grid, paths, 1), source, only(family), seeds), unit(25, range(paths), range(1)))
    assert [each.message for each in block.failures] == []
    return {key: values[:, 0] for key, values in block.values.items()}


def execute(code: str, name: str) -> Any:
    known: dict[str, Any] = {}
    exec(compile(code, "mine.py", "exec"), known)
    return known[name]


def test_its_regressor_runs() -> None:
    scenario = tomllib.loads(fenced(CUSTOM, "toml", 'name = "forest"\nseed'))
    known, given = scenario["family"]
    name, family = given.pop("name"), make_family(given.pop("use").removeprefix("sklearn:"), **given)
    names = {f"{name}-{procedure}" for procedure in family.procedures}
    assert set(scenario["grid"]["procedure"]) <= {*find_family(known).procedures, *names}
    family = replace(family, parameters={**family.parameters, "n_estimators": 10})  # faster
    coverage = run_family(family, ["split", "CV+"])["coverage"][..., 0].mean(axis=0).squeeze()
    assert coverage[0] == pytest.approx(np.full(2, split_level(25, 0.1)), abs=0.08)
    assert coverage[1] == pytest.approx(np.full(2, 0.9), abs=0.08)


def test_its_function_runs() -> None:
    family = execute(fenced(CUSTOM, "python", "@study.procedure(level=split_level)"), "forest_split")
    assert family.level("forest_split", 25, 0.1) == split_level(25, 0.1)
    found = run_family(family.with_parameters(trees=10), ["forest_split"], 30)["coverage"].mean(axis=0).squeeze()
    for k, alpha in enumerate((0.1, 0.25)):
        assert found[:, k] == pytest.approx(np.full(2, split_level(25, alpha)), abs=0.08)


def test_its_family_runs() -> None:
    """Both procedures share a fit, and each is what it is alone."""
    family = execute(fenced(CUSTOM, "python", "class Forest"), "Forest")()
    together = run_family(family, family.procedures, 8)
    for p, name in enumerate(family.procedures):
        assert np.array_equal(together["width_mean"][:, p], run_family(family, [name], 8)["width_mean"][:, 0])
    out_of_bag, trees = together["coverage"].mean(axis=0).squeeze()
    assert out_of_bag == pytest.approx(np.tile([0.9, 0.75], (2, 1)), abs=0.05)
    assert (trees < out_of_bag - 0.3).all()


def test_its_three_families_run_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside krr, in one cube; what uses no θ stands at every θ."""
    for name, part in {"mine.py": "@study.procedure(level=split_level)", "own.py": "class Forest"}.items():
        (tmp_path / name).write_text(fenced(CUSTOM, "python", part))
    scenario = fenced(CUSTOM, "toml", 'name = "forest"\nseed')
    more = ', { use = "mine.py:forest_split", trees = 5 }, "own.py:Forest"]'
    scenario = scenario.replace("n_estimators = 50 }]", "n_estimators = 5 }" + more).replace("[100]", "[100, 10]")
    scenario = scenario.replace('"forest-CV+"]', '"forest_split", "forest-oob"]')
    (tmp_path / "all.toml").write_text(scenario)
    monkeypatch.chdir(tmp_path)
    words = ["run", "all.toml", "--set", "replications.paths=3", "--set", "grid.n=[25]", "--workers", "1"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    cube = xr.open_zarr(tmp_path / "results/forest.zarr").squeeze()
    assert cube.uses_theta.to_series().to_dict() == dict.fromkeys(cube.procedure.values, False) | {"RRCM-loo": True}
    width = cube.width_mean
    assert (width.notnull()).all()
    assert (width.sel(theta="10") == width.sel(theta="100")).sum() == 3
    assert set(width.idxmin("procedure").values) <= set(cube.procedure.values)
    assert cube.level.sel(theta="10", procedure="forest_split") == cube.level.sel(theta="10", procedure="forest-split")


def test_a_function_with_noise_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = PAGES["custom-source"]
    (tmp_path / "mine.py").write_text(fenced(page, "python", " sine"))
    (tmp_path / "sine.toml").write_text(fenced(page, "toml", 'name = "sine"'))
    monkeypatch.chdir(tmp_path)
    for words in map(shlex.split, fenced(page, "sh", "sine.toml").splitlines()):
        done = CliRunner().invoke(main, [*words[1:], "--workers", "1"])
        assert done.exit_code == 0, done.output


def test_a_source_of_other_data_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(fenced(PAGES["custom-source"], "python", " Fan"))
    scenario = fenced(PAGES["start"], "toml", 'name = "jump"')
    (tmp_path / "jump.toml").write_text(re.sub(r'function = "heaviside".*', 'function = "mine.py:Fan"', scenario))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["run", "jump.toml", "--smoke", "--workers", "1"])
    assert done.exit_code == 0, done.output


def test_a_procedure_of_one_s_own_runs_on_own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(fenced(CUSTOM, "python", "@study.procedure\n"))
    (tmp_path / "mine.toml").write_text(fenced(CUSTOM, "toml", 'name = "mine"'))
    monkeypatch.chdir(tmp_path)
    exec(fenced(CUSTOM, "python", "data.csv"), {})
    line = fenced(CUSTOM, "sh", "mine.toml")
    for words in (shlex.split(each) for each in line.split("&&")):
        few = ["--set", "replications.paths=3", "--workers", "1"] if words[1] == "run" else []
        done = CliRunner().invoke(main, [*words[1:], *few])
        assert done.exit_code == 0, done.output
    cube = xr.open_zarr("results/mine.zarr")
    assert (cube.replication_count == 3).all()
    assert not cube.uses_theta.sel(procedure="forest_split")
    assert "forest_split" in Path("results/mine.html").read_text()


def test_the_scenario_with_comments_is_good(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(fenced(PAGES["scenario"], "toml", 'name = "my"'))
    assert load(str(tmp_path / "my.toml")).extent.draws == 5


def test_the_commands_of_the_workflow_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few replications, which decide nothing."""
    (tmp_path / "my.toml").write_text(fenced(PAGES["scenario"], "toml", 'name = "my"'))
    monkeypatch.chdir(tmp_path)
    steps = yaml.safe_load(fenced(PAGES["ci"], "yaml", "ckrr check"))["jobs"]["coverage"]["steps"]
    run, check = (shlex.split(each["run"]) for each in steps if each.get("run", "").startswith("ckrr "))
    few = ["--set", "replications.paths=2", "--set", "grid.n=[25]", "--workers", "1"]
    assert CliRunner().invoke(main, [*run[1:], *few]).exit_code == 0
    done = CliRunner().invoke(main, check[1:])
    assert done.exit_code == 4, done.output
    (kept,) = [each["with"] for each in steps if "cache/save" in each.get("uses", "")]
    (restored,) = [each["with"] for each in steps if "cache/restore" in each.get("uses", "")]
    assert kept == {"path": restored["path"], "key": "${{ steps.store.outputs.cache-primary-key }}"}
    assert (tmp_path / kept["path"] / "my.zarr").is_dir()
    assert (tmp_path / steps[-1]["with"]["path"]).read_text().count("<testcase") == 2 * 2 * 2 * 4


def test_every_variable_has_its_meaning() -> None:
    """In the same words as in the store."""
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?)(?: \(kept with .*\))? \|$", PAGES["cube"], flags=re.MULTILINE))
    stored = {one.name: one.description for one in list_variables(KEPT)}
    assert stored.items() <= rows.items()
    assert rows.items() - stored.items() <= {(one.name, one.description) for one in CUBE}
    assert rows.keys() == stored.keys() | {one.name for one in CUBE}


def test_every_measure_is_named() -> None:
    page = PAGES["cube"]
    listed = page[page.index("The measures:") : page.index("The quantiles of coverage")]
    assert set(re.findall(r"`(\w+)`", listed)) == {*MEASURES, "mad", "level", "verdict"}


def test_links_lead_somewhere() -> None:
    """Those of documents that Sphinx doesn't read; it checks those between pages."""
    names = ["README", "CONTRIBUTING", "ARCHITECTURE", "CHANGELOG", "SECURITY"]
    names += [f"{package}/README" for package in ("ckrr", "harness", "scenarios", "cluster")]
    for path in (ROOT / f"{name}.md" for name in [*names, "docs/inventories/README"]):
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", path.read_text()):
            assert (path.parent / link).exists(), f"{path.name}: {link}"


def test_links_between_pages_lead_somewhere() -> None:
    """Also where Sphinx isn't installed; `test_pages.py` checks their anchors, too."""
    for name, text in PAGES.items():
        for link in re.findall(r"\]\((?!http)([^)#\s]+)(?:#[^)]*)?\)", text):
            assert (DOCS / link).exists() or link.startswith("auto_examples/"), f"{name}: {link}"


def test_files_that_are_named_exist() -> None:
    """Paths of our modules and tests in pages and short READMEs."""
    texts = {**PAGES, **{path.parent.name: path.read_text() for path in ROOT.glob("*/README.md")}}
    for name, text in texts.items():
        for path in re.findall(r"`((?:ckrr|harness|scenarios|cluster|tests)/[\w/-]+\.\w+)`", text):
            assert (ROOT / path).exists(), f"{name}: {path}"


def test_the_readme_is_one_screen() -> None:
    assert len(README.splitlines()) < 150
    assert len(re.findall(r"^python3 -m venv .*/bin/pytest$", README, flags=re.MULTILINE)) == 1
    assert README.count("<!-- proof -->") == PAGES["benchmarks"].count("<!-- proof -->") == 2


def test_tests_that_are_named_exist() -> None:
    """Claims of intervals and verdicts name the tests that show them."""
    tests = {
        name for path in ROOT.glob("tests/**/test_*.py") for name in re.findall(r"def (test_\w+)", path.read_text())
    }
    texts = [path.read_text() for folder in ("statistics", "results") for path in ROOT.glob(f"harness/{folder}/*.py")]
    named = {name for text in (*PAGES.values(), *texts) for name in re.findall(r"`(test_\w+)`", text)} - {"test_points"}
    assert len(named) > 20
    assert named <= tests


def test_commands_are_in_their_table() -> None:
    named = set(re.findall(r"^\| `ckrr (\w+)", PAGES["commands"], flags=re.MULTILINE))
    assert set(main.commands) <= named, set(main.commands) - named


def test_every_figure_has_its_row() -> None:
    """In the words of the code."""
    page = PAGES["commands"]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", page[page.index("## Figures") :], flags=re.MULTILINE)
    assert rows == [(one.name, one.what) for one in FIGURES.values()]


def test_code_is_as_it_is_written_elsewhere() -> None:
    """Blocks of Python can at least be read."""
    for text in (README, *PAGES.values()):
        for block in blocks(text, "python"):
            if ">>>" not in block:
                compile(textwrap.dedent(block), "block", "exec")
