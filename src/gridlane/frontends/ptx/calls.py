"""Calls: of functions of the module, by name or by address, and of functions of the language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from gridlane.core.dtypes import DType, u64
from gridlane.core.frozen import frozen
from gridlane.frontends.ptx.data import code_address
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.forms.functions import FUNCTIONS, MEETING
from gridlane.frontends.ptx.instructions import Instruction
from gridlane.frontends.ptx.module import PtxFunction, PtxModule
from gridlane.frontends.ptx.operands import Operand, Pair, Reg, Symbol, Tuple, Vector
from gridlane.frontends.ptx.parameters import Parameters
from gridlane.frontends.ptx.pieces import pieces
from gridlane.frontends.ptx.text import words_of
from gridlane.frontends.ptx.types import TYPES
from gridlane.frontends.ptx.values import BYTES, Values
from gridlane.frontends.ptx.variables import Variables
from gridlane.ir.ops import control, graph
from gridlane.ir.ops.arith import Eq
from gridlane.ir.types import PointerType, Space, pointer
from gridlane.ir.values import ErrorSite, Function, Value, Var

_RUNTIME: dict[str, str] = {
    **dict.fromkeys(
        ("cudaDeviceSynchronize", "__cudaCDP2DeviceSynchronize"),
        ": a kernel does not wait for kernels that it launches, and CUDA 12 has no such call; "
        "launch what comes after them into cudaStreamTailLaunch",
    ),
    **dict.fromkeys(
        (
            "cudaFuncGetAttributes",
            "__cudaCDP2FuncGetAttributes",
            "cudaDeviceGetAttribute",
            "__cudaCDP2DeviceGetAttribute",
            "cudaGetDevice",
            "__cudaCDP2GetDevice",
            "cudaGetDeviceCount",
            "__cudaCDP2GetDeviceCount",
            "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
            "cudaRuntimeGetVersion",
            "cudaMemcpy2DAsync",
            "__cudaCDP2Memcpy2DAsync",
            "cudaMemcpy3DAsync",
            "__cudaCDP2Memcpy3DAsync",
            "cudaMemset2DAsync",
            "__cudaCDP2Memset2DAsync",
        ),
        ": this function of the runtime is for the host here; pass what it says as an argument",
    ),
}
"""What is said of CUDA's own functions for the device that are not translated."""
_RUNTIME_PREFIX = "cuda", "__cudaCDP2"
_TAKEN = re.compile(r"\bmov\.[bu]64\s+[%\w$]+\s*,\s*([A-Za-z_$%][\w$]*)\s*;")


def is_of_language(name: str) -> bool:
    """Whether a function is CUDA's own, which no unit defines."""
    return name in FUNCTIONS or name in _RUNTIME


def _is_replaced(name: str) -> bool:
    """Whether a function is translated as CUDA's own although a unit defines it.

    The units of libcudadevrt.a define the runtime for kernels by calls into NVIDIA's driver.
    """
    return name == MEETING or (name.startswith(_RUNTIME_PREFIX) and is_of_language(name))


class Caller(Protocol):
    """The translation of the function that calls; see translate.py."""

    module: PtxModule
    function: PtxFunction
    parameters: Parameters
    values: Values
    variables: Variables

    def callee(self, function: PtxFunction, spaces: Mapping[Declared, Space]) -> Function:
        """The IR function of a function, which is translated later."""
        ...

    def keeps_pointers(self, function: PtxFunction) -> bool:
        """Whether addresses that a function receives stay pointers."""
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


@frozen
class _Joined:
    """A piece of a result of a call in a branch, and the variable that carries it out."""

    param: Declared
    at: int
    dtype: DType
    var: Var


