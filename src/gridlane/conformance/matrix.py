"""Tabulate the judgements of devices: a row per op, a column per device.

Ops with the same cells on all devices share a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase

from gridlane.conformance.judging import How, Judgement

LETTERS = {
    How.NATIVE: "N",
    How.PARTLY: "P",
    How.LEGALISED: "L",
    How.REFUSED: "R",
    How.OTHERWISE: "O",
}
LEGEND = (
    "N: native, the code generator was given the op. L: legalised, passes wrote it in other ops. "
    "P: native for some of the types of a case. R: refused by name, with the reason below. "
    "O: not compared, for the reason below. A number: of how many cases (types, kinds), where "
    "there are several. FAILS: the answer, or the refusal, is wrong. All else gave what the "
    "interpreter gives: the same bits, any NaN like any other, and of functions that are not "
    "exact the ulp that are allowed."
)
NONE = "-"
"""The cell of an untested op."""


@dataclass(slots=True)
class Matrix:
    """The table of judgements.

    Attributes:
        columns: the judgements by device.
        reasons: the letters of the notes.
    """

    columns: Mapping[str, Sequence[Judgement]]
    reasons: dict[str, str] = field(default_factory=dict)

    def rows(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """(ops, cases of each, cell of each device), in the order of the first op of each."""
        ops = {judgement.op: None for column in self.columns.values() for judgement in column}
        grouped: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for op in ops:
            own = [[j for j in column if j.op == op] for column in self.columns.values()]
            cells = tuple(self._cell(found) for found in own)
            cases = max(map(len, own))
            grouped.setdefault((str(cases), cells), []).append(op)
        return [(", ".join(found), cases, cells) for (cases, cells), found in grouped.items()]

    def _cell(self, judgements: list[Judgement]) -> str:
        if not judgements:
            return NONE
        counts = Counter((judgement.how, judgement.says) for judgement in judgements)
        order = list(LETTERS)
        parts = []
        for how, says in sorted(counts, key=lambda item: (order.index(item[0]), item[1])):
            number = str(counts[how, says]) if len(counts) > 1 else ""
            note = f" ({self._letter(says)})" if says else ""
            parts.append(f"{LETTERS[how]}{number}{note}")
        wrong = sum(bool(judgement.wrong) for judgement in judgements)
        return ", ".join([*([f"FAILS {wrong}"] if wrong else []), *parts])

    def _letter(self, reason: str) -> str:
        return self.reasons.setdefault(reason, ascii_lowercase[len(self.reasons)])

    def failures(self) -> list[str]:
        """The defects, one per line."""
        return [
            f"{device}: {each.case}: {each.wrong}"
            for device, column in self.columns.items()
            for each in column
            if each.wrong
        ]

    def totals(self) -> list[str]:
        """The number of judgements of each kind, for each device."""
        lines = []
        for device, column in self.columns.items():
            counts = Counter(each.how for each in column)
            kinds = ", ".join(f"{counts[how]} {how.value}" for how in How if counts[how])
            wrong = sum(bool(each.wrong) for each in column)
            lines.append(f"{device}: {len(column)} cases: {kinds}; {wrong or 'none'} failed")
        return lines


def as_markdown(matrix: Matrix, facts: Iterable[str]) -> str:
    """The matrix as a page's section."""
    head = ("ops", "cases", *matrix.columns)
    lines = [_row(head), _row(["---"] * len(head))]
    lines += [_row((ops, cases, *cells)) for ops, cases, cells in matrix.rows()]
    notes = [f"({letter}) {reason}" for reason, letter in matrix.reasons.items()]
    parts = [*_bullets(facts), "", *lines, "", LEGEND, "", *_bullets(notes)]
    return "\n".join([*parts, "", *_bullets([*matrix.totals(), *matrix.failures()])]) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"- {line}" for line in lines]
