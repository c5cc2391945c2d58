"""Kernels as operators of JAX, by XLA's interface for foreign functions, without a copy.

XLA calls one handler with the addresses of its arrays, and with the number of an operator; the
handler calls the operator's function with numpy's arrays over this memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from gridlane.core.errors import MissingError
from gridlane.cuda.interop import jax_abi
from gridlane.launch import current

_TARGET = "gridlane_launch"
_ATTRIBUTE = "operator"

Launch = Callable[..., object]
"""Launches kernels: it is called with the arguments, and then the results to write."""

_launches: dict[int, tuple[Launch, str]] = {}
"""The functions of operators and their devices; compiled programs know these numbers, so none is
removed."""
_numbers = itertools.count(1)


def operator(
    launch: Launch,
    result: Any,
    *,
    vmap_method: str = "sequential",
    aliases: Mapping[int, int] | None = None,
) -> Callable[..., Any]:
    """A function of JAX arrays that launches kernels on their memory, for JAX's CPU platform.

    Make it once, at the top level of a module: what it needs is kept as long as the process lives.

    Args:
        launch: called with a numpy array for each argument and then for each result, in C order,
            over JAX's own memory. Arguments are read-only. The memory is JAX's again when it
            returns, so it keeps no array. XLA calls it on threads of its own; the device there is
            the one in use where the operator is made. One that is not the host's copies the arrays
            there and back.
        result: shape and dtype of the result, a ``jax.ShapeDtypeStruct`` or several, or a function
            of the arguments that returns that.
        vmap_method: as ``jax.ffi.ffi_call``'s: ``sequential`` launches for each element of the
            batch; ``expand_dims`` and ``broadcast_all`` launch once, with one more axis in front.
        aliases: results that have the memory of arguments, as ``{argument: result}``, for kernels
            that work in place. JAX copies an argument that is used elsewhere.

    Raises:
        MissingError: JAX is not installed, or too old.

    An exception of ``launch`` becomes an error of JAX's with its class and text. Element types that
    kernels lack are refused.
    """
    ffi = _registered()
    number = next(_numbers)
    _launches[number] = launch, current.name()
    options: dict[str, Any] = {"vmap_method": vmap_method}
    if aliases:
        options["input_output_aliases"] = dict(aliases)

    def call(*arguments: Any) -> Any:
        """Launch on JAX's arrays."""
        results = result(*arguments) if callable(result) else result
        target = ffi.ffi_call(_TARGET, results, **options)
        return target(*arguments, **{_ATTRIBUTE: np.int64(number)})

    call.__name__ = call.__qualname__ = getattr(launch, "__name__", "operator")
    call.__doc__ = launch.__doc__
    return call


@cache
def _registered() -> Any:
    """JAX's module of foreign functions, with the handler registered."""
    try:
        ffi = import_module("jax.ffi")
    except ImportError as error:
        raise MissingError(
            f"operators of JAX need jax.ffi, of JAX 0.5 or newer ({error}): pip install -U jax"
        ) from error
    ffi.register_ffi_target(_TARGET, ffi.pycapsule(_handler), platform="cpu", api_version=1)
    return ffi


def _handle(pointer: Any) -> Any:
    """Serve a call of XLA's; returns an error of XLA's or None."""
    frame = pointer[0]
    if jax_abi.answered_metadata(frame):
        return None
    try:
        if frame.stage != jax_abi.EXECUTE:
            return None
        launch, device = _launches[jax_abi.number(frame.attributes, _ATTRIBUTE.encode())]
        arguments = jax_abi.arrays(frame.arguments, writable=False)
        with current.Using(device):
            launch(*arguments, *jax_abi.arrays(frame.results, writable=True))
    except BaseException as error:  # any of the user's: XLA knows no Python
        wrong = isinstance(error, (TypeError, ValueError))
        code = jax_abi.INVALID_ARGUMENT if wrong else jax_abi.INTERNAL
        return jax_abi.error(frame, code, f"{type(error).__name__}: {error}")
    return None


_handler = jax_abi.HANDLER(_handle)
"""It lives as long as the process: XLA has its address."""
