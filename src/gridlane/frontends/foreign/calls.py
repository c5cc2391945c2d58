"""Functions of CUDA C++ and PTX that kernels in Python call, by numba's calling conventions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gridlane.core.dtypes import DType, b1, i32, u8
from gridlane.core.dtypes import by_name as dtype_of
from gridlane.core.errors import CompileError, TypingError, UnsupportedError
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.external_function import Foreign, find, translate_foreign
from gridlane.frontends.ptx.module import PtxFunction, PtxModule
from gridlane.frontends.ptx.pieces import Piece, pieces
from gridlane.frontends.python.abi import Layout, handed, layout_of, result_operand
from gridlane.frontends.python.conversion import cast_to
from gridlane.frontends.python.device_function import ForeignFunction
from gridlane.frontends.python.operands import Operand
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unit import Unit
from gridlane.ir.builder import Builder
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Module, Value

_FAILED = "{name}() returned a status that is not 0: it reports that it failed"


def call_foreign(
    t: Translator, foreign: ForeignFunction, arguments: list[Operand], keywords: dict[str, Operand]
) -> Operand:
    """Call a foreign function, which is translated for the memory that its pointers point to."""
    operands = _converted(t, foreign, arguments, keywords)
    links = foreign.links or t.unit.links
    if not links:
        raise t.fail(
            TypingError,
            f"{foreign.name}() is declared, and nothing defines it: give the code as link= of "
            "declare_device, or of the kernel's jit",
        )
    module = t.unit.foreign.get(links) or foreign.load(links)
    t.unit.foreign[links] = module  # one module for all calls: its shared memory is one
    result = foreign.signature.return_type
    assert result is not None  # as declare_device demands
    function, layout = find(module, foreign.name), layout_of(result)
    values = [value for each in operands for value in handed(t, each)]
    params = _checked(t, foreign, function, layout, values)
    first = len(function.params) - len(params)
    spaces = {
        first + n: _space(t, foreign, value)
        for n, value in enumerate(values)
        if isinstance(value.type, PointerType)
    }
    translation = _translated(t.unit, module, foreign, spaces, layout)
    _check_shared(t, foreign, translation.module)
    given = [
        _argument(t.b, value, param, target.value.type)
        for value, param, target in zip(values, params, translation.function.params, strict=True)
    ]
    results = t.b.call(translation.function, tuple(given))
    returned, stored = results[: len(translation.results)], results[len(translation.results) :]
    if foreign.abi == "c":
        scalars = _scalars(t.b, layout, translation.results, returned)
    else:
        _check_status(t, foreign, returned[0])
        scalars = _scalars(t.b, layout, translation.stored, stored)
    return result_operand(result, scalars)


def _converted(
    t: Translator, foreign: ForeignFunction, arguments: list[Operand], keywords: dict[str, Operand]
) -> list[Operand]:
    wanted = foreign.signature.args
    if keywords or len(arguments) != len(wanted):
        given = ", ".join(each.type_name for each in arguments)
        raise t.fail(
            TypingError,
            f"{foreign.name}() is declared as {foreign.signature}, and is called with "
            f"({given}){' and keywords' if keywords else ''}",
        )
    return [cast_to(t, item, kind) for item, kind in zip(arguments, wanted, strict=True)]


# ---- the declaration against the definition


def _checked(
    t: Translator,
    foreign: ForeignFunction,
    function: PtxFunction,
    layout: Layout,
    values: list[Value],
) -> tuple[Declared, ...]:
    """The parameters behind the result's address, which fit the arguments.

    Raises:
        TypingError: the function is defined otherwise than it is declared.
    """
    problem = _problem_of_result(foreign, function, layout)
    if problem:
        raise _otherwise(t, foreign, function, problem)
    params = function.params[1:] if foreign.abi == "numba" else function.params
    if len(params) != len(values):
        problem = f"it takes {len(values)} scalars, and {len(params)} are parameters"
        raise _otherwise(t, foreign, function, problem)
    for n, (value, param) in enumerate(zip(values, params, strict=True), 1):
        size = value.type.size
        kind = None if param.type[0] in "bus" or param.is_array else param.type[0] == "f"
        wrong = isinstance(value.type, DType) and kind is not None and value.type.is_float != kind
        if wrong or not _fits(size, param.size, param):
            problem = f"parameter {n} is {value.type}, and {param.name} is .{param.type}"
            problem += f" of {param.size} bytes" if size != param.size else ""
            raise _otherwise(t, foreign, function, problem)
        if len(pieces(param)) > 1:
            problem = (
                f"parameter {n} is {value.type}, and {param.name} is a struct of smaller members"
            )
            raise _otherwise(t, foreign, function, problem)
    return params


def _problem_of_result(foreign: ForeignFunction, function: PtxFunction, layout: Layout) -> str:
    """How a result is defined otherwise than it is declared; "" if it is not."""
    params, results = function.params, function.results
    sizes = [each.size for each in results]
    if foreign.abi == "numba":
        if sizes == [4] and params and params[0].size == 8:
            return ""
        return (
            "by numba's convention it returns an int, and its first parameter is the address "
            "of the result; abi='c' declares a plain function of C"
        )
    if layout.size and (len(sizes) != 1 or not _fits(layout.size, sizes[0], results[0])):
        return f"its result has {layout.size} bytes, and {sum(sizes)} are returned"
    if layout.size and results[0].is_array and results[0].align < layout.align:
        return (
            f"its result has an alignment of {layout.align}, and a struct with one of "
            f"{results[0].align} is returned"
        )
    return ""


def _fits(size: int, have: int, param: Declared) -> bool:
    """Whether a scalar or value of a size is passed as a parameter: compilers widen small ones."""
    return size == have or (size < 4 == have and not param.is_array)


def _otherwise(
    t: Translator, foreign: ForeignFunction, function: PtxFunction, message: str
) -> CompileError:
    params = ", ".join(f".{each.type}" for each in function.params)
    results = ", ".join(f".{each.type}" for each in function.results)
    return t.fail(
        TypingError,
        f"{foreign.name}() is declared as {foreign.signature} (abi={foreign.abi!r}), and defined "
        f"as ({results}) {foreign.name}({params}) in PTX: {message}",
    )


def _space(t: Translator, foreign: ForeignFunction, value: Value) -> Space:
    assert isinstance(value.type, PointerType)
    space = value.type.space
    if space in (Space.GENERIC, Space.CONSTANT):
        message = "constant memory" if space is Space.CONSTANT else "one of several memories"
        raise t.fail(
            TypingError,
            f"{foreign.name}() takes no address of {message}: pass an array of global, shared or "
            "local memory",
        )
    return space


# ---- values


def _argument(b: Builder, value: Value, param: Declared, wanted: Any) -> Value:
    """A value as the IR's parameter."""
    if isinstance(value.type, PointerType):
        if isinstance(wanted, PointerType):
            return b.recast(value, wanted)
        value = b.value(memory.Address(value))
    assert isinstance(value.type, DType) and isinstance(wanted, DType)
    if value.type is b1:
        value = b.cast(value, u8)
    if value.type.size < wanted.size:  # widened by its sign
        value = b.cast(_bits(b, value), dtype_of("i32" if _is_signed(value) else "u32"))
    return _as(b, value, wanted)


