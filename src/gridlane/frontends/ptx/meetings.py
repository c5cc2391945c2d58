"""The barrier of a grid as NVIDIA's ``cooperative_groups.h`` writes it.

There the first thread of a block adds to a word of the launch, whose address is in ``%envreg1`` and
``%envreg2``, and reads it in a loop until all blocks have added. If not all blocks run at once,
such a loop does not end, so the block's barrier behind it becomes the grid's, and the loop is
removed. A function that does more with the word than this is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gridlane.frontends.ptx.instructions import Block, Body, Instruction
from gridlane.frontends.ptx.operands import (
    Address,
    Number,
    Operand,
    Reg,
    Register,
    Special,
    Tuple,
    Vector,
)

_HALVES = "%envreg1", "%envreg2"
_MOVES = frozenset(("mov", "cvt", "cvta", "bfi", "shl", "or", "add"))
"""What makes an address of the halves, and addresses from it."""
_SPINS = frozenset(("ld", "mov", "xor", "and", "setp", "fence", "membar"))
"""What a loop of waiting does besides its branch."""
_COMPUTES = _MOVES | {
    "setp",
    "selp",
    "sub",
    "mul",
    "mad",
    "fma",
    "neg",
    "abs",
    "min",
    "max",
    "rem",
    "div",
    "and",
    "xor",
    "not",
    "shr",
    "bfe",
    "prmt",
    "lop3",
    "shf",
    "popc",
    "clz",
    "brev",
    "sqrt",
    "rcp",
    "rsqrt",
    "ex2",
    "lg2",
    "sin",
    "cos",
    "tanh",
    "set",
    "slct",
    "mul24",
    "mad24",
}
"""What may come between the loop and the barrier, besides loads of parameters: what no other thread
sees."""
_BARRIERS = frozenset((("barrier", "sync"), ("bar", "sync")))


@dataclass(slots=True)
class _Word:
    """The uses of the launch's word: the instructions that read the halves, that add, that load."""

    halves: list[Instruction]
    adds: list[Instruction]
    loads: list[Instruction]


def recognise(body: Body, edges: Sequence[Sequence[int]]) -> bool:
    """Make barriers of the grid of a body's loops that wait for it; whether there are any.

    Args:
        body: changed in place: ``meetings`` has the places of these barriers.
        edges: the successors of each block.
    """
    word = _uses(body)
    if word is None or not word.loads:
        return False
    loads = {id(each) for each in word.loads}
    spins = {
        block.number: barrier
        for block in body.blocks
        if any(id(each) in loads for each in block.instructions)
        and (barrier := _behind(body, edges, block)) is not None
    }
    waited = sum(id(each) in loads for number in spins for each in body.blocks[number].instructions)
    if waited != len(loads):
        return False
    given = {id(each): Number(1) for each in word.halves}
    given |= {id(each): Number(0) for each in (*word.adds, *word.loads)}
    for block in body.blocks:
        results = [
            _moved(each, given[id(each)]) if id(each) in given else each
            for each in block.instructions
        ]
        block.instructions = results[:-1] if block.number in spins else results
    body.meetings.update(barrier.at for barrier in spins.values())
    return True


def _moved(instruction: Instruction, value: Number) -> Instruction:
    """The instruction that writes a number in place of another's result."""
    return replace(
        instruction, root="mov", modifiers=("u32",), operands=(instruction.operands[0], value)
    )


def _uses(body: Body) -> _Word | None:
    """The uses of the word; None where there are none, or others than a barrier has."""
    instructions = [each for block in body.blocks for each in block.instructions]
    word = _Word([each for each in instructions if _is_half(each)], [], [])
    if not word.halves:
        return None
    derived = {register for each in word.halves for register in _written(each)}
    while True:
        more = {
            register
            for each in instructions
            if each.root in _MOVES and derived & set(_registers(each.operands[1:]))
            for register in _written(each)
        }
        if more <= derived:
            break
        derived |= more
    writes = [each for made in instructions for each in _written(made) if each in derived]
    if len(writes) != len(derived):  # one also has what is no address of the word
        return None
    for each in instructions:
        if each.root in (*_MOVES, "setp") or not derived & set(_registers(each.operands)):
            continue
        barrier_number = each.operands[1] if len(each.operands) > 1 else None
        others = (*each.operands[:1], *each.operands[2:])
        if not isinstance(barrier_number, Address) or derived & set(_registers(others)):
            return None
        if each.root == "ld" and each.modifiers[-1] == "u32":
            word.loads.append(each)
        elif each.root == "atom" and "add" in each.modifiers and each.modifiers[-1] == "u32":
            word.adds.append(each)
        else:
            return None
    return word


def _is_half(instruction: Instruction) -> bool:
    source = instruction.operands[-1] if instruction.operands else None
    return instruction.root == "mov" and isinstance(source, Special) and source.name in _HALVES


def _written(instruction: Instruction) -> Iterator[Register]:
    """The registers that an instruction writes, if its first operand is its result."""
    if instruction.operands and isinstance(instruction.operands[0], Reg | Vector):
        yield from _registers(instruction.operands[:1])


def _registers(operands: Sequence[Operand]) -> Iterator[Register]:
    """The registers that operands name."""
    for each in operands:
        if isinstance(each, Reg):
            yield each.register
        elif isinstance(each, Address) and isinstance(each.base, Register):
            yield each.base
        elif isinstance(each, Vector | Tuple):
            yield from _registers(each.parts)


def _behind(body: Body, edges: Sequence[Sequence[int]], spin: Block) -> Instruction | None:
    """The barrier behind a loop of waiting, which the block's other threads reach from the branch
    before it; None where it is not so."""
    *inside, last = spin.instructions
    number = spin.number
    if last.root != "bra" or last.guard is None or set(edges[number]) != {number, number + 1}:
        return None
    if any(each.root not in _SPINS or each.guard is not None for each in inside):
        return None
    behind = number + 1
    computed = body.blocks[behind].instructions
    barrier = next((each for each in computed if not _computes(each)), None)
    if barrier is None or not _is_barrier(barrier):
        return None
    before = _before(edges, number) - {number}
    inner = number
    while len(before) == 1:
        (outer,) = before
        if len(edges[outer]) > 1:
            meets = set(edges[outer]) == {inner, behind}
            return barrier if meets and _before(edges, behind) == {number, outer} else None
        inner, before = outer, _before(edges, outer)
    return None


def _computes(instruction: Instruction) -> bool:
    """Whether an instruction neither accesses memory that others see nor branches."""
    is_parameter = instruction.root == "ld" and instruction.modifiers[:1] == ("param",)
    return instruction.root in _COMPUTES or is_parameter


def _is_barrier(instruction: Instruction) -> bool:
    """Whether an instruction is the barrier of all threads of the block."""
    is_sync = (instruction.root, *instruction.modifiers[:1]) in _BARRIERS
    return is_sync and instruction.guard is None and instruction.operands == (Number(0),)


def _before(edges: Sequence[Sequence[int]], number: int) -> set[int]:
    """The predecessors of a block."""
    return {source for source, targets in enumerate(edges) if number in targets}
