"""Compare what two trees compile: ``make replay BASE=rev``.

Both compile every conformance case and every kernel of the examples for every target, at once, each
in a process of its own (``replay_texts.py``). A difference is a line and an excerpt, and the status
is 1 then. No device is needed. LLVM IR is compared as it is before LLVM sees it, PTX for a part.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXTS = Path(__file__).with_name("replay_texts.py")
FAILED = b"failed:"
"""How the text of a compilation begins that neither succeeds nor is refused."""
LINES = 12
"""The lines of a difference that are printed."""


def main() -> int:
    """Compare a commit with the working tree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="the commit")
    parser.add_argument("--only", default="", metavar="PATTERN", help="of names, as in ^cpu/add")
    parser.add_argument("--without-examples", action="store_true", help="which run for a while")
    parser.add_argument("--lines", type=int, default=LINES, help="of each difference")
    chosen = parser.parse_args()
    try:
        re.compile(chosen.only)
    except re.error as error:
        parser.error(f"--only {chosen.only!r} is no pattern: {error}")
    began = time.monotonic()
    with checked_out(chosen.base) as tree:
        options = ["--only", chosen.only]
        options += ["--without-examples"] if chosen.without_examples else []
        count, failures, differences = compare(tree, ROOT, options, chosen.lines)
    if not count and not differences:
        parser.error(f"--only {chosen.only!r}: no text has such a name")
    print(*differences, sep="\n", end="\n" if differences else "")
    seconds = round(time.monotonic() - began)
    print(f"{count} texts, {len(differences)} differences from {chosen.base}, {seconds} s")
    if failures:
        print(f"compilations that fail in both trees compare nothing: {', '.join(failures)}")
    return bool(differences or failures)


@contextmanager
def checked_out(commit: str) -> Generator[Path]:
    """A tree of a commit, with the extension modules of this one where their source is the same."""
    with tempfile.TemporaryDirectory(prefix="gridlane-replay-") as folder:
        tree = Path(folder, "tree")
        _git("worktree", "add", "--quiet", "--detach", str(tree), commit)
        try:
            changed = _git("diff", "--name-only", commit, "--", "src/*.c", "src/*.h").split()
            if changed:
                _build(tree, Path(folder, "wheel"))
            else:
                for module in ROOT.glob("src/**/*.so"):
                    copy = tree / module.relative_to(ROOT)
                    if copy.parent.is_dir():  # else its source is gone
                        shutil.copy2(module, copy)
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _build(tree: Path, folder: Path) -> None:
    """Build the extension modules of a tree: those of its wheel."""
    words = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(tree)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"replay: the base does not build: {done.stderr.strip()}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".so"):
                archive.extract(name, tree / "src")


def compare(
    base: Path, tree: Path, options: list[str], lines: int = LINES
) -> tuple[int, list[str], list[str]]:
    """How many texts two trees have, those that neither makes, for a defect of both, and what
    differs: a line each, with an excerpt.

    Args:
        options: of ``replay_texts.py``.

    Raises:
        SystemExit: a tree has failed altogether.
    """
    with tempfile.TemporaryDirectory(prefix="gridlane-replay-") as folder:
        paths = Path(folder, "before.zip"), Path(folder, "after.zip")
        running = [_started(*pair, options) for pair in zip((base, tree), paths, strict=True)]
        statuses = [process.wait() for process in running]
        for each, status in zip((base, tree), statuses, strict=True):
            if status:
                raise SystemExit(f"replay: {each} fails as a whole: status {status}")
        with zipfile.ZipFile(paths[0]) as before, zipfile.ZipFile(paths[1]) as after:
            differences = list(_differences(before, after, lines))
            return len(after.namelist()), list(_failures(before, after)), differences


def _started(tree: Path, archive: Path, options: list[str]) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if "GRIDLANE" not in name}
    environment |= {
        "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}",
        "PYTHONHASHSEED": "0",
        "GRIDLANE_CACHE": "0",
        "GRIDLANE_DEVICE": "interp",
    }
    command = [sys.executable, "-P", str(TEXTS), str(archive), *options]
    return subprocess.Popen(command, cwd=tree, env=environment)


def _failures(before: zipfile.ZipFile, after: zipfile.ZipFile) -> Iterator[str]:
    """The texts that are errors in both trees, not refusals."""
    common = {*before.namelist()} & {*after.namelist()}
    for name in sorted(common):
        if all(_start(archive, name) == FAILED for archive in (before, after)):
            yield name


def _start(archive: zipfile.ZipFile, name: str) -> bytes:
    with archive.open(name) as text:
        return text.read(len(FAILED))


def _differences(before: zipfile.ZipFile, after: zipfile.ZipFile, lines: int) -> Iterator[str]:
    earlier = {each.filename: each for each in before.infolist()}
    later = {each.filename: each for each in after.infolist()}
    yield from (f"{name}: only in the base" for name in earlier if name not in later)
    for name, each in later.items():
        other = earlier.get(name)
        if other is None:
            yield f"{name}: not in the base"
        elif (each.CRC, each.file_size) != (other.CRC, other.file_size):
            old, new = (archive.read(name).decode() for archive in (before, after))
            changed = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1)
            excerpt = islice(changed, 2, 2 + lines)  # behind the names of files
            yield "\n    ".join([f"{name}: differs", *excerpt])


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"replay: git {words[0]}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
