"""Break lines of the code at random, one at a time, and count how many the tests catch.

`python -m tests.benchmarks.mutants --count 50 --seed 1` breaks lines in a clone of this repository: a comparison, an
operator, a number, a condition, a returned value or a call is changed. First the quick tests (all but those that need
Slurm, SSH, a browser or minutes) run on whole code. Those that fail are left out, and the functions that each file
calls are recorded. A broken line is tried with some tests: those that import its module first, then those that call its
function. The lines that survive are broken together, and all quick tests run, with slow ones that import one of their
modules: if a test fails, halves of these lines are tried. A line is caught if a test hangs, or fails twice and passes
on whole code. Fifty lines take an hour on two cores. `--tree` breaks another tree, such as an older version.
"""

from __future__ import annotations

import argparse
import ast
import ctypes
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import psutil

PACKAGES = ("ckrr", "harness", "scenarios", "cluster")
SLOW = ("faults", "hostile", "benchmarks", "test_packaging", "slurm", "ssh", "browser", "bucket", "cluster", "submit")
SWAPS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in",
    ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is", ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_DURATION = re.compile(r"^([0-9.]+)s (?:setup|call|teardown) +([^:]+)::", re.MULTILINE)
_BUDGET, _SLOW_SECONDS, _MANY = 30.0, 10.0, 10
"""Seconds of tests that a line is tried with alone, how long a slow file takes, files that are worth two processes."""
_SET_CHILD_SUBREAPER = 36
"""The option of prctl(2) that makes orphans of tests children of this process, which can then end them."""
Edit = tuple[int, int, bytes]
"""First byte, byte after the last, and what replaces them."""
Mutant = tuple[Path, Edit]


class WholeRun(NamedTuple):
    """What the quick tests do on whole code: tests that fail, and the test files that call each function."""

    failing: list[str]
    callers: dict[str, list[str]]
    """Test files by `path:first line` of a function, relative to the tree."""
    seconds: dict[str, float]
    """How long each test file takes."""


