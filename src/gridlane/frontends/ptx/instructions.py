"""The body of a function as its translation sees it: instructions in blocks."""

from __future__ import annotations

from dataclasses import dataclass, field

from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.operands import Operand, Reg, Register


@frozen
class Instruction:
    """An instruction.

    Attributes:
        root, modifiers: ``add`` and ``("rn", "f32")`` of ``add.rn.f32``.
        guard: the predicate of ``@%p``.
        at: its place in the code; ``line``: (file, line, column) of ``.loc``, if there was one, and
            those of the call if its function was inlined.
    """

    root: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Reg | None
    at: int
    line: tuple[int, ...] | None

    @property
    def spelling(self) -> str:
        """The opcode with its modifiers."""
        return ".".join((self.root, *self.modifiers))


@dataclass(slots=True)
class Block:
    """Instructions without a label between them."""

    number: int
    at: int
    instructions: list[Instruction] = field(default_factory=list[Instruction])


@dataclass(slots=True)
class Body:
    """A body.

    Attributes:
        labels: the block of each label, by scope and name.
        variables: the shared, local and other variables declared in it.
        tables: the labels of ``.branchtargets``.
        named: the registers that are parameters and results of the function.
        meetings: the places of barriers that are the grid's; see meetings.py.
    """

    blocks: list[Block]
    registers: list[Register]
    variables: list[Declared]
    labels: dict[tuple[int, str], int]
    parents: list[int]
    tables: dict[str, tuple[str, ...]]
    scopes: dict[int, int]
    """The scope of the instruction at a place, where that is not the outermost."""
    named: dict[Declared, Register]
    meetings: set[int] = field(default_factory=set[int])

    def target(self, instruction: Instruction, name: str) -> int | None:
        """The block that a label names for an instruction."""
        scope = self.scopes.get(instruction.at, 0)
        while scope >= 0:
            label = self.labels.get((scope, name))
            if label is not None:
                return label
            scope = self.parents[scope]
        return None
