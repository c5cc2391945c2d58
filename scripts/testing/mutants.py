"""How many of a list of defects the tests find: ``make mutants``.

``mutants.toml`` lists the defects. Each is put alone into a tree of HEAD, in a folder of its own,
and the tests run there, the nearest first, until one fails or the time is over. A test that fails
must pass without the defect, or it does not count. A process that crashes counts as well, and one
that does not end in ``GRACE`` seconds more.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
import traceback
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from scripts.testing.graph import ROOT, Graph, graph
from scripts.testing.quick import nearest, within
from scripts.testing.replay import checked_out

LIST = Path(__file__).with_name("mutants.toml")
RESULTS = Path(__file__).with_name("mutants.json")
GRACE = 60.0
"""Seconds behind the limit, within which the last test ends."""
_SUMMARY = re.compile(r"\b(passed|skipped|deselected|xfailed|no tests ran)\b")
"""What pytest prints at its end; not where a module exits in its place."""
USAGE = 4
"""The status of pytest for a wrong command line, as for a test that is not there."""
BATCH = 40.0
"""Seconds of tests that one process of pytest collects: what is behind them is rarely reached."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A defect.

    Attributes:
        file: its path from the root.
        what: what is wrong with it.
        old, new: the text that is replaced, which is in the file once, and what by.
        near: the files of tests, or the tests, that run first.
    """

    name: str
    file: str
    what: str
    old: str
    new: str
    near: tuple[str, ...] = ()

    def changed(self, text: str) -> str:
        """A file's text with the defect.

        Raises:
            ValueError: the text to replace is not there once.
        """
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"{self.name}: {self.file} has the old text {count} times, not once")
        return text.replace(self.old, self.new)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the tests say of a defect.

    Attributes:
        test: the one that fails, or "" for none.
        seconds: until then.
    """

    test: str
    seconds: float


def mutants(path: Path = LIST) -> list[Mutant]:
    """The list."""
    rows: list[dict[str, Any]] = tomllib.loads(path.read_text())["mutant"]
    return [Mutant(near=tuple(row.pop("near", ())), **row) for row in rows]


def main() -> int:
    """Run the tests on each defect, and print what they find."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these alone")
    parser.add_argument("--seconds", type=float, default=120.0, help="of tests for each")
    parser.add_argument("--all-night", action="store_true", help="the tests of make test-all")
    parser.add_argument("--jobs", type=int, default=2, help="defects at once")
    parser.add_argument("--record", action="store_true", help=f"write {RESULTS.name}")
    chosen = parser.parse_args()
    listed = mutants()
    unknown = {*chosen.only} - {each.name for each in listed}
    if unknown:
        parser.error(f"no defects of these names: {', '.join(sorted(unknown))}")
    left = [each for each in listed if not chosen.only or each.name in chosen.only]
    found, commit = 0, _git("rev-parse", "--short", "HEAD")
    for mutant, outcome in _outcomes(left, chosen.jobs, chosen.seconds, chosen.all_night):
        found += bool(outcome.test)
        print(
            f"{mutant.name:36}{outcome.seconds:6.0f} s  {outcome.test or 'NOT FOUND'}", flush=True
        )
        if chosen.record:
            record(RESULTS, mutant.name, outcome, commit, chosen.seconds, chosen.all_night)
    print(f"{found} of {len(left)} found")
    return found < len(left)


def record(
    path: Path, name: str, outcome: Outcome, commit: str, limit: float, all_night: bool
) -> None:
    """Add an outcome to the results, in place of that of an earlier run of the same tests. The
    commit is the one that was tested."""
    rows: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
    rows.setdefault(name, {})["night" if all_night else "day"] = {
        "date": date.today().isoformat(),
        "commit": commit,
        "limit": limit,
        "seconds": round(outcome.seconds, 1),
        "test": outcome.test or None,
    }
    path.write_text(json.dumps(dict(sorted(rows.items())), indent=1) + "\n")


@contextmanager
def applied(mutant: Mutant, tree: Path) -> Generator[None]:
    """Put a defect into a tree in the with block."""
    path = tree / mutant.file
    text = path.read_text()
    path.write_text(mutant.changed(text))
    try:
        yield
    finally:
        path.write_text(text)


def batches(files: Sequence[str], seconds: float = BATCH) -> Iterator[list[str]]:
    """The files in parts, whose tests take about so long."""
    rest = [*files]
    while rest:
        part = within(rest, seconds)
        yield part
        del rest[: len(part)]


def failed(output: str) -> str:
    """The first failed test that pytest's summary names, or ""."""
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word in ("FAILED", "ERROR") and rest.startswith("tests/"):
            return _node(rest)
    return ""