def main() -> None:
    """Break lines and print what became of each, then the counts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=50)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--limit", type=float, default=600.0, help="seconds after which tests count as hanging")
    options.add_argument("--tree", type=Path, default=Path())
    options.add_argument("--whole", type=Path, help="file that keeps the run on whole code for another time")
    options.add_argument("--only", nargs="*", type=int, default=[], help="numbers of the lines to break; default: all")
    asked = options.parse_args()
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "clone", "-q", str(asked.tree.resolve()), str(tree)], check=True)
        chosen = dict(enumerate(choose(tree, asked.count, asked.seed), 1))
        chosen = {number: chosen[number] for number in asked.only or chosen}
        whole = load_whole_run(tree, asked.whole)

        def attempt(mutants: list[Mutant], tests: list[str]) -> str | None:
            skipped = list(whole.failing)
            while tests:
                with broken(mutants):
                    end = _find_failure(tree, tests, asked.limit, skipped)
                    if end is None or "::" not in end:
                        return end
                    fails_again = _find_failure(tree, [end], asked.limit, []) is not None
                if fails_again and (
                    _is_quick(tree, tree / end.partition("::")[0])
                    or _find_failure(tree, [end], asked.limit, []) is None
                ):
                    return end
                print(f"    not counted: {end}", flush=True)
                skipped.append(end)
            return None

        print(f"{len(whole.failing)} tests fail on whole code: {' '.join(whole.failing)}", flush=True)
        survived = {}
        for number, mutant in chosen.items():
            end = attempt([mutant], list_first_tests(tree, mutant, whole))
            print(f"{number:3} {describe(tree, mutant)}: {end or 'survived the first tests'}", flush=True)
            if end is None:
                survived[number] = mutant
        ends = try_together(survived, lambda mutants: attempt(mutants, list_all_tests(tree, mutants)))
        for number, end in ends.items():
            print(f"{number:3} {describe(tree, survived[number])}: {end or 'survived'}", flush=True)
        print(f"caught {len(chosen) - list(ends.values()).count(None)} of {len(chosen)}")


def try_together(mutants: dict[int, Mutant], attempt: Callable[[list[Mutant]], str | None]) -> dict[int, str | None]:
    """Return what ends each mutant, None if nothing does; mutants that survive together survive alone."""
    end = attempt(list(mutants.values())) if mutants else None
    if end is None or len(mutants) == 1:
        return dict.fromkeys(mutants, end)
    numbers = sorted(mutants)
    halves = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
    return {
        number: end
        for half in halves
        for number, end in try_together({each: mutants[each] for each in half}, attempt).items()
    }


def load_whole_run(tree: Path, kept: Path | None) -> WholeRun:
    """Return the run of the quick tests on whole code, from the file that keeps it if it is there."""
    if kept is not None and kept.exists():
        return WholeRun(**json.loads(kept.read_text()))
    with tempfile.TemporaryDirectory(prefix="calls-") as folder:
        traced = {"CALLS_ROOT": str(tree), "CALLS_OUT": folder}
        path = f"{Path(__file__).parent / 'calls'}:{tree}"
        tests = [str(each) for each in _list_tests(tree) if _is_quick(tree, each)]
        words = ["-n", "2", "-p", "sitecustomize", "--durations=0", "-vv", *tests]
        out, _ = _run_pytest(tree, words, None, traced | {"PYTHONPATH": path})
        callers: dict[str, set[str]] = {}
        for line in sorted({line for each in Path(folder).iterdir() for line in each.read_text().splitlines()}):
            test_file, called, first = line.split("\t")
            if test_file:  # else it is called before the first test
                callers.setdefault(f"{called}:{first}", set()).add(test_file)
    seconds: dict[str, float] = {}
    for duration, test_file in _DURATION.findall(out):
        seconds[test_file] = seconds.get(test_file, 0.0) + float(duration)
    run = WholeRun(_FAILED.findall(out), {called: sorted(files) for called, files in callers.items()}, seconds)
    if kept is not None:
        kept.write_text(json.dumps(run._asdict()))
    return run


def choose(tree: Path, count: int, seed: int) -> list[Mutant]:
    """Return edits of `count` different lines, drawn from all lines that can be broken."""
    lines: dict[tuple[Path, int], list[Edit]] = {}
    for path in sorted(each for package in PACKAGES for each in (tree / package).rglob("*.py")):
        for line, edit in list_edits(path.read_bytes()):
            lines.setdefault((path, line), []).append(edit)
    rng = random.Random(seed)
    return [(path, rng.choice(lines[path, line])) for path, line in rng.sample(sorted(lines), count)]


def list_edits(source: bytes) -> Iterator[tuple[int, Edit]]:
    """Yield the ways to break a file, each with its line number."""
    starts = [0]
    for text in source.split(b"\n"):
        starts.append(starts[-1] + len(text) + 1)

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[operator]

    tree = ast.parse(source)
    skipped = {id(part) for node in ast.walk(tree) for part in _list_annotations(node)}
    for node in ast.walk(tree):
        if id(node) in skipped or not isinstance(node, ast.expr | ast.stmt):
            continue
        for first, last, new in _list_node_edits(node, span, source):
            if new != source[first:last]:
                yield node.lineno, (first, last, new)


def _list_annotations(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("annotation", "returns"):
        if getattr(node, name, None) is not None:
            yield from ast.walk(getattr(node, name))
    if isinstance(node, ast.JoinedStr):
        yield from ast.walk(node)


def _list_node_edits(node: ast.expr | ast.stmt, span: object, source: bytes) -> Iterator[Edit]:
    where = span(node)  # type: ignore[operator]
    if isinstance(node, ast.Compare):
        yield _swap(span(node.left)[1], span(node.comparators[0])[0], node.ops[0], source)  # type: ignore[operator]
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        yield _swap(span(node.left)[1], span(node.right)[0], node.op, source)  # type: ignore[operator]
    elif isinstance(node, ast.BoolOp):
        yield _swap(span(node.values[0])[1], span(node.values[1])[0], node.op, source)  # type: ignore[operator]
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield (*where, f"({node.value!r} + 1)".encode())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield (*where, repr(not node.value).encode())
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        first, last = span(node.test)  # type: ignore[operator]
        yield first, last, b"(not (" + source[first:last] + b"))"
    elif isinstance(node, ast.Return) and node.value is not None:
        yield (*where, b"return None")
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield (*where, b"pass")


def _swap(first: int, last: int, operator: ast.AST, source: bytes) -> Edit:
    """Replace an operator between two operands; the parentheses around these stay."""
    old = source[first:last]
    core = re.search(rb"[^\s()#]+( +(in|not))?", old)
    if core is None or b"#" in old:
        return first, last, old
    return first + core.start(), first + core.end(), SWAPS[type(operator)].encode()


@contextmanager
def broken(mutants: list[Mutant]) -> Iterator[None]:
    """Break lines, and mend them in the end."""
    sources = {path: path.read_bytes() for path, _ in mutants}
    try:
        for path, (first, last, new) in sorted(mutants, reverse=True):  # from the last byte, so that others stay
            text = path.read_bytes()
            path.write_bytes(text[:first] + new + text[last:])
        yield
    finally:
        for path, source in sources.items():
            path.write_bytes(source)


def describe(tree: Path, mutant: Mutant) -> str:
    """Return the place of a broken line, and the line."""
    path, (first, last, new) = mutant
    source = path.read_bytes()
    line = source[:first].count(b"\n")
    text = (source[:first] + new + source[last:]).splitlines()[line].decode().strip()
    return f"{path.relative_to(tree)}:{line + 1}: {text}"


def find_function(source: bytes, place: int) -> int | None:
    """Return the first line of the innermost function whose body has the byte at `place`, with its decorators."""
    line = source[:place].count(b"\n") + 1
    found = None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.body[0].lineno <= line <= (
            node.end_lineno or 0
        ):
            found = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return found


def list_first_tests(tree: Path, mutant: Mutant, whole: WholeRun) -> list[str]:
    """Return test files to try a broken line with (and its doctests), the shortest of the most likely ones first.

    Those that import the module and call the function come first, then others that import it, then other callers.
    """
    path, (first, _, _) = mutant
    near = set(_list_near_tests(tree, path))
    function = f"{path.relative_to(tree)}:{find_function(path.read_bytes(), first)}"
    callers = {tree / each for each in whole.callers.get(function, [])}

    def get_seconds(test: Path) -> float:
        return whole.seconds.get(str(test.relative_to(tree)), 0.0 if _is_quick(tree, test) else _SLOW_SECONDS)

    likely = [
        each for some in (near & callers, near - callers, callers - near) for each in sorted(some, key=get_seconds)
    ]
    ends = accumulate(map(get_seconds, likely))
    tests = [each for i, (each, end) in enumerate(zip(likely, ends, strict=True)) if not i or end < _BUDGET]
    return [str(each) for each in (*tests, path)]  # doctests first would import the module twice


def list_all_tests(tree: Path, mutants: list[Mutant]) -> list[str]:
    """Return all quick test files, and slow ones that import a broken module."""
    near = {each for path, _ in mutants for each in _list_near_tests(tree, path)}
    return [str(each) for each in _list_tests(tree) if _is_quick(tree, each) or each in near]


def _list_near_tests(tree: Path, path: Path) -> list[Path]:
    """Return the test files that import the module of `path`, or lie in the folder for its package."""
    module = path.relative_to(tree).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    package, _, name = module.rpartition(".")
    pattern = re.compile(rf"{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{name}\b")
    mirror = tree / "tests" / path.relative_to(tree).parent
    return [each for each in _list_tests(tree) if each.parent == mirror or pattern.search(each.read_text())]


def _list_tests(tree: Path) -> list[Path]:
    return sorted((tree / "tests").rglob("test_*.py"))


def _is_quick(tree: Path, test: Path) -> bool:
    return not any(word in test.relative_to(tree).as_posix() for word in SLOW)


def _find_failure(tree: Path, tests: list[str], limit: float, skipped: list[str]) -> str | None:
    """Run tests until one fails, and return its name; None if all pass."""
    many = len(tests) > _MANY  # several processes start slowly
    words = ["-x", "-n", "2" if many else "0", *tests, *(f"--deselect={each}" for each in skipped)]
    out, code = _run_pytest(tree, words, limit, {"PYTHONPATH": str(tree)})
    if code is None:
        return f"{len(tests)} files hang"
    found = _FAILED.search(out)
    return found[1] if found else None if code in (0, 5) else f"exit {code}"


def _run_pytest(tree: Path, words: list[str], limit: float | None, extra: dict[str, str]) -> tuple[str, int | None]:
    """Run pytest in a tree; return what it prints and its exit code, None if it takes longer than `limit` seconds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", *words],
        cwd=tree,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | extra,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    ended = threading.Event()
    reaper = threading.Thread(target=_reap_orphans, args=(process.pid, ended))
    reaper.start()
    try:
        return process.communicate(timeout=limit)[0], process.returncode
    except subprocess.TimeoutExpired:
        return "", None
    finally:
        ended.set()
        reaper.join()
        _end_descendants()


def _reap_orphans(but: int, ended: threading.Event) -> None:
    """Reap orphans that have ended, all but one child, until `ended` is set: tests wait until they are gone."""
    while not ended.wait(0.1):
        for each in psutil.Process().children():
            with suppress(psutil.NoSuchProcess, ChildProcessError):
                if each.pid != but and each.status() == psutil.STATUS_ZOMBIE:
                    os.waitpid(each.pid, 0)


def _end_descendants() -> None:
    """Kill every process that tests have left, however far from them: this process is the parent of orphans."""
    while left := psutil.Process().children(recursive=True):
        for each in left:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        psutil.wait_procs(left)


if __name__ == "__main__":
    main()
