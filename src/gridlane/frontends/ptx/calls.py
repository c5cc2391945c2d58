"""Calls: of functions of the module, by name or by address, and of functions of the language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from gridlane.core.dtypes import u64
from gridlane.frontends.ptx.body import Instruction
from gridlane.frontends.ptx.data import code_address
from gridlane.frontends.ptx.forms.functions import FUNCTIONS
from gridlane.frontends.ptx.module import Declared, PtxFunction, PtxModule
from gridlane.frontends.ptx.operands import Operand, Reg, Symbol, Tuple
from gridlane.frontends.ptx.parameters import Parameters, pieces
from gridlane.frontends.ptx.text import words_of
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops import control, graph
from gridlane.ir.ops.arith import Eq
from gridlane.ir.values import ErrorSite, Function

_TAKEN = re.compile(r"\bmov\.[bu]64\s+[%\w$]+\s*,\s*([A-Za-z_$%][\w$]*)\s*;")


class Caller(Protocol):
    """The translation of the function that calls; see translate.py."""

    module: PtxModule
    function: PtxFunction
    parameters: Parameters
    values: Values

    def callee(self, function: PtxFunction) -> Function:
        """The IR function of a function, which is translated later."""
        ...

    def error(self, site: ErrorSite) -> int:
        """The number of an error in the module's table."""
        ...

    def label(self) -> int:
        """A new label."""
        ...

    def open(self, label: int) -> None:
        """Continue in a new block."""
        ...


class Calls:
    """The calls in a function.

    Attributes:
        made: the calls of functions of the module.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.made: list[control.Call] = []

    def call(self, made: Instruction) -> None:
        """Translate a call."""
        t, operands = self._caller.values, list(made.operands)
        results = _inside(operands)
        target = operands.pop(0) if operands else None
        arguments = _inside(operands)
        if isinstance(target, Reg):
            self._by_address(target, self._params(arguments), self._params(results))
            return
        if not isinstance(target, Symbol):
            t.fail("a function is called by its name or by its address in a register")
        callee = self._caller.module.functions.get(target.name)
        if callee is None:
            t.fail(f"no function {target.name} is declared")
        if callee.is_entry:
            t.fail(f"{target.name} is a kernel")
        given, taken = self._params(arguments), self._params(results)
        for operands_, wanted in ((given, callee.params), (taken, callee.results)):
            if len(operands_) != len(wanted):
                t.fail(
                    f"{len(operands_)} arguments or results are given, not the {len(wanted)} of "
                    f"{target.name}"
                )
        if callee.has_body:
            self._emit(callee, given, taken)
        elif target.name in FUNCTIONS:
            self._of_language(callee, given, taken)
        else:
            t.fail(f"{target.name} is extern, and nothing defines it")

    def _params(self, operands: Sequence[Operand]) -> list[Declared]:
        """The .param variables of a call."""
        made: list[Declared] = []
        for operand in operands:
            variable = operand.variable if isinstance(operand, Symbol) else None
            if variable is None or variable.space != "param":
                self._caller.values.fail("arguments and results of calls are .param variables")
            made.append(variable)
        return made

    def _emit(
        self, callee: PtxFunction, given: Sequence[Declared], taken: Sequence[Declared]
    ) -> None:
        """Call a function of the module."""
        t, parameters = self._caller.values, self._caller.parameters
        arguments = [
            t.as_type(value, dtype)
            for operand, wanted in zip(given, callee.params, strict=True)
            for value, (_, dtype) in zip(
                parameters.argument(t, operand, wanted), pieces(wanted), strict=True
            )
        ]
        function = self._caller.callee(callee)
        op = control.Call(function.name, tuple(arguments), function.results)
        t.b.emit(op)
        self.made.append(op)
        values = list(op.results)
        for operand, wanted in zip(taken, callee.results, strict=True):
            count = len(pieces(wanted))
            parameters.returned(operand, wanted, values[:count])
            del values[:count]

    def _of_language(
        self, callee: PtxFunction, given: Sequence[Declared], taken: Sequence[Declared]
    ) -> None:
        """Call a function that CUDA defines, as vprintf. It gets a value for each piece of an
        argument, addresses as pointers where they are known, and returns one for each result."""
        t, parameters = self._caller.values, self._caller.parameters
        arguments = [
            value
            for operand, wanted in zip(given, callee.params, strict=True)
            for value in parameters.argument(t, operand, wanted)
        ]
        values = FUNCTIONS[callee.name](t, arguments)
        if len(values) != len(taken):
            t.fail(f"{callee.name} returns {len(values)} values, and is declared with {len(taken)}")
        for operand, wanted, value in zip(taken, callee.results, values, strict=True):
            ((_, dtype),) = pieces(wanted)
            parameters.returned(operand, wanted, [t.as_type(value, dtype)])

    # --- by address

    def _by_address(self, target: Reg, given: list[Declared], taken: list[Declared]) -> None:
        """One branch for each function that the address may be of."""
        caller, t = self._caller, self._caller.values
        sizes = [each.size for each in given], [each.size for each in taken]
        address = t.read(target, u64)
        after = caller.label()
        joined = [
            (each, at, dtype, t.b.variable("returned", dtype))
            for each in taken
            for at, dtype in pieces(each)
        ]
        for callee in self._taken():
            have = [each.size for each in callee.params], [each.size for each in callee.results]
            if have != sizes:
                continue
            inside, other = caller.label(), caller.label()
            number = code_address(caller.module, callee.name)
            assert number is not None
            same = t.b.binary(Eq, address, t.b.const(number, u64))
            t.b.emit(graph.BranchIf(same, inside, other))
            caller.open(inside)
            self._emit(callee, given, taken)
            for each, at, dtype, var in joined:
                t.b.write(var, t.as_type(caller.parameters.load(t, each, at, dtype), dtype))
            t.b.emit(graph.Branch(after))
            caller.open(other)
        told = "the address of a call is of no function with such parameters and results"
        t.b.emit(control.Raise(caller.error(ErrorSite("RuntimeError", told, t.b.loc))))
        caller.open(after)
        for each, at, _, var in joined:
            caller.parameters.keep(each, at, t.b.read(var))

    def _taken(self) -> list[PtxFunction]:
        """The functions whose address the module's text takes."""
        module = self._caller.module
        names = set(_TAKEN.findall(module.text.code))
        for variable in module.variables.values():
            for word in words_of(variable.value):
                names.update(re.findall(r"[A-Za-z_$%][\w$]*", word))
        return [
            each
            for each in module.functions.values()
            if each.name in names and not each.is_entry and each.has_body
        ]


def _inside(operands: list[Operand]) -> tuple[Operand, ...]:
    """Take the operands in parentheses that a call's operands begin with, if they do."""
    first = operands[0] if operands else None
    if not isinstance(first, Tuple):
        return ()
    del operands[0]
    return first.parts
