"""The tests that are nearest to a change, in two minutes: ``make quick``, ``make quick BASE=rev``.

Files of tests are ordered by the number of imports between them and what has changed; of several,
those of the same room come first. Whatever the time does not allow is skipped, and counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import PurePosixPath

from scripts.testing.graph import ROOT, Graph, distances, graph, standing_for
from scripts.testing.seconds import known

_UNKNOWN = 4.0
"""The seconds of a file that never ran here."""
_ROOM = 1.6
"""Files of so many times the time are collected: most take less than they did in a whole run."""


def main() -> int:
    """Run pytest on the nearest tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--base", help="the commit to compare with: the last one, or the one before it"
    )
    parser.add_argument("--seconds", type=float, default=100.0, help="of the tests")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="print the files and run nothing")
    chosen = parser.parse_args()
    changed = changes(chosen.base)
    ordered = nearest(changed)
    if not ordered:
        print(f"no test reaches what changed: {', '.join(changed) or 'nothing'}")
        return 0
    files = within(ordered, chosen.seconds * chosen.jobs * _ROOM)
    print(f"{len(files)} of {len(ordered)} files of tests reach {len(changed)} changed files")
    if chosen.list:
        print(*files, sep="\n")
        return 0
    plugins = ["-p", "scripts.testing.until", "-p", "scripts.testing.seconds"]
    until = f"--until={time.time() + chosen.seconds}"
    workers = ["-n", str(chosen.jobs), "--dist", "load"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, until, *workers, *files]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def changes(base: str | None) -> list[str]:
    """The files that differ from a commit, the new ones too, by their paths from the root."""
    found = _differing(base or "HEAD")
    return found if found or base else _differing("HEAD~1")


def nearest(changed: Iterable[str], edges: Graph | None = None) -> list[str]:
    """The files of tests that reach a changed file, the nearest first.

    Args:
        edges: of ``graph``, which takes seconds, if they are known.
    """
    edges = graph() if edges is None else edges
    far = distances(edges, (each for path in changed for each in standing_for(path, edges)))
    rooms = {_room(path) for path in changed}
    tests = [path for path in far if PurePosixPath(path).name.startswith("test_")]
    times = known()
    return sorted(
        tests, key=lambda path: (far[path], _room(path) not in rooms, times.get(path, _UNKNOWN))
    )


def within(ordered: Iterable[str], seconds: float) -> list[str]:
    """The first files whose tests take so long together, and one at least."""
    times = known()
    found: list[str] = []
    for path in ordered:
        seconds -= times.get(path, _UNKNOWN)
        if seconds < 0 and found:
            break
        found.append(path)
    return found


def _differing(base: str) -> list[str]:
    names = _git("diff", "--name-only", "--no-renames", base, "--")
    return sorted({*names, *_git("ls-files", "--others", "--exclude-standard")})


def _git(*words: str) -> list[str]:
    command = ["git", *words[:1], "-z", *words[1:]]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"quick: git {words[0]}: {done.stderr.strip()}")
    return [*filter(None, done.stdout.split("\0"))]


def _room(path: str) -> str:
    """The package of gridlane that a file is of, or is a test of."""
    parts = PurePosixPath(path).parts
    return next((each for each in parts if each not in ("src", "gridlane", "tests")), "")


if __name__ == "__main__":
    sys.exit(main())
