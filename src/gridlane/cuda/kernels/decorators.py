"""The decorator ``cuda.jit``."""

# pyright: reportPrivateUsage=false
# What kernels hide is hidden from users, not from this room.

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType, MethodType
from typing import Any, Unpack, overload

from gridlane.core.argtypes import none
from gridlane.core.config import config
from gridlane.core.options import KernelOptions
from gridlane.cuda.host import settings
from gridlane.cuda.host import warnings as cuda_warnings
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.kernels.jit_options import JitOptions, check_options, launch_bounds_of
from gridlane.cuda.kernels.signatures import SignatureLike, is_signature, parse
from gridlane.cuda.kernels.sources import with_text

Maker = Callable[[Callable[..., Any]], Dispatcher]


@overload
def jit(
    func_or_sig: SignatureLike | list[Any] | None = None,
    device: bool = False,
    **options: Unpack[JitOptions],
) -> Maker: ...
@overload
def jit(
    func_or_sig: Callable[..., Any], device: bool = False, **options: Unpack[JitOptions]
) -> Dispatcher: ...
def jit(func_or_sig: Any = None, device: bool = False, **options: Any) -> Any:
    """Compile a Python function as a kernel or, with ``device=True``, as a device function.

    Args:
        func_or_sig: the function; or a signature, or a list of signatures, to compile at once and
            exclusively: ``"void(float32[:], int32)"``, ``void(float32[:], int32)``, ``(float32[:],
            int32)``.
        device: a function that kernels call.
        fastmath: every freedom with floating-point operations.
        finite: False where NaN and infinity keep their meaning under ``fastmath``, as under nvcc's
            ``--use_fast_math``.
        integral: ``math.floor``, ``ceil`` and ``trunc`` of float32 give an int32, of float64 an
            int64, as in numba-cuda-mlir; floats otherwise, as in numba.cuda.
        runtime_shared: shared arrays whose shape is known at run time only are parts of the dynamic
            shared memory, as in numba-cuda-mlir; refused otherwise.
        apart: what the kernel writes by one array is memory of no other array that it is called
            with. The compiler relies on it, and nothing checks it.
        debug: bounds checks, and exceptions of the kernel reach the host.
        opt: False for unoptimised code.
        launch_bounds: the largest number of threads of a block; then, for a GPU, the number of
            blocks that a multiprocessor should hold.
        max_registers: on a GPU, the largest number of registers of a thread.
        fp64: how to compute float64 on a device that has none: ``emulate`` in pairs of float32,
            ``exact`` by integers, ``narrow`` in float32, ``refuse``; GRIDLANE_FP64 by default.
        floats: the type of Python floats, ``float64`` or ``float32``: of literals, and of integers
            converted to floats (docs/types-and-values.md); GRIDLANE_FLOATS by default. A device
            function without the option follows its caller.
        lineinfo: on a GPU, machine code with each instruction's line, for profilers.
        chip: the processor, as ``sm_90``, that ``current_target_options()`` shows to ``consteval``.
        source: the function's text, where Python has no file of it: of code from exec or from a
            ``.pyc`` alone. It may be that of a whole module; its code must be the function's.
        link: code of CUDA C++ or PTX, which defines what ``cuda.declare_device`` declares without
            any: files, ``cuda.CUSource``, ``cuda.PTXSource``, or several of these.
        extensions: objects whose ``prepare_args(type, value, stream=, retr=)`` converts arguments.

    ``jit_options.ACCEPTED`` lists numba's options that have no effect here.
    """
    make = _maker(device, options)
    if func_or_sig is None:
        return make
    if isinstance(func_or_sig, list) or is_signature(func_or_sig):
        many = isinstance(func_or_sig, list)
        if many and not func_or_sig:
            raise ValueError("cuda.jit: an empty list of signatures: the kernel takes no types")
        signatures = func_or_sig if many else [func_or_sig]
        return lambda function: _compiled(make(function), signatures, specialized=not many)
    return make(func_or_sig)


def _maker(device: bool, options: dict[str, Any]) -> Callable[[Any], Dispatcher]:
    """Check the options once, before the function is known."""
    check_options(device, options)
    given = options.get("debug")
    debug = bool(settings.CUDA_DEBUGINFO_DEFAULT if given is None else given)
    opt = options.get("opt")
    opt = not debug if opt is None and debug else opt is None or bool(opt)
    if debug and options.get("opt"):
        _warn("debug=True with opt=True is not supported by CUDA; set debug=False or opt=False.")
    if debug and options.get("lineinfo"):
        _warn("debug and lineinfo are mutually exclusive; debug has the lines as well.")
    compile_options = KernelOptions(
        fastmath=bool(options.get("fastmath")),
        finite=options.get("finite") is None or bool(options["finite"]),
        integral=bool(options.get("integral")),
        runtime_shared=bool(options.get("runtime_shared")),
        apart=bool(options.get("apart")),
        fma=options.get("fma") is None or bool(options["fma"]),
        debug=debug,
        opt=opt,
        lineinfo=bool(options.get("lineinfo")),
        max_registers=_integer_or_none(options.get("max_registers")),
        launch_bounds=launch_bounds_of(options.get("launch_bounds")),
        fp64=options.get("fp64") or config().fp64,
        floats=options.get("floats") or config().floats,
        chip=options.get("chip") or "",
    )

    text = options.pop("source", None)

    def make(function: Any) -> Dispatcher:
        function = getattr(function, "py_func", function)  # of cuda.jit, and of numba.njit
        if not isinstance(function, (FunctionType, MethodType)):
            raise TypeError(
                f"cuda.jit takes a Python function or signatures, got {function!r} of type "
                f"{type(function).__name__}; a signature is text, as 'void(float32[:])', a tuple "
                "of types, or a list of signatures"
            )
        if text is not None:
            function = with_text(function, text)
        return Dispatcher(function, compile_options, dict(options, device=device), device)

    return make


def _integer_or_none(value: Any) -> int | None:
    return None if value is None else int(value)


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