def _is_signed(value: Value) -> bool:
    return isinstance(value.type, DType) and value.type.is_signed and value.type.is_integer


def _bits(b: Builder, value: Value) -> Value:
    """A float as the integer of its bits; an integer as it is."""
    assert isinstance(value.type, DType)
    if value.type.is_integer:
        return value
    return b.bitcast(value, dtype_of(f"u{value.type.bits}"))


def _as(b: Builder, value: Value, wanted: DType) -> Value:
    """The bits of a scalar as another type of its width."""
    have = value.type
    assert isinstance(have, DType)
    if have.is_integer and wanted.is_integer:
        return b.cast(value, wanted)
    return b.bitcast(value, wanted)


def _scalars(
    b: Builder, layout: Layout, parts: tuple[Piece, ...], values: tuple[Value, ...]
) -> Iterator[Value]:
    """The scalars of a result from its pieces. A piece has the alignment of the whole, so each
    scalar is in one."""
    for offset, dtype in layout.scalars:
        number = max(n for n, (start, _) in enumerate(parts) if start <= offset)
        whole = _bits(b, values[number])
        kind = whole.type
        assert isinstance(kind, DType)
        shift = 8 * (offset - parts[number][0])
        if shift:
            kind = dtype_of(f"u{kind.bits}")
            whole = b.binary(arith.Shr, b.cast(whole, kind), b.const(shift, dtype_of("u32")))
        if dtype.is_bool:
            yield b.cast(b.cast(whole, u8), b1)
            continue
        yield _as(b, b.cast(whole, dtype_of(f"u{dtype.bits}")), dtype)


