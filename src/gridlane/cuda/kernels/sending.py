"""Kernels for other processes: their source, types and options."""

from __future__ import annotations

from typing import Any

from gridlane.core.options import KernelOptions
from gridlane.frontends.python.function_text import (
    FunctionText,
    fill,
    function_of,
    read_of,
    text_of,
)

_Values = tuple[tuple[Any, ...] | None, dict[str, Any] | None]


def parts_of(kernel: Any) -> tuple[Any, ...]:
    """A kernel in the form of ``__reduce__``. What it reads comes behind it, as functions may call
    themselves and each other."""
    function = kernel._source_func
    options = dict(kernel.targetoptions)
    if kernel._links:
        options["link"] = list(kernel._links)  # their text, and no name of a file
    defaults = function.__defaults__, function.__kwdefaults__
    made = (
        type(kernel),
        text_of(function),
        defaults,
        kernel.options,
        options,
        kernel.is_device_function,
    )
    types = None if kernel._can_compile else list(kernel.overloads)
    state = read_of(function), types, kernel._specialized, kernel.device_signatures
    return kernel_of, made, state, None, None, fill_kernel


def kernel_of(
    cls: Any,
    text: FunctionText,
    defaults: _Values,
    options: KernelOptions,
    targetoptions: dict[str, Any],
    device: bool,
) -> Any:
    """The kernel of a text, which reads nothing until ``fill_kernel``."""
    return cls(function_of(text, *defaults), options, targetoptions, device)


def fill_kernel(kernel: Any, state: tuple[Any, ...]) -> None:
    """Assign what the kernel reads, and its types; it compiles at its first launch."""
    values, types, is_specialized, signatures = state
    fill(kernel.py_func, values)
    kernel.device_signatures = signatures
    if types is not None:
        for each in types:
            kernel._add(each)
        kernel.disable_compile()
    kernel._specialized = is_specialized