def _node(summary: str) -> str:
    """A test of a line of the summary, up to the " - " before the message: not one in brackets."""
    parts = summary.strip().split(" - ")
    starts = (" - ".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((each for each in starts if each.count("[") == each.count("]")), parts[0])


def _outcomes(
    left: Iterable[Mutant], jobs: int, seconds: float, all_night: bool
) -> Iterator[tuple[Mutant, Outcome]]:
    """The outcomes, as they come."""
    waiting: SimpleQueue[Mutant] = SimpleQueue()
    made: SimpleQueue[tuple[Mutant, Outcome] | BaseException | None] = SimpleQueue()
    for each in left:
        waiting.put(each)
    edges = graph()

    def work(tree: Path) -> None:
        try:
            while True:
                mutant = waiting.get_nowait()
                made.put((mutant, _tried(mutant, edges, tree, seconds, all_night)))
        except Empty:
            made.put(None)
        except BaseException as error:
            traceback.print_exc()
            made.put(error)

    with ExitStack() as stack:
        trees = [stack.enter_context(checked_out("HEAD")) for _ in range(jobs)]
        workers = [threading.Thread(target=work, args=(tree,)) for tree in trees]
        for each in workers:
            each.start()
            stack.callback(each.join)
        stack.callback(_end_all, waiting)
        while jobs:
            outcome = made.get()
            if isinstance(outcome, BaseException):
                raise outcome
            if outcome is None:
                jobs -= 1
            else:
                yield outcome


def _tried(mutant: Mutant, edges: Graph, tree: Path, seconds: float, all_night: bool) -> Outcome:
    """Run the tests on a defect."""
    files = [each for each in nearest([mutant.file], edges) if each not in mutant.near]
    # Apart, as pytest runs a test that is named beside its file in the order of the file.
    parts = [[*mutant.near], *batches(files)] if mutant.near else batches(files)
    began, ignored = time.time(), set[str]()
    for part in parts:
        while True:
            with applied(mutant, tree):
                test = _run(tree, part, ignored, began + seconds, all_night)
            took = time.time() - began
            # A test that fails without the defect too says nothing of it.
            if test in ignored:
                break
            if test and not test.startswith("tests/"):
                if _run(tree, part, ignored, time.time() + seconds, all_night) == test:
                    if test == _ended(USAGE):
                        raise ValueError(f"{mutant.name}: pytest does not run {' '.join(part)}")
                    test = ""
                break
            if _run(tree, [test], (), time.time() + GRACE, all_night) != test:
                break
            ignored.add(test)
        if test or took > seconds:
            return Outcome(test, took)
    return Outcome("", time.time() - began)


def _run(
    tree: Path, tests: Iterable[str], ignored: Iterable[str], until: float, all_night: bool
) -> str:
    """The first test that fails in a tree, how the process ends otherwise, or "" if it passes."""
    environment = {name: value for name, value in os.environ.items() if "GRIDLANE" not in name}
    environment |= {
        "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}",
        "PYTHONDONTWRITEBYTECODE": "",
        "OPENBLAS_NUM_THREADS": "1",
        "GRIDLANE_CACHE_DIR": str(tree.parent / "cache"),
        **({"GRIDLANE_TEST_EFFORT": "nightly"} if all_night else {}),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-rfE", "--no-header"]
    command += ["-p", "no:cacheprovider", "-p", "scripts.testing.until", f"--until={until}"]
    command += ["-m", ""] if all_night else []
    command += [word for each in ignored for word in ("--deselect", each)]
    process = subprocess.Popen(
        [*command, *tests],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    _running.add(process)
    try:
        output, _ = process.communicate(timeout=max(1.0, until - time.time()) + GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "a test does not end"
    finally:
        _running.discard(process)
    if process.returncode in (0, 5) and _SUMMARY.search(output):  # 5: nothing was selected
        return ""
    return failed(output) or _ended(process.returncode)


def _ended(status: int) -> str:
    return f"pytest ends with {status}"


_running: set[subprocess.Popen[str]] = set()


def _end_all(waiting: SimpleQueue[Mutant]) -> None:
    """Let the threads begin with no further defect, and end their processes."""
    while not waiting.empty():
        with suppress(Empty):
            waiting.get_nowait()
    for process in tuple(_running):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _terminated(*signalled: object) -> None:
    """End as an interrupt does, which removes the trees."""
    raise KeyboardInterrupt


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(main())
