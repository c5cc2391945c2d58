"""What the kernels of the corpus are made of, and what structuring makes of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.peers.corpus.packages import Text

from gridlane.core.errors import PtxError
from gridlane.frontends.ptx import PtxModule, parse_ptx
from gridlane.frontends.ptx.body import parse_body
from gridlane.frontends.ptx.forms.table import find
from gridlane.frontends.ptx.instructions import Body, Instruction
from gridlane.frontends.ptx.module import PtxFunction
from gridlane.frontends.ptx.operands import Symbol
from gridlane.frontends.ptx.translate import translate
from gridlane.ir.ops.arith import Const
from gridlane.ir.values import Module
from gridlane.passes.structure.structurize import structurize

CONTROL = frozenset(("bra", "brx", "ret", "exit", "trap", "call"))
"""Opcodes that the graph of blocks has, and not the table of forms."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a kernel is made of, with the functions that it calls.

    Attributes:
        spellings: of its opcodes with modifiers, how often each.
        unknown: those of them that no form of the table has.
        blocks: of the graph, before it is structured.
        before, after: ops of the IR around structuring; 0 of a kernel that is refused.
        refused: why it is not translated, or "".
    """

    text: Text
    name: str
    spellings: Counter[str]
    unknown: frozenset[str]
    blocks: int
    before: int = 0
    after: int = 0
    refused: str = ""

    @property
    def roots(self) -> Counter[str]:
        """How often it has each opcode without modifiers."""
        made: Counter[str] = Counter()
        for spelling, count in self.spellings.items():
            made[spelling.split(".")[0]] += count
        return made


@dataclass
class _Reach:
    """The functions that a module's kernels reach, each read once."""

    module: PtxModule
    bodies: dict[str, Body] = field(default_factory=dict)

    def bodies_of(self, entry: str) -> Iterator[Body]:
        waiting, seen = [entry], {entry}
        while waiting:
            function = self.module.functions[waiting.pop()]
            if not function.has_body:
                continue
            body = self._body(function)
            yield body
            for name in _named(body):
                if name in self.module.functions and name not in seen:
                    seen.add(name)
                    waiting.append(name)

    def _body(self, function: PtxFunction) -> Body:
        found = self.bodies.get(function.name)
        if found is None:
            found = self.bodies[function.name] = parse_body(self.module, function)
        return found


def _named(body: Body) -> Iterator[str]:
    """The functions that a body names: calls, and addresses of functions."""
    for made in _instructions(body):
        for operand in made.operands:
            if isinstance(operand, Symbol) and operand.variable is None:
                yield operand.name


def _instructions(body: Body) -> Iterator[Instruction]:
    for block in body.blocks:
        yield from block.instructions


def counted(text: Text) -> Iterator[Counted]:
    """What each kernel of a text is made of."""
    module = parse_ptx(text.ptx)
    reach = _Reach(module)
    for name in module.entries:
        spellings: Counter[str] = Counter()
        unknown: set[str] = set()
        blocks = 0
        try:
            for body in reach.bodies_of(name):
                blocks += sum(bool(block.instructions) for block in body.blocks)
                for made in _instructions(body):
                    spellings[made.spelling] += 1
                    if not _is_known(made):
                        unknown.add(made.spelling)
            before, after = growth(module, name)
        except PtxError as error:
            kept = frozenset(unknown)
            yield Counted(text, name, spellings, kept, blocks, refused=error.message)
        else:
            yield Counted(text, name, spellings, frozenset(unknown), blocks, before, after)


def _is_known(made: Instruction) -> bool:
    if made.root in CONTROL:
        return True
    return find(made.root, made.modifiers, len(made.operands)) is not None


def growth(module: PtxModule, name: str) -> tuple[int, int]:
    """A kernel's ops before and after structuring.

    Raises:
        PtxError: it is not translated.
    """
    made = translate(module, name)
    before = _ops(made)
    structurize(made)
    return before, _ops(made)


def _ops(module: Module) -> int:
    """The ops of a module but constants, which are copied where they are used."""
    functions = module.functions.values()
    return sum(not isinstance(op, Const) for each in functions for op in each.body.walk())


def reason(message: str) -> str:
    """A refusal without the names of the program."""
    message = re.sub(r"^([\w.:]+): ", lambda found: f"{found[1].split('.')[0]}: ", message)
    message = re.sub(r"the form (\w+)\.[\w.:]+ with \d+ operands", r"a form of \1", message)
    message = re.sub(r"\b_Z\w+", "a function", message)
    message = re.sub(r"%(?!clock|smid|nsmid|envreg|reserved|global)\w*\d+\b", "a register", message)
    return re.sub(r"\[%?\w[^\]]*\]", "[...]", message)
