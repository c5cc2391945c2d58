"""Python text in the making."""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Text:
    """Lines of a random program.

    Attributes:
        depth: how many statements stand around the next line.
        count: how many names were made.
    """

    random: random.Random
    lines: list[str] = field(default_factory=list, kw_only=True)
    depth: int = field(default=1, kw_only=True)
    count: int = field(default=0, kw_only=True)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def fresh(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def chance(self, part: float) -> bool:
        return self.random.random() < part
