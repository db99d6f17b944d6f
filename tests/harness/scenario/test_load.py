"""Scenario files: every mistake in one report, never a traceback, never work begun on a bad one."""

from __future__ import annotations

import copy
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings, strategies as st

from harness.cli import main
from harness.core.errors import UserError
from harness.core.text import shorten_repr
from harness.scenario.load import check, load
from harness.scenario.spec import GridPart, Replications
from harness.store import requests
from tests.harness.studies import toy

GOOD = """
name = "gaussian-1d"
seed = 20160919

[source]
function = "gp"
theta = 100.0
dimension = 1
test_points = 201
pool = 4000

[grid]
gamma  = [1e-6, 1e-1]
n      = [25, 50, 100, 200, 400]
theta  = [10, 100, 1000, "ml"]
lam    = [1e-6, 1e-1]
alpha  = [0.01, 0.05, 0.10, 0.25]
procedure = ["GPR-f", "GPR-p", "RRCM", "RRCM-loo", "CRR", "CRR-loo"]

[replications]
paths = 50
draws = 20
"""


def complaints(text: str, folder: Path) -> list[str]:
    """What `ckrr plan` says, without the file's name."""
    path = folder / "my.toml"
    path.write_text(text)
    result = invoke("plan", str(path), "--store", str(folder / "none.zarr"))
    assert result.exit_code == 2
    assert not (folder / "none.zarr").exists()
    lines = result.stderr.splitlines()
    assert all(line.startswith(f"error: {path}: ") for line in lines)
    return [line.removeprefix(f"error: {path}: ") for line in lines]


