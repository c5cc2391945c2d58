"""The workloads of TileOPs' manifest: a reader of the part of YAML in which they are written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FAMILIES = "gemm", "bmm", "attention", "convolution", "normalization"
_TOKEN = re.compile(r'"[^"]*"|[^\s\[\]{}:,"]+|[\[\]{}:,]')
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
_CONSTANTS = {"true": "True", "false": "False", "null": "None"}


class Workload(NamedTuple):
    """An operator's name, and the words of one of its workloads."""

    operator: str
    words: dict[str, Any]

    @property
    def name(self) -> str:
        """The operator and the workload's label."""
        return f"{self.operator.removesuffix('Op')} {self.words['label']}"


def workloads(folder: Path) -> list[Workload]:
    """All workloads of the families.

    Raises:
        FileNotFoundError: the folder has no manifest.
    """
    for place in (folder / "src" / "tileops" / "manifest", folder / "manifest", folder):
        if (place / "gemm.yaml").exists():
            texts = [(place / f"{family}.yaml").read_text("utf-8") for family in FAMILIES]
            return [each for text in texts for each in _workloads(text)]
    raise FileNotFoundError(f"{folder} has no manifest of TileOPs")


def _workloads(text: str) -> Iterator[Workload]:
    operator, items = "", list[str]()
    depth: int | None = None
    for line in text.splitlines():
        bare = line.split(" #")[0].rstrip()
        if not bare.strip() or bare.lstrip().startswith("#"):
            continue
        indent = len(bare) - len(bare.lstrip())
        if indent == 0:
            operator = bare.rstrip(":")
        is_item = depth is not None and bare.lstrip().startswith("- ")
        if depth is not None and indent <= depth and not is_item:
            yield from (Workload(operator, _value(item)) for item in items)
            depth, items = None, []
        if bare.strip() == "workloads:":
            depth = indent
        elif is_item:
            items.append(bare.strip()[2:])
        elif depth is not None:
            items[-1] += "\n" + bare.strip()
    yield from (Workload(operator, _value(item)) for item in items)


def _value(text: str) -> dict[str, Any]:
    """A mapping in braces, or of a line a key.

    >>> _value('{a: [1, x], b: true}')
    {'a': [1, 'x'], 'b': True}
    >>> _value('a: 1\\nb: "c-d"')
    {'a': 1, 'b': 'c-d'}
    """
    if not text.startswith("{"):
        text = "{" + text.replace("\n", ", ") + "}"
    parts: list[str] = []
    for token in _TOKEN.findall(text):
        is_word = token[0] not in '"[]{}:,' and not _NUMBER.fullmatch(token)
        parts.append(_CONSTANTS.get(token, repr(token)) if is_word else token)
    return ast.literal_eval(" ".join(parts))