class Calls:
    """The calls in a function.

    Attributes:
        made: the calls of functions of the module.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.made: list[control.Call] = []

    def call(self, instruction: Instruction) -> None:
        """Translate a call."""
        t, operands = self._caller.values, list(instruction.operands)
        results = _inside(operands)
        target = operands.pop(0) if operands else None
        arguments = _inside(operands)
        if isinstance(target, Reg):
            self._by_address(target, arguments, results)
            return
        if not isinstance(target, Symbol):
            t.fail("a function is called by its name or by its address in a register")
        callee = self._caller.module.functions.get(target.name)
        if not callee or not self._caller.module.sees(self._caller.function.name, target.name):
            t.fail(f"no function {target.name} is declared")
        if callee.is_entry:
            t.fail(f"{target.name} is a kernel")
        for operands_, wanted in ((arguments, callee.params), (results, callee.results)):
            if len(operands_) != len(wanted):
                t.fail(
                    f"{len(operands_)} arguments or results are given, not the {len(wanted)} of "
                    f"{target.name}"
                )
        if callee.has_body and not _is_replaced(target.name):
            self._emit(callee, arguments, results)
        elif target.name in FUNCTIONS:
            self._of_language(callee, arguments, results)
        else:
            hint = self._caller.module.hints.get(target.name, "")
            why = _RUNTIME.get(target.name, hint)
            t.fail(f"{target.name} is extern, and nothing defines it{why}")

    # --- operands

    def _argument(self, given: Operand, wanted: Declared) -> list[Value]:
        """The pieces of an argument: of a .param variable, a register or a constant."""
        t = self._caller.values
        param = _param(given)
        if param is not None:
            return self._caller.parameters.argument(t, param, wanted)
        if wanted.is_array or isinstance(given, Vector | Tuple | Pair):
            t.fail(f"{wanted.name} has {wanted.size} bytes: pass a .param variable")
        return [t.read(given, TYPES[wanted.type])]

    def _returned(self, taken: Operand, wanted: Declared, values: list[Value]) -> None:
        """Keep what a call returned, in a .param variable or a register."""
        t = self._caller.values
        param = _param(taken)
        if param is not None:
            self._caller.parameters.returned(param, wanted, values)
        elif wanted.is_array:
            t.fail(f"{wanted.name} has {wanted.size} bytes: take it in a .param variable")
        else:
            t.write(taken, values[0])

    def _emit(
        self, callee: PtxFunction, given: Sequence[Operand], taken: Sequence[Operand]
    ) -> None:
        """Call a function of the module."""
        t = self._caller.values
        keeps, spaces, arguments = self._caller.keeps_pointers(callee), dict[Declared, Space](), []
        for operand, wanted in zip(given, callee.params, strict=True):
            values = self._argument(operand, wanted)
            for value, (_, dtype) in zip(values, pieces(wanted), strict=True):
                if keeps and isinstance(value.type, PointerType) and not wanted.is_array:
                    spaces[wanted] = value.type.space
                    arguments.append(t.b.recast(value, pointer(BYTES, value.type.space)))
                else:
                    arguments.append(t.as_type(value, dtype))
        function = self._caller.callee(callee, spaces)
        if self._caller.variables.whole.numbering.frames:
            arguments.append(self._caller.variables.next_frame(t.b))
        op = control.Call(function.name, tuple(arguments), function.results)
        t.b.emit(op)
        self.made.append(op)
        values = list(op.results)
        for operand, wanted in zip(taken, callee.results, strict=True):
            count = len(pieces(wanted))
            self._returned(operand, wanted, values[:count])
            del values[:count]

    def _of_language(
        self, callee: PtxFunction, given: Sequence[Operand], taken: Sequence[Operand]
    ) -> None:
        """Call a function that CUDA defines, as vprintf. It gets a value for each piece of an
        argument, addresses as pointers where they are known, and returns one for each result."""
        t = self._caller.values
        arguments = [
            value
            for operand, wanted in zip(given, callee.params, strict=True)
            for value in self._argument(operand, wanted)
        ]
        values = FUNCTIONS[callee.name](t, arguments)
        if len(values) != len(taken):
            t.fail(f"{callee.name} returns {len(values)} values, and is declared with {len(taken)}")
        for operand, wanted, value in zip(taken, callee.results, values, strict=True):
            ((_, dtype),) = pieces(wanted)
            self._returned(operand, wanted, [t.as_type(value, dtype)])

    # --- calls in branches

    def _joined(self, taken: Sequence[Operand]) -> list[_Joined]:
        """A variable for each piece of the .param variables that a call in a branch writes."""
        b = self._caller.values.b
        results = [
            _Joined(param, at, dtype, b.variable("returned", dtype))
            for param in map(_param, taken)
            if param is not None
            for at, dtype in pieces(param)
        ]
        for each in results:
            b.write(each.var, b.zero(each.dtype))
        return results

    def _leave(self, joined: list[_Joined], after: int) -> None:
        """Go on behind the branches."""
        t, parameters = self._caller.values, self._caller.parameters
        for each in joined:
            value = parameters.load(t, each.param, each.at, each.dtype)
            t.b.write(each.var, t.as_type(value, each.dtype))
        t.b.emit(graph.Branch(after))

    def _join(self, joined: list[_Joined], after: int) -> None:
        """Begin the block behind the branches."""
        self._caller.open(after)
        for each in joined:
            self._caller.parameters.keep(each.param, each.at, self._caller.values.b.read(each.var))

    def guarded(self, instruction: Instruction, condition: Value) -> None:
        """Translate a call under a guard."""
        caller = self._caller
        joined = self._joined(_inside(list(instruction.operands)))
        inside, after = caller.label(), caller.label()
        caller.values.b.emit(graph.BranchIf(condition, inside, after))
        caller.open(inside)
        self.call(instruction)
        self._leave(joined, after)
        self._join(joined, after)

    def _by_address(self, target: Reg, given: Sequence[Operand], taken: Sequence[Operand]) -> None:
        """One branch for each function that the address may be of."""
        caller, t = self._caller, self._caller.values
        address = t.read(target, u64)
        after = caller.label()
        joined = self._joined(taken)
        for callee in self._taken():
            if not (_fits(given, callee.params) and _fits(taken, callee.results)):
                continue
            inside, other = caller.label(), caller.label()
            number = code_address(caller.module, callee.name)
            assert number is not None
            same = t.b.binary(Eq, address, t.b.const(number, u64))
            t.b.emit(graph.BranchIf(same, inside, other))
            caller.open(inside)
            self._emit(callee, given, taken)
            self._leave(joined, after)
            caller.open(other)
        message = "the address of a call is of no function with such parameters and results"
        t.b.emit(control.Raise(caller.error(ErrorSite("RuntimeError", message, t.b.loc))))
        self._join(joined, after)

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


def _param(operand: Operand) -> Declared | None:
    """The .param variable of an argument or result; None of a register or a constant."""
    variable = operand.variable if isinstance(operand, Symbol) else None
    return variable if variable is not None and variable.space == "param" else None


def _fits(operands: Sequence[Operand], wanted: Sequence[Declared]) -> bool:
    """Whether operands have the sizes of parameters or results."""
    return len(operands) == len(wanted) and all(
        (size := _size(operand)) is None or size == each.size or (each.is_open and size < each.size)
        for operand, each in zip(operands, wanted, strict=True)
    )


def _size(operand: Operand) -> int | None:
    """The bytes of an argument or result; None of a constant, which fits any."""
    param = _param(operand)
    if param is not None:
        return param.size
    return operand.register.type.size if isinstance(operand, Reg) else None
