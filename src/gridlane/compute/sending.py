"""Functions of loops for other processes: their source, types and options."""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.core.frozen import frozen
from gridlane.frontends.python.function_text import FunctionText, fill, function_of, text_of


@frozen
class _Module:
    """The part of a module that loops read."""

    name: str
    values: dict[str, Any]


def parts_of(compute: Any) -> tuple[Any, ...]:
    """A function of loops in the form of ``__reduce__``. Names outside of it are what they were
    when it was read."""
    function = compute.function
    if not isinstance(function, FunctionType):
        raise ArgumentError(f"{function!r} is no function of `def`")
    builtins = compute._builtins
    outside = {
        name: _Module(value.__name__, _public(value)) if isinstance(value, ModuleType) else value
        for name, value in compute._outside.items()
        if name not in builtins
    }
    known = compute.metadata
    options = (
        compute.device, compute.workgroup, compute.fastmath, compute.hints, known.launch_bounds,
        known.max_registers, known.shared_bytes, compute.compile_target,
    )  # fmt: skip
    return compute_of, (
        type(compute),
        text_of(function),
        _types(compute),
        outside,
        options,
        compute._schedule,
    )


def _public(module: ModuleType) -> dict[str, Any]:
    return {name: each for name, each in vars(module).items() if not name.startswith("__")}


def _types(compute: Any) -> dict[str, Any]:
    """The types of the arguments, as annotations."""
    nest = compute._text
    types: dict[str, Any] = {**nest.scalars, **nest.tensors}
    for name in nest.weak:
        types[name] = int if nest.scalars[name].is_integer else float
    return types


def compute_of(
    cls: Any,
    text: FunctionText,
    types: dict[str, Any],
    outside: dict[str, Any],
    options: tuple[Any, ...],
    schedule: Any,
) -> Any:
    """The function of a text."""
    function = function_of(text, annotations=types)
    fill(function, {name: _value(each) for name, each in outside.items()})
    device, workgroup, fastmath, hints, bounds, registers, shared, target = options
    made = cls(
        function, None, device, workgroup, fastmath, hints, bounds, registers, shared, target
    )
    made._schedule = schedule
    return made


def _value(given: Any) -> Any:
    if not isinstance(given, _Module):
        return given
    module = ModuleType(given.name)
    vars(module).update(given.values)
    return module
