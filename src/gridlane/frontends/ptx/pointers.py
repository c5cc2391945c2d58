"""The types of registers: which hold addresses, and of what memory.

Addresses are integers in PTX. Where one is a parameter or a variable plus offsets, it stays a
pointer in the IR, so that analyses of bindings and alignment and vector loads work. A register is a
pointer if all that is written to it is, of one space.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from gridlane.core.dtypes import DType, f32, f64
from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.addresses import Numbering
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.forms.table import Match
from gridlane.frontends.ptx.instructions import Instruction
from gridlane.frontends.ptx.operands import (
    Address,
    Number,
    Operand,
    Pair,
    Part,
    Reg,
    Register,
    Symbol,
    Vector,
)
from gridlane.frontends.ptx.types import unsigned
from gridlane.ir.types import Space, Type, pointer

Root = tuple[Declared, int]
"""A parameter and an offset in it."""

Read = tuple[Instruction, Match]


@frozen
class Types:
    """What pointers.py finds.

    Attributes:
        registers: the type of each register that is written.
        pointers: the parameters that are pointers, and to what memory.
    """

    registers: dict[Register, Type]
    pointers: dict[Root, Space]


def results_of(instruction: Instruction, match: Match) -> list[Register]:
    """The registers that an instruction writes."""
    written: list[Register] = []
    for number in match.form.results():
        if number < len(instruction.operands):
            written += _registers(instruction.operands[number])
    return written


def sources_of(instruction: Instruction, match: Match) -> list[Register]:
    """The registers that an instruction reads, its guard included."""
    results = set(match.form.results()).difference(match.form.updated)
    read: list[Register] = []
    for number, operand in enumerate(instruction.operands):
        if number not in results:
            read += _registers(operand)
    if instruction.guard is not None:
        read.append(instruction.guard.register)
    return read


def registers_of(operands: Sequence[Operand]) -> list[Register]:
    """The registers in operands."""
    return [register for operand in operands for register in _registers(operand)]


def _registers(operand: Operand) -> list[Register]:
    if isinstance(operand, Reg | Part):
        return [operand.register]
    if isinstance(operand, Address):
        return [operand.base] if isinstance(operand.base, Register) else []
    if isinstance(operand, Pair):
        return [*_registers(operand.first), *_registers(operand.second)]
    parts: tuple[Operand, ...] = getattr(operand, "parts", ())
    return [register for part in parts for register in _registers(part)]


def addressed(reads: list[Read], params: tuple[Declared, ...]) -> list[Declared]:
    """The parameters whose address a function takes."""
    taken = {
        operand.variable
        for instruction, _ in reads
        for operand in instruction.operands
        if isinstance(operand, Symbol)
    }
    return [param for param in params if param in taken]


def stored(reads: list[Read]) -> dict[Declared, list[range]]:
    """The bytes of parameters that instructions write."""
    result: dict[Declared, list[range]] = defaultdict(list)
    for instruction, match in reads:
        if instruction.root == "st" and instruction.operands and match.has("param", "param::func"):
            address = instruction.operands[0]
            if not isinstance(address, Address):
                continue
            base = address.base
            if isinstance(base, Symbol) and base.variable is not None:
                count = 4 if match.has("v4") else 2 if match.has("v2") else 1
                start = address.offset + base.offset
                result[base.variable].append(range(start, start + count * match.type.size))
    return result


@frozen
class _Addresses:
    """The spaces whose addresses are numbers, and the space of each state space with variables."""

    spaces: set[Space]
    of: Mapping[str, Space]


_NO_BASE = Number(0)
"""The operand of a sum that is no address: the product of a mad, what a sub subtracts."""
_NO_SPACES: frozenset[Space] = frozenset()


class _Source:
    """What a register may be: the sum of ``bases`` and an integer, or a variable's address.

    Attributes:
        copies: registers whose value it may have.
        sums: pairs of operands whose sum it may be.
        roots: parameters that it may be loaded from.
        spaces: of variables whose address it may be.
        other: whether it may be anything else.
    """

    __slots__ = ("copies", "other", "roots", "spaces", "sums")

    def __init__(self) -> None:
        # Tuples, as most have one element or none, and modules have many registers.
        self.copies: tuple[Register, ...] = ()
        self.sums: tuple[tuple[Operand, Operand], ...] = ()
        self.roots: tuple[Root, ...] = ()
        self.spaces: frozenset[Space] = _NO_SPACES
        self.other = False


def infer(
    reads: list[Read],
    params: Mapping[Declared, Space],
    handed: set[Register],
    numbering: Numbering,
    next_numbering: Numbering,
    spaces: Mapping[str, Space],
    given: Collection[Declared] = (),
    result: tuple[Declared, Declared] | None = None,
) -> Types:
    """The types of all registers.

    Args:
        params: those that may be pointers, and of what memory: all of a kernel's.
        spaces: the IR's space of each state space with variables.
        given: those parameters that are pointers in any case.
        result: a parameter that is the address of a local variable, and that variable.
        handed: registers that calls write, which may hold anything.
        numbering: the spaces whose addresses are numbers.
        next_numbering: receives spaces whose addresses become numbers, as a register may be of
            several.
    """
    sources = _sources(reads, _Addresses(numbering.spaces, spaces), result)
    for register in handed:
        sources[register].other = True
    users = _users(sources)

    def is_known(source: _Source) -> bool:  # what a call returns may be of any memory
        return all(param in params for param, _ in source.roots)

    maybe = _live(sources, users, is_known)
    wanted = _wanted(reads, sources, maybe)
    roots = {
        root
        for register, source in sources.items()
        if register in wanted and register in maybe
        for root in source.roots
        if is_known(source) and not source.other
    }
    roots |= {(param, 0) for param in given}  # pointers of the caller's
    live = _live(sources, users, lambda source: roots.issuperset(source.roots))
    spaces_of_registers = _spaces(sources, users, live, params)
    types: dict[Register, Type] = {}
    floats = {each: type_ for each, type_ in _floats(reads).items() if each not in handed}
    for register in sources:
        several = spaces_of_registers.get(register, frozenset[Space]())
        if len(several) > 1:
            next_numbering.spaces |= several - {Space.GLOBAL}
        if several:
            types[register] = pointer(unsigned(8), min(several))
        else:
            types[register] = floats.get(register, register.type)
    return Types(types, {root: params[root[0]] for root in roots})


def _sources(
    reads: list[Read], numbers: _Addresses, result: tuple[Declared, Declared] | None
) -> dict[Register, _Source]:
    sources_by_register: dict[Register, _Source] = defaultdict(_Source)
    for instruction, match in reads:
        for number, register in enumerate(results_of(instruction, match)):
            _note(sources_by_register[register], instruction, match, number, numbers)
            if result is not None:
                _replace(sources_by_register[register], *result, numbers)
    return sources_by_register


def _replace(source: _Source, param: Declared, variable: Declared, numbers: _Addresses) -> None:
    """A parameter that is the address of a local variable, as that variable."""
    others = tuple(root for root in source.roots if root[0] is not param)
    if len(others) < len(source.roots):
        source.roots = others
        _copy(source, Symbol(variable.name, variable), numbers)


def _note(
    source: _Source, instruction: Instruction, match: Match, number: int, numbers: _Addresses
) -> None:
    """Note one way in which a register is written."""
    operands = list(instruction.operands)
    root = instruction.root
    if root in ("mov", "cvta") and len(operands) == 2 and not isinstance(operands[1], Vector):
        _copy(source, operands[1], numbers)
    elif root == "selp":
        _copy(source, operands[1], numbers)
        _copy(source, operands[2], numbers)
    elif root == "add" and match.type.bits >= 32 and match.type.is_integer:
        source.sums += ((operands[1], operands[2]),)
    elif root in ("mad", "sub") and match.type.is_integer and match.type.bits >= 32:
        is_sum = root == "mad"
        if is_sum and instruction.modifiers[0] == "hi":
            source.other = True
        elif is_sum:
            source.sums += ((operands[3], _NO_BASE),)
        else:
            source.sums += ((operands[1], _NO_BASE),)
    elif root == "ld" and instruction.modifiers[0] == "param" and isinstance(operands[1], Address):
        base = operands[1].base
        is_wide = match.has("b128") or match.type.bits == 64
        if isinstance(base, Symbol) and base.variable is not None and is_wide:
            source.roots += ((base.variable, operands[1].offset + 8 * number),)
        else:
            source.other = True
    else:
        source.other = True


def _copy(source: _Source, operand: Operand, numbers: _Addresses) -> None:
    if isinstance(operand, Reg):
        source.copies += (operand.register,)
    elif isinstance(operand, Symbol) and operand.variable is not None:
        space = Space.LOCAL if operand.variable.space == "param" else None
        space = space or numbers.of.get(operand.variable.space)
        if space is None or space in numbers.spaces or operand.variable.is_reference:
            source.other = True
        else:
            source.spaces |= {space}
    else:
        source.other = True


def _bases(source: _Source, maybe: set[Register]) -> list[Register] | None:
    """The registers that the sums' bases are; None if a sum has no one base."""
    bases: list[Register] = []
    for first, second in source.sums:
        pair = [each.register for each in (first, second) if isinstance(each, Reg)]
        known = [register for register in pair if register in maybe]
        if len(known) != 1 or (len(pair) == 2 and pair[0] is pair[1]):
            return None
        bases += known
    return bases


