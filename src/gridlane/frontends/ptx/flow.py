"""The graph of a function's blocks, and the forms of their instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from gridlane.frontends.ptx import forms, pointers
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.forms.table import FORMS, Match
from gridlane.frontends.ptx.instructions import Body, Instruction
from gridlane.frontends.ptx.module import PtxFunction
from gridlane.frontends.ptx.operands import Special, Symbol, Tuple
from gridlane.frontends.ptx.text import Text

_CONTROL = {
    "bra": ((), ("uni",)),
    "brx": (("idx",), ("idx", "uni")),
    "ret": ((), ("uni",)),
    "exit": ((),),
    "trap": ((),),
    "call": ((), ("uni",)),
}
"""Instructions of control flow, with their modifiers."""


class Flow:
    """The blocks of a function.

    Attributes:
        matches: the forms of instructions, by their places.
    """

    def __init__(self, text: Text, function: PtxFunction, body: Body) -> None:
        self.text, self.function, self.body = text, function, body
        self.matches: dict[int, Match] = {}

    def edges(self) -> list[list[int]]:
        """The successors of each block."""
        results: list[list[int]] = []
        for block in self.body.blocks:
            following: list[int] = []
            falls = True
            for each in block.instructions:
                if each.root not in _CONTROL:
                    continue
                is_end = each.root in ("ret", "exit", "trap")
                if each.modifiers not in _CONTROL[each.root] or (is_end and each.operands):
                    self._unknown(each)
                if each.root in ("bra", "brx"):
                    following += self.targets(each)
                if each.root != "call" and each.guard is None:
                    falls = False
            if falls and block.number + 1 < len(self.body.blocks):  # else the function ends
                following.append(block.number + 1)
            results.append(list(dict.fromkeys(following)))
        return results

    def targets(self, instruction: Instruction) -> list[int]:
        """The blocks that a branch goes to."""
        names: tuple[str, ...]
        if instruction.root == "bra":
            if len(instruction.operands) != 1 or not isinstance(
                instruction.operands[0], Symbol | Special
            ):
                self.text.fail("bra takes a label", instruction.at, 3)
            names = (instruction.operands[0].name,)
        else:
            table = instruction.operands[1] if len(instruction.operands) == 2 else None
            if not isinstance(table, Symbol) or table.name not in self.body.tables:
                self.text.fail(
                    "brx.idx takes an index and a .branchtargets list", instruction.at, 7
                )
            names = self.body.tables[table.name]
        numbers: list[int] = []
        for name in names:
            number = self.body.target(instruction, name)
            if number is None:
                self.text.fail(f"no label {name[:60]} in {self.function.name}", instruction.at, 3)
            numbers.append(number)
        return numbers

    def _match(self, instruction: Instruction) -> Match:
        modifiers = instruction.modifiers
        of_cluster = "shared::cluster" in modifiers
        if of_cluster:  # the forms say it of the block's own
            own = {"shared::cluster": "shared::cta"}
            modifiers = tuple(own.get(each, each) for each in modifiers)
        match = forms.find(instruction.root, modifiers, len(instruction.operands))
        if match is None:
            self._unknown(instruction)
        if of_cluster:
            match = replace(match, of_cluster=True)
        self.matches[instruction.at] = match
        return match

    def _unknown(self, instruction: Instruction) -> NoReturn:
        known = FORMS.get(instruction.root)
        count = len(instruction.operands)
        if known is None and instruction.root not in _CONTROL:
            message = f"{instruction.root} is not translated"
        else:
            message = f"the form {instruction.spelling} with {count} operands is not translated"
        self.text.fail(message, instruction.at, len(instruction.spelling))

    def reads(self, reachable: Sequence[int]) -> list[pointers.Read]:
        """The reachable instructions with their forms, without those of control flow."""
        return [
            (each, self._match(each))
            for number in reachable
            for each in self.body.blocks[number].instructions
            if each.root not in _CONTROL
        ]

    def stored(
        self, reads: list[pointers.Read], reachable: Sequence[int]
    ) -> dict[Declared, list[range]]:
        """The bytes of parameters that instructions and calls write."""
        result = pointers.stored(reads)
        for number in reachable:
            for each in self.body.blocks[number].instructions:
                if each.root == "call" and each.operands and isinstance(each.operands[0], Tuple):
                    for part in each.operands[0].parts:
                        if isinstance(part, Symbol) and part.variable is not None:
                            result[part.variable].append(range(part.variable.size))
        return result
