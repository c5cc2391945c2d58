"""``cuda.jit``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gridlane.core.argtypes import none
from gridlane.core.config import config
from gridlane.core.errors import UnsupportedError
from gridlane.core.options import FP64, KernelOptions
from gridlane.cuda import warnings as cuda_warnings
from gridlane.cuda.dispatcher import Dispatcher
from gridlane.cuda.signatures import is_signature, parse

# Options of numba.cuda.jit that change nothing here, with the reason.
ACCEPTED = {
    "inline": "the compiler inlines device functions as it sees fit",
    "forceinline": "as inline",
    "cache": "compiled kernels are cached on disk in any case",
    "shared_memory_carveout": "the device has no such split",
    "lto": "a kernel is compiled in one piece in any case",
    "nopython": "there is no other mode",
    "nogil": "kernels run without Python in any case",
    "abi": "device functions are inlined",
}
_MOVED = ("argtypes", "restype", "bind")
_CARVEOUTS = ("default", "maxl1", "maxshared")


def jit(func_or_sig: Any = None, device: bool = False, **options: Any) -> Any:
    """Make a kernel, or with ``device=True`` a device function, of a Python function.

    Args:
        func_or_sig: the function; or a signature, or a list of signatures, to compile at once and
            no others after that: ``"void(float32[:], int32)"``, ``void(float32[:], int32)``,
            ``(float32[:], int32)``.
        device: a function that kernels call.
        fastmath: every freedom with floating-point operations.
        debug: bounds checks, and exceptions of the kernel reach the host.
        opt: False for unoptimised code.
        launch_bounds: the most threads of a block; after it, for a GPU, how many blocks a
            multiprocessor shall hold.
        max_registers: on a GPU, the most registers of a thread.
        fp64: how to compute float64 on a device that has none: ``emulate`` in pairs of float32,
            ``exact`` by integers, ``narrow`` in float32, ``refuse``; GRIDLANE_FP64 by default.
        lineinfo: on a GPU, machine code for profilers that says each instruction's line.
        extensions: objects whose ``prepare_args(type, value, stream=, retr=)`` converts arguments.

    ``ACCEPTED`` lists options of numba that change nothing here.
    """
    make = _maker(device, options)
    if func_or_sig is None:
        return make
    if isinstance(func_or_sig, list) or is_signature(func_or_sig):
        many = isinstance(func_or_sig, list)
        signatures = func_or_sig if many else [func_or_sig]
        return lambda function: _compiled(make(function), signatures, specialized=not many)
    if not callable(func_or_sig):
        raise TypeError(f"cuda.jit takes a function or signatures, got {func_or_sig!r}")
    return make(func_or_sig)


def _maker(device: bool, options: dict[str, Any]) -> Callable[[Any], Dispatcher]:
    """Check options once; the rest needs the function."""
    _refuse(device, options)
    debug = bool(options.get("debug"))
    opt = options.get("opt")
    opt = not debug if opt is None and debug else opt is None or bool(opt)
    if debug and options.get("opt"):
        _warn("debug=True with opt=True is not supported by CUDA; set debug=False or opt=False.")
    if debug and options.get("lineinfo"):
        _warn("debug and lineinfo are mutually exclusive; debug has the lines as well.")
    compile_options = KernelOptions(
        fastmath=bool(options.get("fastmath")),
        fma=bool(options.get("fma", True)),
        debug=debug,
        opt=opt,
        lineinfo=bool(options.get("lineinfo")),
        max_registers=options.get("max_registers"),
        launch_bounds=_bounds(options.get("launch_bounds")),
        fp64=options.get("fp64") or config().fp64,
    )

    def make(function: Any) -> Dispatcher:
        if isinstance(function, Dispatcher):
            function = function.py_func
        return Dispatcher(function, compile_options, dict(options, device=device), device)

    return make


def _bounds(bounds: Any) -> tuple[int, ...]:
    """Launch bounds as a tuple."""
    if bounds is None:
        return ()
    return tuple(map(int, bounds)) if isinstance(bounds, (tuple, list)) else (int(bounds),)


def _compiled(dispatcher: Dispatcher, signatures: list[Any], specialized: bool) -> Dispatcher:
    parsed = [parse(signature) for signature in signatures]
    if dispatcher.is_device_function:
        # The frontend leaves a void result open.
        dispatcher.device_signatures = tuple(
            replace(s, return_type=none) if s.return_type is None else s for s in parsed
        )
        return dispatcher
    for signature in parsed:
        if signature.return_type not in (None, none):
            raise TypeError("CUDA kernel must have void return type.")
        dispatcher.compile(signature)
    dispatcher._specialized = specialized
    dispatcher.disable_compile()
    return dispatcher


def _warn(message: str) -> None:
    warnings.warn(cuda_warnings.NumbaInvalidConfigWarning(message), stacklevel=4)


def _refuse(device: bool, options: dict[str, Any]) -> None:
    """Raise for options that ask for what is not here."""
    if options.get("boundscheck"):
        raise NotImplementedError(
            "bounds checking is not supported for CUDA by this option; debug=True checks bounds"
        )
    for name in _MOVED:
        if options.get(name) is not None:
            raise cuda_warnings.DeprecationError(
                f"Deprecated keyword argument `{name}`. Signatures should be passed as the first "
                "positional argument."
            )
    if options.get("link"):
        if device:
            raise ValueError("link keyword invalid for device function")
        raise UnsupportedError(
            "link=...: kernels cannot be linked with PTX, CUDA C++ or libraries; write the "
            "function in Python with @cuda.jit(device=True)"
        )
    bounds = options.get("launch_bounds")
    if isinstance(bounds, (tuple, list)) and len(bounds) > 3:
        raise ValueError(f"Got {len(bounds)} launch bounds: {bounds}. A maximum of three is used")
    _check_carveout(options.get("shared_memory_carveout"))
    known = {"fastmath", "fma", "debug", "opt", "launch_bounds", "link", "extensions"}
    if options.get("fp64") not in (None, *FP64):
        raise ValueError(f"fp64={options['fp64']!r}: one of {', '.join(FP64)}")
    known |= {"lineinfo", "max_registers", "fp64"}
    known |= {"boundscheck", "func", *_MOVED, *ACCEPTED}
    for name in options:
        if name not in known:
            raise TypeError(f"cuda.jit has no option {name!r}")


def _check_carveout(carveout: Any) -> None:
    if carveout is None:
        return
    if isinstance(carveout, str):
        if carveout.lower() not in _CARVEOUTS:
            raise ValueError(
                f"Invalid carveout value: {carveout}. Must be -1 to 100 or one of {_CARVEOUTS}"
            )
    elif not isinstance(carveout, int):
        raise TypeError(f"shared_memory_carveout must be str or int, got {carveout!r}")
    elif not -1 <= carveout <= 100:
        raise ValueError("Carveout must be between -1 and 100")
