"""A function of a PTX module as IR: its graph, and its instructions by their forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from gridlane.core.dtypes import b1, u32
from gridlane.core.source import Loc
from gridlane.frontends.ptx import meetings, pointers
from gridlane.frontends.ptx.addresses import Place, Split
from gridlane.frontends.ptx.body import parse_body
from gridlane.frontends.ptx.calls import Calls
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.flow import Flow
from gridlane.frontends.ptx.forms.table import Match
from gridlane.frontends.ptx.instructions import Body, Instruction
from gridlane.frontends.ptx.module import PtxFunction
from gridlane.frontends.ptx.operands import Reg
from gridlane.frontends.ptx.parameters import Parameters
from gridlane.frontends.ptx.registers import registers
from gridlane.frontends.ptx.roots import Root
from gridlane.frontends.ptx.types import TYPES
from gridlane.frontends.ptx.values import Values
from gridlane.frontends.ptx.variables import Variables, Whole
from gridlane.ir.builder import Builder
from gridlane.ir.dominance import Dominators, dominators
from gridlane.ir.ops import control, graph, grid
from gridlane.ir.types import Space
from gridlane.ir.values import ErrorSite, Function, Param, Region, Value

_OF_GRIDS = (
    ", as code of cooperative groups does where the blocks of a grid wait for each other: on this "
    "device only a grid of one block can"
)


class Kernel(Whole, Protocol):
    """The translation of a kernel, with the functions that it calls; see translate.py."""

    root: Root

    def function(self, function: PtxFunction, spaces: Mapping[Declared, Space]) -> Function:
        """The IR function of a function, which is translated later."""
        ...

    def keeps_pointers(self, function: PtxFunction) -> bool:
        """Whether addresses that a function receives stay pointers."""
        ...

    def error(self, site: ErrorSite) -> int:
        """The number of an error in the module's table."""
        ...


