"""Break lines of the code at random, one at a time, and count how many the tests catch.

`python -m tests.benchmarks.mutants --count 50 --seed 1` breaks lines in a clone of this repository: a comparison, an
operator, a number, a condition, a returned value or a call is changed. The tests of modules that import the broken one
run first, then all others but those that need Slurm, SSH, a browser or minutes. A line is caught if a test fails or
hangs.
Fifty lines take one to two hours on two cores. `--tree` breaks another tree, such as an older version.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("ckrr", "harness", "scenarios", "cluster")
SLOW = ("faults", "hostile", "benchmarks", "test_packaging", "slurm", "ssh", "browser", "bucket", "cluster", "submit")
SWAPS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in",
    ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is", ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip
Edit = tuple[int, int, bytes]
"""First byte, byte after the last, and what replaces them."""


def main() -> None:
    """Break lines and print what became of each, then the counts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=50)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--limit", type=float, default=600.0, help="seconds after which tests count as hanging")
    options.add_argument("--tree", type=Path, default=Path())
    options.add_argument("--deselect", nargs="*", default=[], help="tests that fail without any broken line")
    options.add_argument("--only", nargs="*", type=int, default=[], help="numbers of the lines to break; default: all")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "clone", "-q", str(asked.tree.resolve()), str(tree)], check=True)
        chosen = dict(enumerate(choose(tree, asked.count, asked.seed), 1))
        chosen = {number: chosen[number] for number in asked.only or chosen}
        caught = 0
        for number, (path, edit) in chosen.items():
            what, ended = try_mutant(tree, path, edit, asked.limit, asked.deselect)
            caught += ended != "survived"
            print(f"{number:3} {path.relative_to(tree)}: {what}: {ended}", flush=True)
        print(f"caught {caught} of {len(chosen)}")


def choose(tree: Path, count: int, seed: int) -> list[tuple[Path, Edit]]:
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
        for edit in _list_node_edits(node, span, source):
            yield node.lineno, edit


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


def try_mutant(tree: Path, path: Path, edit: Edit, limit: float, skipped: list[str]) -> tuple[str, str]:
    """Break a line, run the tests, mend it; return the broken line and what became of it."""
    source = path.read_bytes()
    first, last, new = edit
    broken = source[:first] + new + source[last:]
    line = broken[: first + 1].count(b"\n")
    path.write_bytes(broken)
    try:
        near, far = _sort_tests(tree, path)
        ended = next((end for tests in (near, far) if tests and (end := _run(tree, tests, limit, skipped))), "survived")
    finally:
        path.write_bytes(source)
    return f"{line + 1}: {broken.splitlines()[line].decode().strip()}", ended


def _sort_tests(tree: Path, path: Path) -> tuple[list[str], list[str]]:
    """Return the test files that import the module of `path` (and its doctests), and all other quick ones."""
    module = path.relative_to(tree).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    package, _, name = module.rpartition(".")
    pattern = re.compile(rf"{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{name}\b")
    files = sorted((tree / "tests").rglob("test_*.py"))
    mirror = tree / "tests" / path.relative_to(tree).parent
    near = [str(path), *(str(each) for each in files if each.parent == mirror or pattern.search(each.read_text()))]
    quick = [each for each in files if not any(word in each.relative_to(tree).as_posix() for word in SLOW)]
    return near, [str(each) for each in quick if str(each) not in near]


def _run(tree: Path, tests: list[str], limit: float, skipped: list[str]) -> str | None:
    """Run tests until one fails, and return its name; None if all pass."""
    environment = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
    words += [f"--deselect={each}" for each in skipped]
    process = subprocess.Popen(
        words,
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        out = process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return f"{len(tests)} files hang"
    finally:
        subprocess.run(["pkill", "-9", "-f", str(tree)], check=False)
    found = re.search(r"^(FAILED|ERROR) (\S+)", out, re.MULTILINE)
    return (
        found[2].replace(f"{tree}/", "")
        if found
        else None
        if process.returncode in (0, 5)
        else f"exit {process.returncode}"
    )


if __name__ == "__main__":
    main()