def _check_status(t: Translator, foreign: ForeignFunction, status: Value) -> None:
    """End the thread where the function reports that it failed."""
    message = _FAILED.format(name=foreign.name)
    failed = t.b.binary(arith.Ne, t.b.cast(status, i32), t.b.const(0, i32))
    with t.b.if_(failed):
        t.b.emit(control.Raise(t.unit.error_code("RuntimeError", message, t.b.loc)))


def _check_shared(t: Translator, foreign: ForeignFunction, module: Module) -> None:
    """Refuse ``extern __shared__``, which begins where the arrays of a kernel begin that take parts
    of that memory."""
    functions = module.functions.values()
    if t.unit.counts_shared and any(
        isinstance(op, memory.DynamicShared) for each in functions for op in each.body.walk()
    ):
        raise t.fail(
            UnsupportedError,
            f"{foreign.name}() has extern __shared__ memory. The kernel's shared arrays whose "
            "shapes it learns when it runs are in the same place; pass one to the function",
        )


# ---- its IR in the module of the kernel


def _translated(
    unit: Unit,
    module: PtxModule,
    foreign: ForeignFunction,
    spaces: dict[int, Space],
    layout: Layout,
) -> Foreign:
    key = id(module), foreign.name, foreign.abi, layout, tuple(sorted(spaces.items()))
    translated = unit.foreign.get(key)
    if translated is None:
        result = (layout.size, layout.align) if foreign.abi == "numba" else None
        translation = translate_foreign(module, foreign.name, spaces, result)
        _add(unit, module, translation.module)
        # The module stays alive, so that no other one gets its id.
        translated = unit.foreign[key] = translation, module
    return translated[0]


def _add(unit: Unit, source: PtxModule, module: Module) -> None:
    """Add functions and shared memory under names that are free."""
    functions = {name: unit.function_name(name) for name in module.functions}
    symbols: dict[str, str] = {}
    for name, item in module.globals.items():
        key = id(source), name
        known = unit.foreign_globals.get(key)
        if known is None:
            known = unit.add_global(
                name, item.element, item.count, item.space, item.align, item.data
            )
            unit.foreign_globals[key] = known
        there = unit.module.globals[known]
        there.count = max(there.count, item.count)  # a segment has the variables of its functions
        symbols[name] = known
    for name, function in module.functions.items():
        function.name = functions[name]
        unit.module.functions[function.name] = function
        for op in function.body.walk():
            if isinstance(op, control.Call):
                op.callee = functions[op.callee]
            elif isinstance(op, memory.GlobalAddress):
                op.symbol = symbols[op.symbol]
            elif isinstance(op, control.Raise):
                site = module.errors[op.code]
                op.code = unit.error_code(site.exception, site.message, site.loc, site.detail)
    if module.stack is not None:
        unit.module.stack = module.stack