def _users(sources: dict[Register, _Source]) -> dict[Register, set[Register]]:
    """The registers whose value may derive from each register."""
    users: dict[Register, set[Register]] = defaultdict(set)
    for register, source in sources.items():
        for other in source.copies:
            users[other].add(register)
        for pair in source.sums:
            for each in pair:
                if isinstance(each, Reg):
                    users[each.register].add(register)
    return users


def _live(
    sources: dict[Register, _Source],
    users: dict[Register, set[Register]],
    allowed: Callable[[_Source], bool],
) -> set[Register]:
    """The registers that may be addresses: a greatest fixpoint. Registers that rest on nothing but
    themselves are none: it begins with what is anchored."""
    able = {
        register
        for register, source in sources.items()
        if not source.other
        and register.type.bits >= 32
        and register.type.is_integer
        and allowed(source)
    }
    live = _anchored(sources, able, users)
    work = list(live)
    while work:
        register = work.pop()
        if register not in live:
            continue
        source = sources[register]
        bases = _bases(source, live)
        if bases is None or any(other not in live for other in source.copies):
            live.discard(register)
            work += users[register]
    return live


def _anchored(
    sources: dict[Register, _Source], maybe: set[Register], users: dict[Register, set[Register]]
) -> set[Register]:
    """The registers that a parameter's or a variable's address reaches by copies and sums."""
    anchored = {each for each in maybe if sources[each].roots or sources[each].spaces}
    work = list(anchored)
    while work:
        for user in users[work.pop()]:
            if user in maybe and user not in anchored:
                anchored.add(user)
                work.append(user)
    return anchored


