"""A study in a notebook, from the plan to the status, in a real kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.harness.commands import TOY
from tests.harness.kernel import Notebook, open_notebook

REPORTS = """
from harness.execution.progress import NotebookBar
from tests.harness.studies import prepared

plan = prepared("none.zarr").plan
def report(every, units):
    bar = NotebookBar(every)
    bar.note("before <i>it</i> starts")
    bar.start(plan)
    for unit in units:
        bar.advance(unit, 1, 0.0)
    bar.finish()
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "toy.toml").write_text(TOY)
    with open_notebook(folder) as found:
        yield found


def get_shares(states: list[dict[str, str]]) -> list[float]:
    found = (re.search(r'<progress value="([0-9.]+)" max="1"', one["text/html"]) for one in states)
    return [float(one[1]) for one in found if one is not None]


def test_a_study_from_top_to_bottom(notebook: Notebook) -> None:
    plan = notebook.run('from ckrr import study\nstudy.plan("toy.toml", workers=2)')
    assert plan.error == ""
    (shown,) = plan.results
    assert "asked for 24 replications, 24 left" in shown["text/plain"]
    assert '<th scope="col">paths × draws per unit</th>' in shown["text/html"]

    run = notebook.run('cube = study.run("toy.toml", workers=2)\ndict(cube.sizes)["n"]')
    assert (run.error, run.printed) == ("", "")
    assert run.results == [{"text/plain": "2"}]
    (states,) = run.states.values()
    assert states[0]["text/plain"] == "starting workers …"
    shares = get_shares(states)
    assert shares[0] == 0.0
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    assert "100%  24 of 24 replications" in states[-2]["text/html"]
    assert re.search(r"results/toy.zarr: complete, 24 replications in \d+ s", states[-1]["text/plain"])
    assert "<progress" not in states[-1]["text/html"], "the outcome is in its place"

    again = notebook.run('study.run("toy.toml", workers=2).sizes["alpha"]')
    ((only,),) = again.states.values()
    assert "toy.zarr: complete, nothing to do" in only["text/html"]

    (status,) = notebook.run('study.status("toy.toml")').results
    assert "toy in " in status["text/plain"]
    assert '<th scope="row">20</th>' in status["text/html"]
    assert "<p>last run: started 20" in status["text/html"]

    (check,) = notebook.run('study.check("toy.toml")').results
    assert check["text/plain"].splitlines()[-1].startswith("undecided: ")
    assert "<p>undecided: " in check["text/html"]

    (mean,) = notebook.run('float(study.open_replications("toy.toml")["n=20"].coverage.mean())').results
    assert 0.5 < float(mean["text/plain"]) <= 1


LEFT = """
import signal, threading, time
def settle(most):
    end = time.monotonic() + 60  # Dask's threads take a moment to end
    while threading.active_count() > most and time.monotonic() < end:
        time.sleep(0.05)
    return threading.active_count(), str(signal.getsignal(signal.SIGINT))
"""


def test_a_run_leaves_nothing_behind(notebook: Notebook) -> None:
    """No thread, and no handler of signals: the kernel has its own."""
    again = 'study.run("toy.toml", store="{}.zarr", workers=2)'
    assert notebook.run(f"{LEFT}\nfrom ckrr import study\n{again.format('first')}").error == ""
    notebook.run("before = settle(threading.active_count())")
    assert notebook.run(again.format("second")).error == ""
    (same,) = notebook.run("after = settle(before[0])\nafter[0] <= before[0], after[1] == before[1]").results
    assert same == {"text/plain": "(True, True)"}


def test_every_unit_is_reported_but_not_too_often(notebook: Notebook) -> None:
    assert notebook.run(REPORTS).error == ""
    (all_of_them,) = notebook.run("report(0.0, plan.units)").states.values()
    (count,) = notebook.run("len(plan.units)").results
    shares = get_shares(all_of_them)
    assert len(shares) == int(count["text/plain"]) + 1
    assert shares[-1] == 1.0
    (few,) = notebook.run('report(float("inf"), plan.units)').states.values()
    assert get_shares(few) == [0.0, 1.0], "at the start and at the end"
    (broken,) = notebook.run('report(float("inf"), plan.units[:1])').states.values()
    assert 0 < get_shares(broken)[-1] < 1, "a run that ends early shows how far it came"
    assert "1 cells failed" in broken[-1]["text/plain"]


def test_notes_stay_below_the_bar_and_are_escaped(notebook: Notebook) -> None:
    notebook.run(REPORTS)
    (states,) = notebook.run("report(0.0, plan.units)").states.values()
    assert states[0]["text/html"] == "<div><p><strong>before &lt;i&gt;it&lt;/i&gt; starts</strong></p></div>"
    assert all("<p>before &lt;i&gt;it&lt;/i&gt; starts</p>" in one["text/html"] for one in states[1:])
    (many,) = notebook.run("bar = NotebookBar()\nfor i in range(99): bar.note(f'note {i}.')").states.values()
    assert ("note 48." in many[-1]["text/html"], "note 49." in many[-1]["text/html"]) == (False, True)


def test_interrupting_the_kernel_stops_a_run(notebook: Notebook) -> None:
    """What is done is kept."""
    long = 'study.run("toy.toml", "long.zarr", workers=2, settings="replications.paths=4000")'
    cell = notebook.run(long, lambda cell: any(get_shares(states)[-1:] > [0.0] for states in cell.states.values()))
    assert cell.error == "KeyboardInterrupt: "
    (states,) = cell.states.values()
    assert 0 < get_shares(states[-1:])[0] < 1, "the bar shows how far it came"
    (after,) = notebook.run('one = study.status("long.zarr")\n0 < one["share"] < 1, one["at_work"]').results
    assert after == {"text/plain": "(True, False)"}


def test_errors_come_without_an_outcome(notebook: Notebook) -> None:
    cell = notebook.run('study.run("toy.toml", settings="grid.n=[0]")')
    assert cell.error.startswith("UserError: ")
    assert cell.states == {}


def test_elsewhere_there_is_no_bar(notebook: Notebook) -> None:
    """A shell of IPython in a terminal has no kernel, and plain Python never loads IPython."""
    from harness.display.notebook import is_notebook

    assert not is_notebook()
    ask = "from harness.display.notebook import is_notebook; import sys"
    plain = f"{ask}\nassert not is_notebook() and not {{'IPython', 'numpy'}} & set(sys.modules)"
    terminal = f"{ask}\nfrom IPython.terminal.interactiveshell import TerminalInteractiveShell as Shell\n"
    terminal += "Shell.instance()\nassert not is_notebook()"
    for code in (plain, terminal):
        run = notebook.run(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}], check=True)")
        assert run.error == "", run.printed
    assert notebook.run(f"{ask}\nis_notebook()").results == [{"text/plain": "True"}]
