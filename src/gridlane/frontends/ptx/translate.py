"""A kernel of a PTX module, with the functions that it calls, as IR at stage ``cfg``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NoReturn

from gridlane.core.config import config
from gridlane.core.dtypes import b1, u32
from gridlane.core.errors import PtxError
from gridlane.core.source import Loc
from gridlane.frontends.ptx import forms, pointers
from gridlane.frontends.ptx.addresses import Numbering, Place, Split
from gridlane.frontends.ptx.body import Body, Instruction, parse_body
from gridlane.frontends.ptx.calls import Calls
from gridlane.frontends.ptx.data import ModuleData
from gridlane.frontends.ptx.forms.table import FORMS, Match
from gridlane.frontends.ptx.module import Declared, PtxFunction, PtxModule
from gridlane.frontends.ptx.operands import Reg, Special, Symbol, Tuple
from gridlane.frontends.ptx.parameters import Parameters
from gridlane.frontends.ptx.registers import registers
from gridlane.frontends.ptx.types import TYPES, unsigned
from gridlane.frontends.ptx.values import Values
from gridlane.frontends.ptx.variables import SEGMENT, Segments, Variables
from gridlane.ir.builder import Builder
from gridlane.ir.dominance import Dominators, dominators
from gridlane.ir.ops import control, graph, memory
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import ErrorSite, Function, Global, Module, Param, Region, Value
from gridlane.passes.structure.recursion import cycles_of

FURTHER = "data", "heap", "gridid"
"""What a kernel gets behind its own arguments, each under its number there: the module's memory,
that of malloc, and the number of the launch."""

_CLUSTER = re.compile(r"^mapa|^getctarank|^barrier\.cluster|::cluster")
_CONTROL = {
    "bra": ((), ("uni",)),
    "brx": (("idx",), ("idx", "uni")),
    "ret": ((), ("uni",)),
    "exit": ((),),
    "trap": ((),),
    "call": ((), ("uni",)),
}
"""Instructions of control flow, with their modifiers."""


def translate(module: PtxModule, name: str) -> Module:
    """The IR of a kernel, at stage ``cfg``.

    Raises:
        PtxError: the kernel, or a function that it reaches, is malformed or is not translated.
    """
    entry = module.functions.get(name)
    if entry is None or not entry.is_entry or not entry.has_body:
        known = ", ".join(module.entries) or "none"
        module.text.fail(f"there is no kernel {name} here; the kernels are: {known}", 0)
    numbering = Numbering(set(), set())
    while True:
        whole = _Translation(module, entry, numbering)
        try:
            made = whole.run()
        except PtxError:
            if whole.is_settled:
                raise
        else:
            if whole.is_settled:
                return made
        numbering = whole.found


class _Translation:
    """The functions of a kernel.

    Attributes:
        numbering: the spaces whose addresses are numbers in this attempt.
        found: those of which addresses become numbers, and more.
    """

    def __init__(self, module: PtxModule, entry: PtxFunction, numbering: Numbering) -> None:
        self.module, self.entry, self.numbering = module, entry, numbering
        self.made = Module()
        self.data = ModuleData(module)
        self.found = replace(
            numbering,
            spaces=set(numbering.spaces),
            places=set(numbering.places),
            cycles=set(numbering.cycles),
        )
        self.segments = Segments(config().stack if numbering.frames else 0)
        self._waiting: list[PtxFunction] = []
        self._parts: dict[str, _FunctionTranslation] = {}

    @property
    def is_settled(self) -> bool:
        """Whether another attempt would be the same."""
        known, found = self.numbering, self.found
        same = found.spaces == known.spaces and (not found.spaces or found.places == known.places)
        same = same and (found.asks, found.size) == (known.asks, known.size)
        return same and found.cycles == known.cycles and found.frames == known.frames

    def run(self) -> Module:
        """Translate the kernel, then what it calls."""
        self.function(self.entry)
        while self._waiting:
            self._parts[self._waiting.pop().name].run()
        self._find_cycles()
        self._pass_on()
        if Space.SHARED in self.numbering.spaces:
            words = 4 * self.segments.words(Place.SHARED)
            self.made.globals[SEGMENT] = Global(SEGMENT, u32, words, Space.SHARED, 16, None)
        if self.found.asks:
            self.found.size = _end(self.made.globals.values())
        return self.made

    def function(self, function: PtxFunction) -> Function:
        """The IR function of a function, which is translated later."""
        found = self.made.functions.get(function.name)
        if found is not None:
            return found
        loc = self.module.text.loc(function.at)
        made = Function(function.name, is_kernel=function is self.entry, loc=loc)
        self.made.functions[function.name] = made
        self._parts[function.name] = part = _FunctionTranslation(self, function, made)
        part.declare()
        self._waiting.append(function)
        return made

    def addressed_parameters(self) -> Sequence[Declared]:
        """The parameters of the kernel whose address is taken."""
        return self._parts[self.entry.name].variables.addressed

    def error(self, site: ErrorSite) -> int:
        """The number of an error in the module's table."""
        self.made.errors.append(site)
        return len(self.made.errors) - 1

    def _find_cycles(self) -> None:
        """Note the functions that call themselves. All addresses of shared and local memory are
        numbers then, which a stack can hold."""
        for names in cycles_of({name: self._callees(name) for name in self._parts}):
            self.found.cycles |= names
            self.found.spaces |= {Space.SHARED, Space.LOCAL}
            self.found.frames |= any(self._parts[name].variables.has_locals for name in names)

    def _callees(self, name: str) -> list[str]:
        return [call.callee for call in self._parts[name].calls.made]

    def _pass_on(self) -> None:
        """Give the kernel the parameters of FURTHER that it uses, and local memory whose addresses
        are numbers; and hand them on to the functions that use them."""
        for kind in (*FURTHER, "depot"):
            users = {name for name, part in self._parts.items() if getattr(part.variables, kind)}
            waiting = list(users)
            while waiting:
                callee = waiting.pop()
                for name in self._parts:
                    if name not in users and callee in self._callees(name):
                        users.add(name)
                        waiting.append(name)
            for name, part in self._parts.items():
                for call in part.calls.made:
                    if call.callee in users:
                        call.arguments = (*call.arguments, part.variables.handed(kind))
                if name in users:
                    self._receive(part, kind)

    def _receive(self, part: _FunctionTranslation, kind: str) -> None:
        value, made = part.variables.handed(kind), part.made
        if kind in FURTHER or not made.is_kernel:
            number = FURTHER.index(kind) if kind in FURTHER else len(FURTHER)
            made.params.append(Param(value, len(part.function.params) + number, ()))
            return
        array = memory.LocalArray(unsigned(64), 2 * self.segments.words(Place.LOCAL), loc=made.loc)
        assert isinstance(value.type, PointerType)
        start = memory.Recast(array.result, value.type, loc=made.loc)
        start.results, value.op = (value,), start
        (whole,) = made.body.ops
        assert isinstance(whole, graph.Graph)
        (first, *_) = whole.body.ops
        assert isinstance(first, graph.Block)
        first.body.ops[:0] = [array, start]


