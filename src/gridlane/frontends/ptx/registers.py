"""Which registers of a function are variables, and which may be read before they are written."""

from __future__ import annotations

from collections.abc import Container, Mapping

from gridlane.core.frozen import frozen
from gridlane.frontends.ptx import pointers
from gridlane.frontends.ptx.forms.table import Match
from gridlane.frontends.ptx.instructions import Body, Instruction
from gridlane.frontends.ptx.module import PtxFunction
from gridlane.frontends.ptx.operands import Register, Tuple
from gridlane.ir.dominance import Dominators, Edges, depth_first


@frozen
class Registers:
    """The results of registers.py.

    Attributes:
        handed: those that calls write, and those that are parameters and results of the function.
        variables: those and all that are written twice or under a guard, or read where their one
            definition may not have been; others are values.
        unwritten: variables that may be read before they are written, by number.
    """

    handed: set[Register]
    variables: set[Register]
    unwritten: list[Register]


@frozen
class _Access:
    """The registers of an instruction; under a guard it may write none of its results."""

    reads: list[Register]
    writes: list[Register]
    is_guarded: bool


_Accesses = dict[int, list[_Access]]
"""Those of each reachable block."""


def registers(
    function: PtxFunction, body: Body, matches: Mapping[int, Match], edges: Edges, tree: Dominators
) -> Registers:
    """Analyse all accesses.

    Args:
        matches: the form of each reachable instruction that is none of control flow, by its place.
    """
    returned = [body.named[each] for each in function.results if each.space == "reg"]
    given = {body.named[each] for each in function.params if each.space == "reg"}
    handed = {*returned, *given}
    accesses: _Accesses = {}
    for number in tree.order:
        accesses[number] = accesses_of_block = list[_Access]()
        for each in body.blocks[number].instructions:
            match = matches.get(each.at)
            accesses_of_block.append(
                _of_control(each, returned) if match is None else _of(each, match)
            )
            if match is None:
                handed.update(accesses_of_block[-1].writes)
        if number + 1 == len(body.blocks):  # the end of a function returns
            accesses_of_block.append(_Access(returned, [], False))
    where = _definitions(accesses)
    changing = _changing(accesses, where, tree)
    written_first = given.union(register for register in where if register not in changing)
    unwritten = _unwritten(accesses, written_first, edges)
    variables = handed.union(changing, unwritten)
    return Registers(handed, variables, sorted(unwritten, key=lambda each: each.number))


def _of(instruction: Instruction, match: Match) -> _Access:
    reads, writes = pointers.sources_of(instruction, match), pointers.results_of(instruction, match)
    return _Access(reads, writes, instruction.guard is not None)


def _of_control(instruction: Instruction, returned: list[Register]) -> _Access:
    operands = list(instruction.operands)
    writes: list[Register] = []
    if instruction.root == "call" and operands and isinstance(operands[0], Tuple):
        writes = pointers.registers_of([operands.pop(0)])
    reads = pointers.registers_of(operands)
    if instruction.root == "ret":
        reads += returned
    if instruction.guard is not None:
        reads.append(instruction.guard.register)
    return _Access(reads, writes, instruction.guard is not None)


def _definitions(accesses: _Accesses) -> dict[Register, tuple[int, int]]:
    """Where each register is written last: the block, and the number of the access in it."""
    return {
        register: (number, index)
        for number, block in accesses.items()
        for index, each in enumerate(block)
        for register in each.writes
    }


def _changing(
    accesses: _Accesses, where: Mapping[Register, tuple[int, int]], tree: Dominators
) -> set[Register]:
    """The registers that are written twice or under a guard, or may be read before."""
    changing: set[Register] = set()
    for number, block in accesses.items():
        for index, each in enumerate(block):
            for register in each.writes:
                if each.is_guarded or where[register] != (number, index):
                    changing.add(register)
    for number, block in accesses.items():
        for index, each in enumerate(block):
            for register in each.reads:
                if register in changing or register not in where:
                    continue
                home, place = where[register]
                if (home == number and place >= index) or not tree.dominates(home, number):
                    changing.add(register)
    return changing


def _unwritten(
    accesses: _Accesses, written_first: Container[Register], edges: Edges
) -> set[Register]:
    """The registers that some path reads before it has written them, but for some that are known
    to be written first."""
    exposed: dict[int, set[Register]] = {}
    for number, block in accesses.items():
        exposed[number] = unwritten = set[Register]()
        written: set[Register] = set()
        for each in block:
            unwritten.update(
                register
                for register in each.reads
                if register not in written and register not in written_first
            )
            if not each.is_guarded:
                written.update(each.writes)
    bits = {each: 1 << n for n, each in enumerate(set[Register]().union(*exposed.values()))}
    if not bits:
        return set()
    into = _written(accesses, bits, edges)
    return {
        each for number, found in exposed.items() for each in found if not into[number] & bits[each]
    }


def _written(accesses: _Accesses, bits: Mapping[Register, int], edges: Edges) -> dict[int, int]:
    """The bits of the registers that each path to the start of a block surely writes."""
    order = list(reversed(depth_first(edges)[1]))
    sure = dict.fromkeys(order, 0)
    for number, block in accesses.items():
        for each in block:
            for register in () if each.is_guarded else each.writes:
                sure[number] |= bits.get(register, 0)
    into = dict.fromkeys(order, (1 << len(bits)) - 1)
    into[order[0]] = 0
    changed = True
    while changed:
        changed = False
        for number in order:
            out = into[number] | sure[number]
            for goal in edges[number]:
                if into[goal] & ~out:
                    into[goal] &= out
                    changed = True
    return into
