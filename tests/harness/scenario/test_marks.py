"""What a scenario names is called only if it was meant as a source: nothing else, whatever it is."""

from __future__ import annotations

import os
import sys
import types
from functools import lru_cache
from itertools import count
from pathlib import Path
from unittest.mock import Mock

import pytest

from harness.scenario.errors import ScenarioError
from harness.scenario.families import find_family
from harness.scenario.sources import build_source
from scenarios import Synthetic, is_source, source
from scenarios.published import sources

_NUMBERS = count()

HEAD = """
import os
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from unittest.mock import Mock
import scenarios
from scenarios import Synthetic

def touch(*args, **kwargs):
    Path(CANARY).touch()
"""

PLAIN = """
def made(slope: float = 1.0) -> Synthetic:
    Path(CANARY).touch()
    return Synthetic(lambda X: slope * X[:, 0], test_points=10)
"""

FAN = """
@dataclass(frozen=True)
class Fan:
    test_points: int = 101
    dimension: int = 1
    test: str = "iid"
    knows_f: bool = False
    redraws: tuple[str, ...] = ()
    largest_n: int | None = None

    def path(self, streams):
        return self
"""


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """It is there once code was called."""
    return tmp_path / "canary"


def module(text: str, canary: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that can be imported; its name."""
    name = f"hostile_module_{next(_NUMBERS)}"
    (canary.parent / f"{name}.py").write_text(HEAD.replace("CANARY", repr(str(canary))) + code(text, canary))
    monkeypatch.syspath_prepend(canary.parent)
    return name


def code(text: str, canary: Path) -> str:
    return text.replace("CANARY", repr(str(canary)))


def refused(function: str, folder: Path, **given: object) -> str:
    with pytest.raises(ScenarioError) as caught:
        build_source({"function": function, **given}, folder)
    return str(caught.value)


def test_os_system_is_not_called(canary: Path) -> None:
    told = refused("os:system", canary.parent, command=f"touch {canary}")
    assert told == (
        "source.function names 'os:system', which is not called: it is not marked as a source; "
        "put the line `@scenarios.source` above its definition"
    )
    assert not canary.exists()


def test_a_function_needs_the_mark(canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = refused(f"{module(PLAIN, canary, monkeypatch)}:made", canary.parent)
    assert told.endswith("put the line `@scenarios.source` above its definition")
    assert not canary.exists()
    marked = module(f"\n@scenarios.source{PLAIN}", canary, monkeypatch)
    assert build_source({"function": f"{marked}:made", "slope": 2.0}, canary.parent).source.test_points == 10
    assert canary.exists()


def test_a_class_with_all_members_needs_none(canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(FAN, canary, monkeypatch)
    assert build_source({"function": f"{name}:Fan", "test_points": 7}, canary.parent).source.test_points == 7
    inherited = module(f"{FAN}\nclass Child(Fan):\n    pass\n", canary, monkeypatch)
    assert build_source({"function": f"{inherited}:Child"}, canary.parent).source.test_points == 101


def test_a_class_without_some_is_not_made(canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = FAN.replace("    largest_n: int | None = None\n", "") + "    __post_init__ = touch\n"
    told = refused(f"{module(text, canary, monkeypatch)}:Fan", canary.parent)
    assert "it is not marked as a source, and it lacks largest_n of a source; put the line `@scenarios.source`" in told
    assert not canary.exists()


@pytest.mark.parametrize(
    "text",
    [
        "class Any(type):\n    def __getattr__(cls, name):\n        return 1\n"
        "class made(metaclass=Any):\n    __init__ = touch\n",
        "@scenarios.source\nclass Parent:\n    __init__ = touch\nclass made(Parent):\n    pass\n",
        "made = Mock(side_effect=touch)\n",
        "made = Mock(spec=type, side_effect=touch)\n",
        "made = partial(touch)\n",
        "class Call:\n    __call__ = touch\nmade = Call()\n",
        "class Marked:\n    __call__ = touch\n    __ckrr_source__ = True\nmade = Marked()\n",
        "made = 3\n",
    ],
    ids=["metaclass", "child", "mock", "mock of a class", "partial", "instance", "instance with a mark", "number"],
)
def test_what_only_looks_like_a_source_is_not_called(text: str, canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(text, canary, monkeypatch)
    assert f"names '{name}:made', which is n" in refused(f"{name}:made", canary.parent)
    assert not canary.exists()


def test_attributes_that_a_module_makes_up_do_not_count(canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module("def __getattr__(name):\n    touch()\n    return touch\n", canary, monkeypatch)
    assert refused(f"{name}:anything", canary.parent) == (
        f"source.function names 'anything', which '{name}' doesn't have"
    )
    with pytest.raises(ScenarioError, match="doesn't have"):
        find_family(f"{name}:anything")
    assert not canary.exists()


def test_a_file_beside_the_scenario_needs_no_mark(canary: Path) -> None:
    (canary.parent / "mine.py").write_text(HEAD.replace("CANARY", repr(str(canary))) + code(PLAIN, canary) + FAN)
    for name in ("made", "Fan"):
        assert build_source({"function": f"mine.py:{name}"}, canary.parent).source.dimension == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "from os import system as made\n",
            "'mine.py' only imports it, and it is not marked as a source; put the line",
        ),
        ("from elsewhere_unmarked import made\n", "'mine.py' only imports it"),
        ("import os\nfrom functools import partial\nmade = partial(os.system, 'touch CANARY')\n", "only imports it"),
        ("import elsewhere_unmarked as made\n", "neither a function nor a class"),
    ],
)
def test_what_such_a_file_imports_does(text: str, told: str, canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (canary.parent / "elsewhere_unmarked.py").write_text(
        HEAD.replace("CANARY", repr(str(canary))) + code(PLAIN, canary)
    )
    monkeypatch.syspath_prepend(canary.parent)
    monkeypatch.delitem(sys.modules, "elsewhere_unmarked", raising=False)
    (canary.parent / "mine.py").write_text(text.replace("CANARY", str(canary)))
    assert told in refused("mine.py:made", canary.parent, command=f"touch {canary}")
    assert not canary.exists()


@pytest.mark.parametrize(
    "text",
    [
        "from scenarios.published.sources import heaviside as made\n",
        "from functools import partial\nfrom scenarios.published.sources import heaviside\n"
        "made = partial(heaviside, test_points=7)\n",
        "from functools import partial\nfrom scenarios import Synthetic\n"
        "def general(slope):\n    return Synthetic(lambda X: slope * X[:, 0])\nmade = partial(general, 3.0)\n",
    ],
    ids=["marked", "partial of a marked one", "partial of its own"],
)
def test_what_is_marked_or_its_own_may_be_passed_on(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text)
    assert build_source({"function": "mine.py:made"}, tmp_path).source.dimension == 1


@pytest.mark.parametrize("what", ["raise SystemExit(0)", "raise RuntimeError('broken')", "1 / 0"])
def test_a_module_that_does_not_import_is_told(what: str, canary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(what, canary, monkeypatch)
    for call in (lambda: build_source({"function": f"{name}:x"}, canary.parent), lambda: find_family(f"{name}:x")):
        with pytest.raises(ScenarioError, match=f"names '{name}', which can't be imported: "):
            call()


@pytest.mark.parametrize("name", [":x", "..os:system", "a\0b:x", "os..path:x", "x" * 3000 + ":x"])
def test_strange_names_are_told(name: str, tmp_path: Path) -> None:
    assert "which can't be imported" in refused(name, tmp_path)
    with pytest.raises(ScenarioError, match="which can't be imported"):
        find_family(name)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("class FAMILY:\n    __init__ = touch\n", "which is a class that lacks procedures, searches"),
        ("import os as FAMILY\n", "which is a module: a family is an object"),
        ("FAMILY = touch\n", "which is a function, not a family: put the line `@study.procedure` above"),
        ("FAMILY = Mock()\n", "which has no procedures, searches, reference, version, inputs, score, level, flops"),
        ("class One:\n    def __getattr__(self, name):\n        touch()\nFAMILY = One()\n", "which has no procedures"),
        ("class One:\n    procedures = property(touch)\nFAMILY = One()\n", "which has no searches, reference"),
    ],
    ids=["class", "module", "function", "mock", "made up", "property"],
)
def test_nothing_of_a_family_is_called_before_it_is_one(
    text: str, told: str, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = module(text, canary, monkeypatch)
    with pytest.raises(ScenarioError, match=f"^family names '{name}:FAMILY', {told}"):
        find_family(f"{name}:FAMILY")
    assert not canary.exists()


def test_a_family_may_have_no_reference() -> None:
    assert find_family("tests.harness.toy:FAMILY").reference == "exact"
    assert find_family("tests.harness.scenario.test_marks:NO_REFERENCE").reference is None


NO_REFERENCE = types.SimpleNamespace(
    procedures=("a",), searches=(), reference=None, version=1, inputs=len, score=len, level=len, flops=len, memory=len
)


def test_bundled_sources_are_marked() -> None:
    import scenarios

    assert all(map(is_source, scenarios.SOURCES.values()))
    assert build_source({"function": "scenarios.published.sources:heaviside"}, Path()).source.dimension == 1


def test_a_mark_is_ones_own() -> None:
    @source
    class Parent:
        pass

    class Child(Parent):
        pass

    assert (is_source(Parent), is_source(Child), is_source(Parent())) == (True, False, False)
    assert not any(map(is_source, (os.system, print, Mock(), None, os, sources, Synthetic)))


@pytest.mark.parametrize("strange", [3, print, lru_cache(len), Mock()])
def test_only_functions_and_classes_are_marked(strange: object) -> None:
    with pytest.raises(TypeError, match="source must mark a function or a class, got "):
        source(strange)  # type: ignore[type-var]


def test_dates_are_refused_where_a_source_would_take_them(tmp_path: Path) -> None:
    """They couldn't be kept in a store."""
    from datetime import date

    (tmp_path / "mine.py").write_text("import scenarios\ndef made(x):\n    return scenarios.SOURCES['heaviside']()\n")
    told = "source.x must not be or contain a date or time: write it as a string"
    assert refused("mine.py:made", tmp_path, x=date(2020, 1, 1)) == told
    assert refused("mine.py:made", tmp_path, x=[{"a": date(2020, 1, 1)}]) == told