class FunctionTranslation:
    """The translation of one function."""

    def __init__(self, whole: Kernel, root: Root, made: Function) -> None:
        function = root.function
        self.whole, self.module, self.function, self.made = whole, whole.module, function, made
        self.text = whole.module.text
        self.is_root = root is whole.root
        self.result = root.result
        self.body: Body = parse_body(self.module, function)
        self.flow = Flow(self.text, function, self.body)
        self.edges = self.flow.edges()
        if self.module.meets_as_grid and meetings.recognise(self.body, self.edges):
            self.edges = self.flow.edges()
        self.tree: Dominators = dominators(self.edges)
        self.reachable = self.tree.order
        reads = self.flow.reads(self.reachable)
        self.matches = self.flow.matches
        self.registers = registers(function, self.body, self.matches, self.edges, self.tree)
        types = self._types(reads, root)
        self.parameters = Parameters(
            function, types.pointers, self.flow.stored(reads, self.reachable), root.result
        )
        self.builder = Builder(whole.made, made)
        addressed = pointers.addressed(reads, function.params)
        self.variables = Variables(
            whole, self.body, function.name, addressed, root.result, is_root=self.is_root
        )
        self.values = Values(
            self.builder,
            self.text,
            self.variables,
            self.parameters,
            types.registers,
            self.registers.variables,
        )
        self.calls = Calls(self)
        self._whole_graph = graph.Graph(Region())
        self._next_label = len(self.body.blocks)

    def _types(self, reads: list[pointers.Read], root: Root) -> pointers.Types:
        """The types of the registers, by their uses."""
        return pointers.infer(
            reads,
            root.pointers,
            self.registers.handed,
            self.whole.numbering,
            self.whole.found,
            self.whole.root.variables,
            root.spaces,
            root.result,
        )

    def declare(self) -> None:
        """Give the IR function its parameters."""
        self.parameters.declare(self.made, self.text)
        if self.variables.frame is not None:
            self.made.params.append(Param(self.variables.frame, len(self.function.params)))

    def callee(self, function: PtxFunction, spaces: Mapping[Declared, Space]) -> Function:
        """The IR function of a function, which is translated later."""
        return self.whole.function(function, spaces)

    def keeps_pointers(self, function: PtxFunction) -> bool:
        """Whether addresses that a function receives stay pointers."""
        return self.whole.keeps_pointers(function)

    def error(self, site: ErrorSite) -> int:
        """The number of an error in the module's table."""
        return self.whole.error(site)

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
        block = graph.Block(label, Region(), loc=self.builder.loc)
        self._whole_graph.body.ops.append(block)
        self.builder.region = block.body

    def label(self) -> int:
        """A new label."""
        self._next_label += 1
        return self._next_label - 1

    def _place(self, instruction: Instruction) -> None:
        self.values.instruction = instruction
        source = self._source(instruction.line[:3]) if instruction.line else None
        if source is not None and len(instruction.line or ()) > 3:
            source = replace(source, caller=self._source((instruction.line or ())[3:]))
        self.builder.loc = source or self.text.loc(instruction.at, len(instruction.spelling))

    def _source(self, line: tuple[int, ...]) -> Loc | None:
        """The place of a file, line and column; None if it is not known."""
        file, number, column = line
        known = file in self.module.files and number
        return Loc(self.module.files[file], number, column) if known else None

    def _fall(self, number: int) -> None:
        """Go on to the next block, or end."""
        if number + 1 < len(self.body.blocks):
            self.builder.emit(graph.Branch(number + 1))
        else:
            self._return()

    def _first(self) -> Instruction:
        """The first instruction."""
        instructions = (each for block in self.body.blocks for each in block.instructions)
        return next(instructions, Instruction("ret", (), (), None, self.function.start, None))

    def _take_registers(self) -> None:
        """Write the parameters that are registers."""
        t = self.values
        for each in self.function.params:
            if each.space == "reg":
                t.write(Reg(self.body.named[each]), t.parameters.load(t, each, 0, TYPES[each.type]))

    def _return(self) -> None:
        t, returned = self.values, list[Value]()
        for each in self.function.results:
            if each.space == "reg":
                returned.append(t.read(Reg(self.body.named[each]), TYPES[each.type]))
            else:
                returned += self.parameters.results(t, each)
        if self.result is not None:
            returned += self.variables.bytes_of(t, self.result[1])
        self.builder.return_(tuple(returned))

    def _instruction(self, number: int, instruction: Instruction) -> bool:
        """Translate an instruction; whether the block goes on."""
        if instruction.root == "bra":
            return self._branch(number, instruction)
        if instruction.guard is None:
            return self._unguarded(instruction)
        if instruction.root == "st" and instruction.modifiers[0].startswith("param"):
            self.values.fail("arguments of calls under a guard are not translated")
        if instruction.root == "call":
            self.calls.guarded(instruction, self._condition(instruction.guard))
            return True
        inside, after = self.label(), self.label()
        self.builder.emit(graph.BranchIf(self._condition(instruction.guard), inside, after))
        self.open(inside)
        if self._unguarded(instruction):
            self.builder.emit(graph.Branch(after))
        self.open(after)
        return True

    def _condition(self, guard: Reg) -> Value:
        return self.values.read(guard, b1)

    def _branch(self, number: int, instruction: Instruction) -> bool:
        (target,) = self.flow.targets(instruction)
        if instruction.guard is None:
            self.builder.emit(graph.Branch(target))
            return False
        # A branch ends its block of the body.
        condition = self._condition(instruction.guard)
        if number + 1 < len(self.body.blocks):
            self.builder.emit(graph.BranchIf(condition, target, number + 1))
            return False
        after = self.label()
        self.builder.emit(graph.BranchIf(condition, target, after))
        self.open(after)
        return True

    def _unguarded(self, instruction: Instruction) -> bool:
        """Translate an instruction without its guard; whether the block goes on."""
        b = self.builder
        match instruction.root:
            case "ret":
                self._return()
            case "exit":
                b.emit(control.Return() if self.function.is_entry else control.Exit())
            case "trap":
                what = "the kernel has run into a trap"
                if self.module.meets_as_grid:
                    what += _OF_GRIDS
                b.emit(control.Raise(self.whole.error(ErrorSite("RuntimeError", what, b.loc))))
            case "brx":
                targets = self.flow.targets(instruction)
                index = self.values.read(instruction.operands[0], u32)
                b.emit(graph.Switch(index, tuple(targets), targets[-1]))
            case "call":
                self.calls.call(instruction)
                return True
            case _ if instruction.at in self.body.meetings:
                b.emit(grid.GridSync())
                return True
            case _:
                self._build(instruction)
                return True
        return False

    def _build(self, instruction: Instruction) -> None:
        """Translate an instruction by its form; in branches, where an address in it may be of
        several memories."""
        match, t = self.matches[instruction.at], self.values
        t.of_cluster = match.of_cluster
        ops = self.builder.region.ops
        before = len(ops)
        try:
            match.form.build(t, match, instruction.operands)
            return
        except Split as error:
            split = error
        del ops[before:]
        t.change(pointers.results_of(instruction, match))
        after = self.label()
        for place in split.places[:-1]:
            inside, other = self.label(), self.label()
            self.builder.emit(graph.BranchIf(t.is_of(split.operand, place), inside, other))
            self.open(inside)
            self._build_at(place, instruction, match)
            self.builder.emit(graph.Branch(after))
            self.open(other)
        self._build_at(split.places[-1], instruction, match)
        self.builder.emit(graph.Branch(after))
        self.open(after)

    def _build_at(self, place: Place, instruction: Instruction, match: Match) -> None:
        self.values.place = place
        try:
            match.form.build(self.values, match, instruction.operands)
        finally:
            self.values.place = None
