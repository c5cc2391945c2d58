"""The pages of the documentation, and their blocks of code.

A comment in front of a block is its mark. ``<!-- needs CAPABILITY -->``: the block runs where the
capability is there; ``<!-- needs CAPABILITY: TEXT -->`` is for the block's commands with that text.
``<!-- shows REASON -->``: no program prints the text again. ``<!-- continues -->``: the program is
that of the block before, and this.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tests.devices import DEVICES
from tests.effort import NIGHTLY

from gridlane.compiler.cuda import find_ptxas

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def never() -> bool:
    return False


CAPABILITIES: dict[str, Callable[[], bool]] = {
    "a GPU": lambda: "cuda" in DEVICES,
    "a second GPU": never,
    "a Mac": never,
    "a browser": never,  # or a server that runs until it is stopped
    "a toolkit": lambda: find_ptxas() is not None,
    "installed libraries": never,  # where `gridlane install` wrote
    "network": never,
    "another library": never,
    "somebody's checkout": never,
    "torch": never,  # tests/peers/test_recipes.py runs it where it is installed
    "jax": never,  # likewise
    "dask": lambda: find_spec("distributed") is not None,
    "PyTorch and CuPy": never,
    "minutes": lambda: NIGHTLY,
    "ten minutes": never,  # more than a test may take
}
"""The capabilities of marks, and what says whether this run has them."""
SHOWN = {"figures", "a form", "a drawing", "versions of a day"}
"""What text shows that no program prints again."""

_PART = re.compile(
    r"^<!-- (?P<mark>(?:needs|shows|continues)[^\n]*) -->$"
    r"|^```(?P<language>\w*)(?P<title> title=\"[\w.]+\")?[^\n]*\n(?P<fenced>.*?)^```$"
    r"|(?<=\n\n)(?P<indented>(?:^ {4,8}\S[^\n]*\n|^\n(?= {4,8}\S))+)",
    re.M | re.S,
)
_NEEDS = re.compile(r"# needs ([^\n]*)\n")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code; ``language`` is ``sh`` for an indented one."""

    page: Path
    line: int
    language: str
    title: str
    text: str
    marks: tuple[str, ...]

    @property
    def place(self) -> str:
        return f"{self.page.name}-{self.line}"

    @property
    def needs(self) -> str | None:
        """The capability that all of the block needs, by its mark or a program's first line."""
        match = _NEEDS.match(self.text)
        marked = (mark.removeprefix("needs ") for mark in self.marks if mark.startswith("needs "))
        return match[1] if match else next((each for each in marked if ": " not in each), None)

    @property
    def shows(self) -> str | None:
        shown = (mark.removeprefix("shows ") for mark in self.marks if mark.startswith("shows "))
        return next(shown, None)

    @property
    def continues(self) -> bool:
        return "continues" in self.marks

    def commands(self) -> Iterator[tuple[str, str | None]]:
        """Each command with its comment, and the capability that it needs."""
        marks = (mark.removeprefix("needs ").partition(": ") for mark in self.marks)
        needs = [(capability, text) for capability, _, text in marks if text]
        for line in filter(str.strip, self.text.splitlines()):
            command = line.strip()
            words = command.partition("  #")[0]
            named = (capability for capability, text in needs if text in words)
            yield command, self.needs or next(named, None)


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    """The blocks of a page in their order."""
    found: list[Block] = []
    marks: list[str] = []
    text = page.read_text()
    for match in _PART.finditer(text):
        if match["mark"]:
            marks.append(match["mark"])
            continue
        language = "sh" if match["indented"] else match["language"]
        title = (match["title"] or "").partition("=")[2].strip('"')
        code = match["indented"] or match["fenced"]
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, language, title, code, tuple(marks)))
        marks = []
    assert not marks, f"{page.name}: a mark in front of no block"
    return tuple(found)


def whole_lines(expected: str, printed: str) -> bool:
    """Whether a text is among the lines that a program printed: "5" is not in "15"."""
    return f"\n{expected.rstrip()}\n" in f"\n{printed.rstrip()}\n"


def parts(command: str) -> Iterator[tuple[dict[str, str], list[str]]]:
    """The settings and the words of each command of a line of a shell, whose parts ``&&`` joins."""
    for part in command.partition("  #")[0].split(" && "):
        words = shlex.split(part)
        settings: dict[str, str] = {}
        while words and re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            settings[name] = value
        yield settings, words
