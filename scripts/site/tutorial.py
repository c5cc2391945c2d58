"""Follow docs/tutorial.md: save its programs, run its commands in their order.

``python scripts/site/tutorial.py`` draws docs/pictures again.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
PICTURES = ROOT / "docs" / "pictures"
PART = re.compile(
    r'^```python title="(?P<name>[\w.]+)"\n(?P<program>.*?)^```$'
    r"|^```text\n(?P<output>.*?)^```$"
    r"|^ {4,8}(?P<command>\S[^\n]*)$",
    re.M | re.S,
)


@dataclass(frozen=True, slots=True)
class Step:
    """A command, the files to save before it, and what the page says that it prints."""

    command: str
    programs: dict[str, str]
    output: str | None
    fails: bool


def steps(page: str) -> Iterator[Step]:
    """The commands of the page in their order."""
    programs: dict[str, str] = {}
    waiting: tuple[str, dict[str, str]] | None = None
    for match in PART.finditer(page):
        if match["command"] is not None:
            if waiting is not None:
                yield _step(*waiting, None)
            waiting, programs = (match["command"].strip(), programs), {}
        elif match["output"] is not None and waiting is not None:
            yield _step(*waiting, match["output"])
            waiting = None
        elif match["name"] is not None:
            programs[match["name"]] = match["program"]
    if waiting is not None:
        yield _step(*waiting, None)


def _step(command: str, programs: dict[str, str], output: str | None) -> Step:
    words, _, note = command.partition("  # ")
    return Step(words, programs, output, note == "fails")


def follow(folder: Path, run: Callable[[str], tuple[int, str]], *, install: bool = False) -> None:
    """Do what the page says in ``folder``; ``run`` runs a command and returns status and output.

    Raises:
        AssertionError: a command fails, or prints something else than the page says.
    """
    for step in steps(PAGE.read_text()):
        if not install and "venv" in step.command:
            continue
        for name, program in step.programs.items():
            (folder / name).write_text(program)
        status, output = run(step.command)
        assert (status != 0) == step.fails, f"{step.command}\n{output}"
        if step.output is not None:
            assert step.output in output, f"{step.command}\n{output}"


def main() -> None:
    import subprocess

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def run(command: str) -> tuple[int, str]:
            path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
            done = subprocess.run(
                command, shell=True, cwd=folder, env={"PATH": path}, text=True, capture_output=True
            )
            return done.returncode, done.stdout + done.stderr

        follow(folder, run)
        PICTURES.mkdir(exist_ok=True)
        for picture in folder.glob("*.png"):
            shutil.copy(picture, PICTURES / picture.name)


if __name__ == "__main__":
    main()
