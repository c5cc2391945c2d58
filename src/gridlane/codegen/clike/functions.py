"""Library functions and their calls.

The text of such a function depends on the language and the options alone, so it is cached for the
next kernel, with the declarations that it needs. Compilers inline it, so ``rounding`` must keep
operations apart across calls as well: in the callee, floats enter and leave through their bits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gridlane.analysis.crossings import Crossings
from gridlane.codegen.clike.control import emit_region
from gridlane.codegen.clike.emission import Dialect, Emission, Functions, FunctionText, emits
from gridlane.codegen.clike.folding import folding_of
from gridlane.codegen.clike.memory import declare_variables
from gridlane.codegen.clike.rounding import hidden_parameter, hidden_result, hidden_zero
from gridlane.codegen.clike.types import require_types
from gridlane.core.options import KernelOptions
from gridlane.ir.ops import control
from gridlane.ir.types import PointerType
from gridlane.ir.values import Function, Module, Value

_KEPT: dict[tuple[object, ...], Functions] = {}


def kept_functions(
    dialect: type[Dialect], options: KernelOptions, module: Module | None = None
) -> Functions:
    """The cached library functions of a language. The key includes the options and the module's
    settings, as passes rewrite a function by these."""
    asked = (False, False, False)
    if module is not None:
        asked = module.gathers_loops, module.hides_bit_selects, module.hides_units
    return _KEPT.setdefault((dialect, options, *asked), {})


def forget() -> None:
    """Empty the cache, as in a new process."""
    _KEPT.clear()


@emits(control.Call)
def call(state: Emission, op: control.Call) -> None:
    """Emit a call of a library function; several results are returned in a struct."""
    declare(state, op.callee)
    # The text of a library function is for one buffer of memory.
    assert not any(isinstance(v.type, PointerType) and v.type.buffer for v in op.arguments)
    arguments = [hidden_zero(state, value) for value in op.arguments]
    call_text = f"{function_name(op.callee)}({', '.join(arguments)})"
    if len(op.results) > 1:
        whole = state.named(_result_type(state, op.results), call_text)
        for n, value in enumerate(op.results):
            state.set(value, f"{whole}.p{n}")
        return
    for value in op.results:
        state.give(value, call_text)


@emits(control.Return)
def leave(state: Emission, op: control.Return) -> None:
    """End the function, or the thread: the kernel has no results."""
    values = [hidden_result(state, value) for value in op.values]
    if len(values) > 1:
        values = [state.dialect.construct(_result_type(state, op.values), values)]
    state.line(f"return {values[0]};" if values else "return;")


def declare(state: Emission, name: str) -> None:
    """Add a library function to the declarations, after its callees."""
    if f"function {name}" in state.declarations:
        return
    if name not in state.functions:
        state.functions[name] = _written(state, state.module.functions[name])
    known = state.functions[name]
    state.declarations.update(known.declarations)
    for callee in known.callees:
        declare(state, callee)
    state.declarations[f"function {name}"] = known.text


def function_name(name: str) -> str:
    """A library function's name in the language.

    >>> function_name("gridlane.soft.to.f32")
    'f_soft_to_f32'
    """
    return "f_" + re.sub(r"[^A-Za-z0-9]+", "_", name.removeprefix("gridlane."))


def _written(state: Emission, function: Function) -> FunctionText:
    """The text of a function, which is independent of the kernel that it is first written for."""
    require_types(function, state.dialect)
    inner = Emission(state.dialect, state.module, state.options, None, functions=state.functions)
    inner.folding = folding_of(function, bool(state.dialect.precise))
    inner.crossings = Crossings(function.body)
    for param in function.params:
        inner.set(param.value, inner.fresh("x"))
    params = [(inner.type_of(p.value), inner.name(p.value)) for p in function.params]
    result = _result_type(inner, [Value(type_) for type_ in function.results])
    head = state.dialect.function(function_name(function.name), result, params)
    for param in function.params:
        inner.set(param.value, hidden_parameter(inner, param.value))
    declare_variables(inner, function.variables)
    emit_region(inner, function.body)
    assert inner.uses <= {"zero"} and not inner.prologue, f"{function.name} is of a kernel"
    calls = [op for op in function.body.walk() if isinstance(op, control.Call)]
    own = {n: text for n, text in inner.declarations.items() if not n.startswith("function ")}
    text = "\n".join((head, *state.dialect.opening(inner), *inner.lines, "}"))
    return FunctionText(text, own, tuple(dict.fromkeys(call.callee for call in calls)))


def _result_type(state: Emission, values: Sequence[Value]) -> str:
    """The type of a function's result."""
    if len(values) == 1:
        return state.type_of(values[0])
    return state.struct_name([value.type for value in values])