def invoke(*arguments: str) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_the_issue_s_example_is_good(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(GOOD)
    loaded = load(str(tmp_path / "my.toml"))
    assert loaded.extent.grid.theta == (10.0, 100.0, 1000.0, "ml")
    assert loaded.extent.paths == 50
    assert loaded.built.source.largest_n == 4000


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("seed = 20160919", "seed = 1.5", "seed must be a whole number, got 1.5"),
        ("seed = 20160919", "sed = 3", "seed is missing"),
        ("seed = 20160919", "seed = -1", "seed must be >= 0, got -1"),
        ('"gaussian-1d"', '"a/b"', "name must start with a letter or digit and have only letters, digits, "),
        (
            '"ml"]',
            '"mle"]',
            "(did you mean 'ml'?), got 'mle'",
        ),
        ("[10, 100", "[-10, 100", "grid.theta[0] must be a finite number > 0 or the name of a search, got -10"),
        ('"RRCM"', '"RRMC"', "(did you mean 'RRCM'?), got 'RRMC'"),
        ("gamma  = [1e-6", "gamma  = [-1e-6", "grid.gamma[0] must be >= 0, got -1e-06"),
        ("[1e-6, 1e-1]\nalpha", "[0, 1e-1]\nalpha", "grid.lam[0] must be > 0, got 0"),
        ("0.25]", "1.25]", "grid.alpha[3] must be < 1, got 1.25"),
        ("0.25]", "5]", "grid.alpha[3] must be < 1, got 5 (did you mean 0.05?)"),
        ("0.25]", "95]", "grid.alpha[3] must be < 1, got 95 (did you mean 0.05?)"),
        ("0.25]", "2.5]", "grid.alpha[3] must be < 1, got 2.5 (did you mean 0.025?)"),
        ('"RRCM"', '"split"', "CRR-std-w, got 'split': family = \"baselines\" has it"),
        ('"RRCM"', '"MAPIE-CV+"', "CRR-std-w, got 'MAPIE-CV+': family = \"peers\" has it"),
        ("0.25]", "nan]", "grid.alpha[3] must be a finite number, got nan"),
        ("[25, 50", "[25, 25", "grid.n must not have a value twice: 25, got [25, 25, 100, 200, 400]"),
        ("[25, 50", "[1, 50", "grid.n[0] must be >= 2, got 1"),
        (
            "200, 400]",
            "200, 5000]",
            "grid.n[4] must be at most 4000, got 5000: the source has no more training points (its pool)",
        ),
        ("gamma  =", "gama  =", "grid.gama is unknown (did you mean 'gamma'?); known here: gamma, n, theta"),
        (
            "gamma  = [1e-6, 1e-1]\n",
            "",
            "grid.gamma is missing: the variance of the noise, such as gamma = [0.1]; a table",
        ),
        ("paths = 50", "paths = 0", "replications.paths must be >= 1, got 0"),
        ("paths = 50", "paths = true", "replications.paths must be a number, got True"),
        ("paths = 50", "paths = 50\nseconds = 0", "replications.seconds must be > 0, got 0"),
        ("paths = 50", 'paths = 50\nseconds = "soon"', "replications.seconds must be a number, got 'soon'"),
        ("[replications]", "[replication]", "replications is missing"),
        ('function = "gp"', 'function = "heavyside"', "(did you mean 'heaviside'?)"),
        ('function = "gp"', "", "source.function is missing: the name of a source"),
        ('function = "gp"', 'function = "no.such:thing"', "source.function names 'no.such', which can't be imported"),
        ('function = "gp"', 'function = "os:nothing"', "source.function names 'nothing', which 'os' doesn't have"),
        ('function = "gp"', 'function = "no.py:f"', "which can't be read: No such file or directory"),
        ("test_points = 201", "test_point = 201", "source.test_point is unknown (did you mean 'test_points'?)"),
        ("test_points = 201", "test_points = 0", "source.test_points must be an integer from 1 to 1000000, got 0"),
        ("test_points = 201", 'test_points = "many"', "source.test_points must be a whole number, got 'many'"),
        ("test_points = 201", 'test = "random"', "source.test must be 'grid' or 'iid', got 'random'"),
        ("pool = 4000", "lam = 0.1", "source.lam is unknown here: lam belongs in [grid]"),
        ("pool = 4000", "paths = 4", "source.paths is unknown here: paths belongs in [replications]"),
        ('function = "gp"', 'function = "heaviside"', "source.theta is unknown here: theta belongs in [grid]"),
        ("paths = 50", "paths = 50\npool = 3", "replications.pool is unknown here: pool belongs in [source]"),
        (
            "gamma  =",
            "keep = []\ngamma  =",
            "grid.keep is unknown here: keep belongs in no table: put it above the first",
        ),
        ("seed = 20160919", "seed = 1\ndraws = 3", "draws is unknown here: draws belongs in [replications]"),
        ("dimension = 1", "dimension = 4", "source.dimension must be"),
        ("dimension = 1", "dimension = true", "source.dimension must be a whole number, got True"),
        ("pool = 4000", 'pool = "4000"', "source.pool must be a whole number, got '4000'"),
        ("[source]", "[source]]", "is not TOML: "),
        (
            "seed = 20160919",
            'seed = 1\nfamily = "kr"',
            "'file.py:name' or 'package.module:name', got 'kr' (did you mean 'krr'",
        ),
        (
            "seed = 20160919",
            'seed = 1\nkeep = ["all"]',
            "keep[0] must be 'pointwise', 'bins', 'distribution', 'difference_lower' or 'difference_upper', got 'all'",
        ),
        ("draws = 20", "draws = 20\n[[exclude]]\nn = 26", "exclude[0].n has 26, which isn't in grid.n"),
        ("draws = 20", "draws = 20\n[[exclude]]", "exclude[0] names no axis, so it would leave out everything"),
        ("draws = 20", "draws = 20\n[[exclude]]\nlambda = 1", "exclude[0].lambda is unknown (did you mean 'lam'?)"),
        ("paths = 50", f"paths = {10**9 + 1}", "replications.paths must be <= 1000000000, got 1000000001"),
        ("draws = 20", f"draws = {2**31}", "replications.draws must be <= 1000000000, got 2147483648"),
        (
            "paths = 50\ndraws = 20",
            "paths = 1000000000\ndraws = 2",
            "replications must have paths × draws of at most 1000000000, got 1000000000 × 2",
        ),
        (
            "[1e-6, 1e-1]\nalpha",
            f"{list(range(1, 257))}\nalpha = {[i / 999 for i in range(1, 257)]}\nalpha_",
            "grid.alpha_ is unknown (did you mean 'alpha'?)",
        ),
        ("test_points = 201", "test_points = 1000001", "source.test_points must be an integer from 1 to 1000000"),
        ("seed = 20160919", 'seed = 1\n"str" = 2', "str is unknown; known here: name, description"),
        ("seed = 20160919", 'seed = 1\n"a[b" = 2', "'a[b' is unknown; known here"),
        ("seed = 20160919", 'seed = "\\u001b[2J\\n"', "seed must be a whole number, got '\\x1b[2J\\n'"),
        ('"gp"', '"gp\\u0007\\n"', "got 'gp\\x07\\n' (did you mean 'gp'?)"),
    ],
)
def test_each_mistake_has_its_line(old: str, new: str, expected: str, tmp_path: Path) -> None:
    assert old in GOOD
    found = complaints(GOOD.replace(old, new, 1), tmp_path)
    assert any(expected in line for line in found), found