def _end(variables: Iterable[Global]) -> int:
    """Where the last variable of shared memory ends, if they lie one after the other."""
    end = 0
    for each in variables:
        if each.space is Space.SHARED:
            end = -(-end // each.align) * each.align + each.size
    return end


class _FunctionTranslation:
    def __init__(self, whole: _Translation, function: PtxFunction, made: Function) -> None:
        self.whole, self.module, self.function, self.made = whole, whole.module, function, made
        self.text = whole.module.text
        self.body: Body = parse_body(self.module, function)
        self.edges = self._edges()
        self.tree: Dominators = dominators(self.edges)
        self.reachable = self.tree.order
        self.matches: dict[int, Match] = {}
        reads = [
            (each, self._match(each))
            for number in self.reachable
            for each in self.body.blocks[number].instructions
            if each.root not in _CONTROL
        ]
        params = function.params if function.is_entry else ()
        self.registers = registers(function, self.body, self.matches, self.edges, self.tree)
        handed = self.registers.handed
        types = pointers.infer(reads, params, handed, whole.numbering, whole.found)
        self.parameters = Parameters(function, types.pointers, self._stored(reads))
        self.builder = Builder(whole.made, made)
        addressed = pointers.addressed(reads, function.params)
        self.variables = Variables(
            whole, self.body, function.name, addressed, is_entry=function.is_entry
        )
        self.values = Values(
            *(self.builder, self.text, self.variables, self.parameters, types.registers),
            self.registers.variables,
        )
        self.calls = Calls(self)
        self._whole_graph = graph.Graph(Region())
        self._next_label = len(self.body.blocks)

    def declare(self) -> None:
        """Give the IR function its parameters."""
        self.parameters.declare(self.made, self.text)
        if self.variables.frame is not None:
            self.made.params.append(Param(self.variables.frame, len(self.function.params)))

    def callee(self, function: PtxFunction) -> Function:
        """The IR function of a function, which is translated later."""
        return self.whole.function(function)

    def error(self, site: ErrorSite) -> int:
        """The number of an error in the module's table."""
        return self.whole.error(site)

    # --- the graph

    def _edges(self) -> list[list[int]]:
        """The successors of each block."""
        made: list[list[int]] = []
        for block in self.body.blocks:
            following: list[int] = []
            falls = True
            for each in block.instructions:
                if each.root not in _CONTROL:
                    continue
                if each.modifiers not in _CONTROL[each.root]:
                    self._unknown(each)
                if each.root in ("bra", "brx"):
                    following += self.targets(each)
                if each.root != "call" and each.guard is None:
                    falls = False
            if falls and block.number + 1 < len(self.body.blocks):  # else the function ends
                following.append(block.number + 1)
            made.append(list(dict.fromkeys(following)))
        return made

    def targets(self, made: Instruction) -> list[int]:
        """The blocks that a branch goes to."""
        names: tuple[str, ...]
        if made.root == "bra":
            if len(made.operands) != 1 or not isinstance(made.operands[0], Symbol | Special):
                self.text.fail("bra takes a label", made.at, 3)
            names = (made.operands[0].name,)
        else:
            table = made.operands[1] if len(made.operands) == 2 else None
            if not isinstance(table, Symbol) or table.name not in self.body.tables:
                self.text.fail("brx.idx takes an index and a .branchtargets list", made.at, 7)
            names = self.body.tables[table.name]
        found: list[int] = []
        for name in names:
            number = self.body.target(made, name)
            if number is None:
                self.text.fail(f"no label {name[:60]} in {self.function.name}", made.at, 3)
            found.append(number)
        return found

    def _match(self, made: Instruction) -> Match:
        modifiers = made.modifiers
        if _CLUSTER.search(made.spelling):
            if self.module.has_clusters:
                told = "clusters of more blocks than one are not translated"
                self.text.fail(told, made.at, len(made.spelling))
            # The shared memory of a cluster of one block is the block's.
            modifiers = tuple(each.replace("::cluster", "::cta") for each in modifiers)
        found = forms.find(made.root, modifiers, len(made.operands))
        if found is None:
            self._unknown(made)
        self.matches[made.at] = found
        return found

    def _unknown(self, made: Instruction) -> NoReturn:
        known = FORMS.get(made.root)
        count = len(made.operands)
        if known is None and made.root not in _CONTROL:
            told = f"{made.root} is not translated"
        else:
            told = f"the form {made.spelling} with {count} operands is not translated"
        self.text.fail(told, made.at, len(made.spelling))

    def _stored(self, reads: list[tuple[Instruction, Match]]) -> dict[Declared, list[range]]:
        """The bytes of parameters that instructions and calls write."""
        made = pointers.stored(reads)
        for number in self.reachable:
            for each in self.body.blocks[number].instructions:
                if each.root == "call" and each.operands and isinstance(each.operands[0], Tuple):
                    for part in each.operands[0].parts:
                        if isinstance(part, Symbol) and part.variable is not None:
                            made[part.variable].append(range(part.variable.size))
        return made

    # --- translation

    def run(self) -> None:
        """Translate the body."""
        self.builder.emit(self._whole_graph)
        for number in self.reachable:
            block = self.body.blocks[number]
            self.open(number)
            self.parameters.begin_block()
            if number == 0:
                self._place(self._first())
                self.variables.begin(self.values)
                self.values.begin(self.registers.unwritten)
                self._take_registers()
            for each in block.instructions:
                self._place(each)
                if not self._instruction(number, each):
                    break
            else:
                self._fall(number)

    def open(self, label: int) -> None:
        """Continue in a new block."""
        made = graph.Block(label, Region(), loc=self.builder.loc)
        self._whole_graph.body.ops.append(made)
        self.builder.region = made.body

    def label(self) -> int:
        """A new label."""
        self._next_label += 1
        return self._next_label - 1

    def _place(self, made: Instruction) -> None:
        self.values.instruction = made
        line = made.line
        if line is not None and line[0] in self.module.files and line[1]:
            self.builder.loc = Loc(self.module.files[line[0]], line[1], line[2])
        else:
            self.builder.loc = self.text.loc(made.at, len(made.spelling))

    def _fall(self, number: int) -> None:
        """Go on to the next block, or end."""
        if number + 1 < len(self.body.blocks):
            self.builder.emit(graph.Branch(number + 1))
        else:
            self._return()

    def _first(self) -> Instruction:
        """The first instruction."""
        found = (each for block in self.body.blocks for each in block.instructions)
        return next(found, Instruction("ret", (), (), None, self.function.start, None))

    def _take_registers(self) -> None:
        """Write the parameters that are registers."""
        t = self.values
        for each in self.function.params:
            if each.space == "reg":
                t.write(Reg(self.body.named[each]), t.parameters.load(t, each, 0, TYPES[each.type]))

    def _return(self) -> None:
        t, made = self.values, list[Value]()
        for each in self.function.results:
            if each.space == "reg":
                made.append(t.read(Reg(self.body.named[each]), TYPES[each.type]))
            else:
                made += self.parameters.results(t, each)
        self.builder.return_(tuple(made))

    def _instruction(self, number: int, made: Instruction) -> bool:
        """Translate an instruction; whether the block goes on."""
        if made.root == "bra":
            return self._branch(number, made)
        if made.guard is None:
            return self._unguarded(made)
        if made.root == "st" and made.modifiers[0].startswith("param"):
            self.values.fail("arguments of calls under a guard are not translated")
        if made.root == "call":
            self.calls.guarded(made, self._condition(made.guard))
            return True
        inside, after = self.label(), self.label()
        self.builder.emit(graph.BranchIf(self._condition(made.guard), inside, after))
        self.open(inside)
        if self._unguarded(made):
            self.builder.emit(graph.Branch(after))
        self.open(after)
        return True

    def _condition(self, guard: Reg) -> Value:
        return self.values.read(guard, b1)

    def _branch(self, number: int, made: Instruction) -> bool:
        (target,) = self.targets(made)
        if made.guard is None:
            self.builder.emit(graph.Branch(target))
            return False
        # A branch ends its block of the body.
        condition = self._condition(made.guard)
        if number + 1 < len(self.body.blocks):
            self.builder.emit(graph.BranchIf(condition, target, number + 1))
            return False
        after = self.label()
        self.builder.emit(graph.BranchIf(condition, target, after))
        self.open(after)
        return True

    def _unguarded(self, made: Instruction) -> bool:
        """Translate an instruction without its guard; whether the block goes on."""
        b = self.builder
        match made.root:
            case "ret":
                self._return()
            case "exit":
                b.emit(control.Return() if self.function.is_entry else control.Exit())
            case "trap":
                site = ErrorSite("RuntimeError", "the kernel has run into a trap", b.loc)
                b.emit(control.Raise(self.whole.error(site)))
            case "brx":
                targets = self.targets(made)
                index = self.values.read(made.operands[0], u32)
                b.emit(graph.Switch(index, tuple(targets), targets[-1]))
            case "call":
                self.calls.call(made)
                return True
            case _:
                self._build(made)
                return True
        return False

    def _build(self, made: Instruction) -> None:
        """Translate an instruction by its form; in branches, where an address in it may be of
        several memories."""
        found, t = self.matches[made.at], self.values
        ops = self.builder.region.ops
        before = len(ops)
        try:
            found.form.build(t, found, made.operands)
            return
        except Split as error:
            split = error
        del ops[before:]
        t.change(pointers.results_of(made, found))
        after = self.label()
        for place in split.places[:-1]:
            inside, other = self.label(), self.label()
            self.builder.emit(graph.BranchIf(t.is_of(split.operand, place), inside, other))
            self.open(inside)
            self._build_at(place, made, found)
            self.builder.emit(graph.Branch(after))
            self.open(other)
        self._build_at(split.places[-1], made, found)
        self.builder.emit(graph.Branch(after))
        self.open(after)

    def _build_at(self, place: Place, made: Instruction, found: Match) -> None:
        self.values.place = place
        try:
            found.form.build(self.values, found, made.operands)
        finally:
            self.values.place = None
