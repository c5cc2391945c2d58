"""A kernel of a PTX module, with the functions that it calls, as IR at stage ``cfg``."""

from __future__ import annotations

from typing import NoReturn

from gridlane.core.dtypes import b1, u32
from gridlane.core.source import Loc
from gridlane.frontends.ptx import forms, pointers
from gridlane.frontends.ptx.body import Body, Instruction, parse_body
from gridlane.frontends.ptx.forms.table import FORMS, Match
from gridlane.frontends.ptx.libdevice import KNOWN
from gridlane.frontends.ptx.module import Declared, PtxFunction, PtxModule
from gridlane.frontends.ptx.operands import Operand, Reg, Register, Symbol, Tuple
from gridlane.frontends.ptx.parameters import Parameters, pieces
from gridlane.frontends.ptx.values import WRITTEN, Values
from gridlane.frontends.ptx.variables import Variables
from gridlane.ir.builder import Builder
from gridlane.ir.dominance import Dominators, dominators
from gridlane.ir.ops import control, graph
from gridlane.ir.values import ErrorSite, Function, Module, Region, Value

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
    return _Translation(module, entry).run()


class _Translation:
    """The functions of a kernel.

    Attributes:
        calls: the functions that each function calls.
    """

    def __init__(self, module: PtxModule, entry: PtxFunction) -> None:
        self.module, self.entry = module, entry
        self.made = Module()
        self.calls: dict[str, list[str]] = {}
        self.names: dict[Declared, str] = {}
        """The names of variables in the IR's module."""
        self._waiting: list[PtxFunction] = []
        self._parts: dict[str, _FunctionTranslation] = {}

    def run(self) -> Module:
        """Translate the kernel, then what it calls."""
        self.function(self.entry)
        while self._waiting:
            self._parts[self._waiting.pop().name].run()
        self._refuse_cycles()
        self._refuse_unknown_writes()
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

    def error(self, site: ErrorSite) -> int:
        """The number of an error in the module's table."""
        self.made.errors.append(site)
        return len(self.made.errors) - 1

    def _refuse_unknown_writes(self) -> None:
        """Variables of global memory are constant data: no write may reach them unnoticed."""
        parts = self._parts.values()
        leaks = [part.values.leak for part in parts if part.values.leak >= 0]
        if not leaks or not any(part.variables.uses_globals for part in parts):
            return
        if any(part.values.writes_anywhere for part in parts):
            self.module.text.fail(
                "the address of a variable of the module becomes one of any memory here, and the "
                f"kernel writes at such addresses; {WRITTEN} are not translated yet",
                leaks[0],
            )

    def _refuse_cycles(self) -> None:
        done: set[str] = set()
        stack = [(self.entry.name, iter(self.calls.get(self.entry.name, ())))]
        path = [self.entry.name]
        while stack:
            name, following = stack[-1]
            for callee in following:
                if callee in path:
                    self.module.text.fail(
                        f"{callee} calls itself, by {' and '.join(path[path.index(callee) :])}: "
                        "recursion is not translated yet",
                        self.module.functions[callee].at,
                    )
                if callee not in done:
                    stack.append((callee, iter(self.calls.get(callee, ()))))
                    path.append(callee)
                    break
            else:
                done.add(name)
                stack.pop()
                path.pop()


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
        types = pointers.infer(reads, function.is_entry)
        self.parameters = Parameters(function, types.pointers)
        self.builder = Builder(whole.made, made)
        variables = Variables(self.module, whole.made, whole.names, self.body, function.name)
        mutable = self._mutable(reads)
        self.values = Values(
            self.builder, self.text, variables, self.parameters, types.registers, mutable
        )
        self.variables = variables
        self._next_label = len(self.body.blocks)

    def declare(self) -> None:
        """Give the IR function its parameters."""
        self.parameters.declare(self.made, self.text)

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
            if len(made.operands) != 1 or not isinstance(made.operands[0], Symbol):
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
        found = forms.find(made.root, made.modifiers, len(made.operands))
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

    def _mutable(self, reads: list[tuple[Instruction, Match]]) -> set[Register]:
        """The registers that are variables: written twice or under a guard, or read where their one
        definition may not have been."""
        where: dict[Register, tuple[int, int]] = {}
        mutable: set[Register] = set()
        place: dict[int, tuple[int, int]] = {}
        for number in self.reachable:
            for index, each in enumerate(self.body.blocks[number].instructions):
                place[each.at] = number, index
        for each, match in reads:
            for register in pointers.results_of(each, match):
                if register in where or each.guard is not None:
                    mutable.add(register)
                where[register] = place[each.at]
        for each, match in self._uses(reads):
            number, index = place[each.at]
            for register in match:
                defined = where.get(register)
                if defined is None or register in mutable:
                    continue
                inside = defined[0] == number
                if (inside and defined[1] >= index) or not self.tree.dominates(defined[0], number):
                    mutable.add(register)
        return mutable

    def _uses(
        self, reads: list[tuple[Instruction, Match]]
    ) -> list[tuple[Instruction, list[Register]]]:
        made = [(each, pointers.sources_of(each, match)) for each, match in reads]
        for number in self.reachable:
            for each in self.body.blocks[number].instructions:
                if each.root in _CONTROL:
                    used = [o.register for o in each.operands if isinstance(o, Reg)]
                    if each.guard is not None:
                        used.append(each.guard.register)
                    made.append((each, used))
        return made

    # --- translation

    def run(self) -> None:
        """Translate the body."""
        b = self.builder
        whole = graph.Graph(Region())
        b.emit(whole)
        for number in self.reachable:
            block = self.body.blocks[number]
            self._open(whole, number)
            self.parameters.begin_block()
            if number == 0:
                self.variables.begin(b)
            for each in block.instructions:
                self._place(each)
                if not self._instruction(whole, number, each):
                    break
            else:
                self._fall(number)

    def _open(self, whole: graph.Graph, label: int) -> None:
        """Continue in a new block."""
        made = graph.Block(label, Region(), loc=self.builder.loc)
        whole.body.ops.append(made)
        self.builder.region = made.body

    def _label(self) -> int:
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

    def _return(self) -> None:
        results = self.parameters.results(self.values) if self.function.results else ()
        self.builder.return_(results)

    def _instruction(self, whole: graph.Graph, number: int, made: Instruction) -> bool:
        """Translate an instruction; whether the block goes on."""
        if made.root == "bra":
            return self._branch(whole, number, made)
        if made.guard is None:
            return self._unguarded(made)
        if made.root == "call" or (made.root == "st" and made.modifiers[0].startswith("param")):
            self.values.fail("calls and their arguments under a guard are not translated")
        inside, after = self._label(), self._label()
        self.builder.emit(graph.BranchIf(self._condition(made.guard), inside, after))
        self._open(whole, inside)
        if self._unguarded(made):
            self.builder.emit(graph.Branch(after))
        self._open(whole, after)
        return True

    def _condition(self, guard: Reg) -> Value:
        return self.values.read(guard, b1)

    def _branch(self, whole: graph.Graph, number: int, made: Instruction) -> bool:
        (target,) = self.targets(made)
        if made.guard is None:
            self.builder.emit(graph.Branch(target))
            return False
        # A branch ends its block of the body.
        condition = self._condition(made.guard)
        if number + 1 < len(self.body.blocks):
            self.builder.emit(graph.BranchIf(condition, target, number + 1))
            return False
        after = self._label()
        self.builder.emit(graph.BranchIf(condition, target, after))
        self._open(whole, after)
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
                self._call(made)
                return True
            case _:
                found = self.matches[made.at]
                found.form.build(self.values, found, made.operands)
                return True
        return False

    def _call(self, made: Instruction) -> None:
        t, operands = self.values, list(made.operands)
        results = _inside(operands)
        target = operands.pop(0) if operands else None
        if isinstance(target, Reg):
            t.fail("calls of a function whose address is in a register are not translated yet")
        if not isinstance(target, Symbol):
            t.fail("a function is called by its name")
        callee = self.module.functions.get(target.name)
        if callee is None:
            t.fail(f"no function {target.name} is declared")
        if not callee.has_body and callee.name in KNOWN:
            self._known(callee, _inside(operands), results)
            return
        if callee.is_entry or not callee.has_body:
            said = "is a kernel" if callee.is_entry else "is extern, and nothing defines it"
            t.fail(f"{target.name} {said}")
        given = _inside(operands)
        arguments: list[Value] = []
        for operand, wanted in zip(self._params(given, callee.params), callee.params, strict=True):
            arguments += self.parameters.argument(t, operand, wanted)
        function = self.whole.function(callee)
        self.whole.calls.setdefault(self.function.name, []).append(callee.name)
        values = list(self.builder.call(function, tuple(arguments)))
        for operand, wanted in zip(
            self._params(results, callee.results), callee.results, strict=True
        ):
            count = len(pieces(wanted))
            self.parameters.returned(operand, wanted, values[:count])
            del values[:count]

    def _known(
        self, callee: PtxFunction, given: tuple[Operand, ...], results: tuple[Operand, ...]
    ) -> None:
        """A call of a function that is one of the IR's."""
        t, known = self.values, KNOWN[callee.name]
        sizes = [each.size for each in (*callee.params, *callee.results)]
        if sizes != [each.size for each in (*known.params, known.result)]:
            wanted = ", ".join(map(str, known.params))
            t.fail(f"{callee.name} takes {wanted} and returns {known.result}; it is declared else")
        arguments: list[Value] = []
        for operand, param in zip(self._params(given, callee.params), callee.params, strict=True):
            arguments += self.parameters.argument(t, operand, param)
        typed = [t.as_type(*each) for each in zip(arguments, known.params, strict=True)]
        made = known.build(t.b, *typed)
        (target,) = self._params(results, callee.results)
        self.parameters.returned(target, callee.results[0], [made])

    def _params(
        self, operands: tuple[Operand, ...], wanted: tuple[Declared, ...]
    ) -> list[Declared]:
        """The .param variables of a call."""
        if len(operands) != len(wanted):
            self.values.fail(f"{len(operands)} arguments or results are given, not {len(wanted)}")
        made: list[Declared] = []
        for operand in operands:
            variable = operand.variable if isinstance(operand, Symbol) else None
            if variable is None or variable.space != "param":
                self.values.fail("arguments and results of calls are .param variables")
            made.append(variable)
        return made


def _inside(operands: list[Operand]) -> tuple[Operand, ...]:
    """Take the operands in parentheses that a call's operands begin with, if they do."""
    first = operands[0] if operands else None
    if not isinstance(first, Tuple):
        return ()
    del operands[0]
    return first.parts