def test_a_grid_of_too_many_cells_is_told(tmp_path: Path) -> None:
    values = str(list(range(1, 257)))
    text = GOOD.replace("[1e-6, 1e-1]", values).replace('[10, 100, 1000, "ml"]', values)
    product = "256 gamma × 5 n × 256 theta × 256 lam × 4 alpha × 6 procedure"
    assert complaints(text, tmp_path) == [f"grid must have at most 10000000 cells, got 2013265920: {product}"]


@pytest.mark.parametrize("table", ["", "[source]\n", "[grid]\n", "[replications]\n"])
def test_thousands_of_mistakes_are_counted(table: str, tmp_path: Path) -> None:
    many = "".join(f"k{i} = 1\n" for i in range(10_000))
    found = complaints(GOOD.replace(table, table + many, 1) if table else many + GOOD, tmp_path)
    assert len(found) == 21
    assert all("is unknown" in line for line in found[:20])
    assert found[20] == "… and 9980 more mistakes"


def test_mistakes_in_keys_that_look_alike_are_all_counted(tmp_path: Path) -> None:
    """They are shortened where they are shown."""
    found = complaints("".join(f"{'k' * 500}{i} = 1\n" for i in range(30)) + GOOD, tmp_path)
    assert (len(found), found[20]) == (21, "… and 10 more mistakes")
    assert all(len(line) < 300 for line in found)


def test_a_value_of_any_size_is_shown_short() -> None:
    assert len(shorten_repr("x" * 10**6)) < 100
    assert shorten_repr([16**5000]) == "a number with thousands of digits"


def test_a_scenario_that_is_no_regular_file_is_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.toml")
    for reference in (str(tmp_path / "fifo.toml"), "/dev/zero"):
        result = invoke("plan", reference)
        assert (result.exit_code, result.stderr) == (
            2,
            f"error: {reference} is no regular file; a scenario is a .toml file\n",
        )
    assert "no such file" in invoke("plan", "x" * 5000).stderr


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    text = (
        GOOD.replace("seed", "sed")
        .replace('"RRCM",', '"RRMC",')
        .replace("pool = 4000", "pol = 4000")
        .replace("50\n", "0\n")
    )
    found = complaints(text, tmp_path)
    assert len(found) == 5, found