def _wanted(
    reads: list[Read], sources: dict[Register, _Source], maybe: set[Register]
) -> set[Register]:
    """The registers that are used as addresses, and those they derive from."""
    wanted: set[Register] = set()
    work: list[Register] = []
    for instruction, _ in reads:
        if instruction.root in ("txq", "suq"):  # [a] is an object there
            continue
        for operand in instruction.operands:
            if isinstance(operand, Address) and isinstance(operand.base, Register):
                work.append(operand.base)
        if instruction.root == "cvta":
            work += _registers(instruction.operands[1])
    while work:
        register = work.pop()
        if register in wanted or register not in sources:
            continue
        wanted.add(register)
        work += sources[register].copies
        work += _bases(sources[register], maybe) or []
    return wanted


def _spaces(
    sources: dict[Register, _Source],
    users: dict[Register, set[Register]],
    live: set[Register],
    params: Mapping[Declared, Space],
) -> dict[Register, set[Space]]:
    """The spaces of the addresses that each register may hold."""
    spaces: dict[Register, set[Space]] = {
        register: {
            *sources[register].spaces,
            *(params[param] for param, _ in sources[register].roots),
        }
        for register in live
    }
    work = list(live)
    while work:
        register = work.pop()
        for user in users[register]:
            if user in live and not spaces[register] <= spaces[user]:
                spaces[user] |= spaces[register]
                work.append(user)
    return spaces


def _floats(reads: list[Read]) -> dict[Register, DType]:
    """The registers of bits that hold floats alone, as compilers of today declare them."""
    types_by_register: dict[Register, set[DType]] = defaultdict(set)
    for instruction, match in reads:
        if instruction.root in ("mov", "selp", "ld", "shfl", "call") or not match.types:
            continue
        type_ = match.types[0] if instruction.root in ("cvt", "set") else match.type
        if instruction.root == "setp":
            continue
        for register in results_of(instruction, match):
            types_by_register[register].add(type_)
    return {
        register: next(iter(types))
        for register, types in types_by_register.items()
        if types in ({f32}, {f64})
        and register.type.is_integer
        and register.type.bits == next(iter(types)).bits
    }