def test_what_is_no_scenario_is_told(tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "here.toml").write_text('kind = "local"\nworkers = 2\n')
    for reference, expected in [
        (
            str(tmp_path / "here.toml"),
            "is a cluster file (kind = 'local'), not a scenario: give it after a scenario, as in `ckrr run SCENARIO ",
        ),
        (str(tmp_path / "bytes.toml"), "is not text in UTF-8 (byte 0)"),
        (str(tmp_path), "is a directory; a scenario is a .toml file"),
        ("quickstar", "no bundled scenario of that name (`ckrr list` shows them) (did you mean 'quickstart'?)"),
    ]:
        result = invoke("run", reference)
        assert result.exit_code == 2
        assert expected in result.stderr


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("grid.n", "--set grid.n: must be key=value, as in grid.n=[25,50]"),
        ("seed.x=3", "--set seed.x=3: seed is no table"),
        (
            "grid.n=[25",
            "--set grid.n=[25: the value is not TOML: lists are written [25,50], strings in them need quotes",
        ),
        ("grid.n=[1]", "--set grid.n=[1]: grid.n[0] must be >= 2, got 1"),
        ("grid.nn=[1]", "--set grid.nn=[1]: grid.nn is unknown (did you mean 'n'?)"),
        ("source.function=heavyside", "(did you mean 'heaviside'?)"),
        ("grid.n=" + "[" * 50_000, "…: the value is nested more than 16 levels deep: lists are written [25,50]"),
        ("grid.n=" + "9" * 5000, "…: grid.n[0] must be a whole number, got '999"),
        ("a." * 50_000 + "a=1", "…: the key has more than 16 parts"),
        ("grid..n=1", "--set grid..n=1: must be key=value"),
        ("seed=1\nname='x'", "--set seed=1\\nname='x': must be one value, got several keys"),
        ("seed='\x1b[2J'", "--set seed='\\x1b[2J': the value is not TOML"),
        ("description='\udcff'", "--set description='\\udcff': the value is not text in UTF-8"),
    ],
)
def test_settings_are_checked_too(setting: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(GOOD)
    result = invoke("plan", str(tmp_path / "my.toml"), "--set", setting)
    assert result.exit_code == 2
    assert expected in result.stderr
    assert all(len(line) < 1000 for line in result.stderr.splitlines())


def test_status_knows_the_defaults() -> None:
    """It compares files without the spec, which takes longer to load."""
    parts = {name: GridPart.model_fields[name].default for name in ("alpha", "gamma")}
    parts["draws"] = Replications.model_fields["draws"].default
    assert {key: list(one) if isinstance(one, tuple) else one for key, one in parts.items()} == requests._DEFAULTS


def test_settings_override(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(GOOD)
    loaded = load(str(tmp_path / "my.toml"), ["grid.n=[25,50]", "name=other", "source.function=heaviside"][:2])
    assert loaded.extent.grid.n == (25, 50)
    assert loaded.scenario.name == "other"


def places(plain: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every key and every list element of a table."""
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    return [found for key, value in items for found in ((*here, key), *places(value, (*here, key)))]


strange = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["ml", "exact", "os:path", "x.py", "tests.harness.toy:Toy", 0, -1, 1e400, 10**9]),
    st.lists(st.integers(-3, 30) | st.floats() | st.text(max_size=3), max_size=3),
    st.dictionaries(st.sampled_from(["n", "theta", "x"]), st.integers(0, 3), max_size=2),
)


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """The toy's scenario with a few things replaced, removed, renamed or added."""
    plain = copy.deepcopy(toy())
    for _ in range(draw(st.integers(1, 3))):
        *folders, last = draw(st.sampled_from(places(plain)))
        here: Any = plain
        for folder in folders:
            here = here[folder]
        match draw(st.sampled_from(["replace", "remove", "rename", "add"])):
            case "replace":
                here[last] = draw(strange)
            case "remove":
                del here[last]
            case "rename" if isinstance(here, dict):
                here[draw(st.text(max_size=6))] = here.pop(last)
            case _ if isinstance(here, dict):
                here[draw(st.sampled_from(["exclude", "keep", "extra", "pool", "family"]))] = draw(strange)
        if not places(plain):
            break
    return plain


def check_mutated(plain: dict[str, Any]) -> None:
    """Either a mistake in words, or a scenario that means something."""
    try:
        loaded = check(plain, "my.toml", Path())
    except UserError as mistake:
        lines = str(mistake).splitlines()
        assert lines
        assert all(line.startswith("my.toml: ") for line in lines)
    else:
        assert loaded.extent.paths >= 1
        assert loaded.fingerprint["seed"] == plain["seed"]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated())
def test_mutated_scenarios_are_told_or_run(plain: dict[str, Any]) -> None:
    check_mutated(plain)


@pytest.mark.soak
@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated())
def test_many_mutated_scenarios_are_told_or_run(plain: dict[str, Any]) -> None:
    check_mutated(plain)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_mutated_text_is_told_or_run(data: st.DataObject) -> None:
    """Bytes of the file deleted, doubled or replaced."""
    from harness.scenario.load import _read

    text = GOOD
    for _ in range(data.draw(st.integers(1, 4))):
        i = data.draw(st.integers(0, len(text) - 1))
        text = (
            text[:i] + data.draw(st.sampled_from(["", text[i] * 2, '"', "=", "[", "\n", "é", "\x00"])) + text[i + 1 :]
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "my.toml"
        path.write_text(text, encoding="utf-8")
        with suppress(UserError):
            check(_read(path), "my.toml", Path(folder))


def test_bins_need_a_box_of_at_most_two_variables(tmp_path: Path) -> None:
    kept = GOOD.replace("seed = 20160919", 'seed = 1\nkeep = ["bins"]')
    assert complaints(kept.replace("dimension = 1", "dimension = 3"), tmp_path) == [
        "keep must be without 'bins': 3 input variables are too many for bins of x"
    ]


@pytest.mark.parametrize(("kernel", "theta"), [("linear", "ml"), ("gaussian-rff", "ml-ard")])
def test_searches_that_a_kernel_does_not_have(kernel: str, theta: str, tmp_path: Path) -> None:
    text = GOOD.replace("seed = 20160919", f'seed = 1\nkernel = "{kernel}"').replace('"ml"]', f'"{theta}"]')
    (line,) = complaints(text, tmp_path)
    assert line.startswith("grid.theta[3] must ")
    assert f"'{theta}'" in line
