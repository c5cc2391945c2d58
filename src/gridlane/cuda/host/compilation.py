"""``cuda.compile`` and its variants: PTX of kernels and device functions, with no device needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.argtypes import ArgType, none
from gridlane.core.config import config
from gridlane.core.errors import UnsupportedError
from gridlane.core.options import KernelOptions
from gridlane.cuda.host import settings
from gridlane.cuda.kernels.device_code import DeviceCode
from gridlane.cuda.kernels.jit_options import check_options, launch_bounds_of
from gridlane.cuda.kernels.kernel import Kernel
from gridlane.cuda.kernels.signatures import parse
from gridlane.cuda.kernels.sources import with_source
from gridlane.launch import current

ABIS = ("numba", "c")


def compile(
    pyfunc: Callable[..., Any],
    sig: Any,
    debug: bool | None = None,
    lineinfo: bool = False,
    device: bool = True,
    fastmath: bool = False,
    cc: tuple[Any, ...] | None = None,
    opt: bool | None = None,
    abi: str | None = None,
    abi_info: dict[str, Any] | None = None,
    output: str = "ptx",
    forceinline: bool = False,
    launch_bounds: Any = None,
    fp64: str | None = None,
    floats: str | None = None,
) -> tuple[str, ArgType]:
    """Compile a function for a signature to PTX; return it and the type of the function's result.

    Args:
        pyfunc: the Python function.
        sig: the types of its arguments, as for ``cuda.jit``; a signature with a return type
            converts the result to that.
        device: a function that other code calls; False is a kernel, whose result is void.
        cc: compute capability (major, minor) to compile for; the least that is common by default.
        abi: how a device function is called (docs/device-functions.md): ``c``, the default, or
            ``numba``, which kernels have.
        abi_info: ``{"abi_name": name}`` is the symbol of a device function, by default its name.
        output: must be ``ptx``.
        debug, lineinfo, fastmath, opt, launch_bounds, fp64, floats: as for ``cuda.jit``; PTX has
            float64.

    Raises:
        CompileError: the error of the source, and its place.
        NotImplementedError: another ABI, or another output, such as ``ltoir``.

    >>> from gridlane.cuda import float32
    >>> def add(x, y):
    ...     return x + y
    >>> text, result = compile(add, (float32, float32))
    >>> result, ".visible .func  (.param .b32 func_retval0) add(" in text
    (float32, True)
    """
    _check_output(output, forceinline)
    abi = abi or ("c" if device else "numba")
    given = {"debug": debug, "lineinfo": lineinfo, "fastmath": fastmath, "opt": opt, "abi": abi}
    given |= {"launch_bounds": launch_bounds, "fp64": fp64, "floats": floats}
    check_options(device, {**given, "forceinline": forceinline}, "cuda.compile")
    _check_abi(abi, device)
    options = KernelOptions(
        fastmath=bool(fastmath),
        debug=bool(debug),
        opt=not debug if opt is None else bool(opt),
        lineinfo=bool(lineinfo),
        launch_bounds=launch_bounds_of(launch_bounds),
        fp64=fp64 or config().fp64,
        floats=floats or config().floats,
    )
    cc = settings.CUDA_DEFAULT_PTX_CC if cc is None else cc
    function, signature = with_source(_plain(pyfunc)), parse(sig)
    if device:
        name = (abi_info or {}).get("abi_name")
        code = DeviceCode(function, signature, options, abi, name if abi == "c" else None)
        return code.inspect_asm(cc), code.return_type
    if signature.return_type not in (None, none):
        raise TypeError("CUDA kernel must have void return type.")
    return Kernel(function, signature.args, options).inspect_asm(cc), none


def _plain(pyfunc: Any) -> Any:
    """The Python function of a kernel, or a function itself."""
    pyfunc = getattr(pyfunc, "py_func", pyfunc)
    if not hasattr(pyfunc, "__code__"):
        raise TypeError(f"cuda.compile takes a Python function, not {pyfunc!r}")
    return pyfunc


def _check_abi(abi: str, device: bool) -> None:
    if abi not in ABIS:
        raise NotImplementedError(f"Unsupported ABI: {abi}; it is 'c' or 'numba'")
    if abi == "c" and not device:
        raise NotImplementedError("The C ABI is not supported for kernels: give abi='numba'")


def _check_output(output: str, forceinline: bool) -> None:
    if output == "ltoir":
        raise UnsupportedError(
            "compile: output='ltoir': LTO-IR is NVIDIA's own format, which only its compiler "
            "writes; output='ptx' is read by the same linkers"
        )
    if output != "ptx":
        raise UnsupportedError(f"Unsupported output type: {output}; the output is 'ptx'")
    if forceinline:
        raise ValueError("Can only designate forced inlining in LTO-IR; PTX has whole functions")


def compile_ptx(
    pyfunc: Callable[..., Any],
    sig: Any,
    debug: bool = False,
    lineinfo: bool = False,
    device: bool = False,
    fastmath: bool = False,
    cc: tuple[Any, ...] | None = None,
    opt: bool | None = None,
    abi: str = "numba",
    abi_info: dict[str, Any] | None = None,
    forceinline: bool = False,
    launch_bounds: Any = None,
    fp64: str | None = None,
    floats: str | None = None,
) -> tuple[str, ArgType]:
    """Like ``compile``, with kernels and numba's ABI as the default."""
    return compile(
        pyfunc,
        sig,
        debug,
        lineinfo,
        device,
        fastmath,
        cc,
        opt,
        abi,
        abi_info,
        forceinline=forceinline,
        launch_bounds=launch_bounds,
        fp64=fp64,
        floats=floats,
    )


def compile_for_current_device(
    pyfunc: Callable[..., Any], sig: Any, **options: Any
) -> tuple[str, ArgType]:
    """Like ``compile``, for this thread's device."""
    return compile(pyfunc, sig, cc=current.device().compute_capability, **options)


def compile_ptx_for_current_device(
    pyfunc: Callable[..., Any], sig: Any, **options: Any
) -> tuple[str, ArgType]:
    """Like ``compile_ptx``, for this thread's device."""
    return compile_ptx(pyfunc, sig, cc=current.device().compute_capability, **options)


def compile_all(pyfunc: Callable[..., Any], sig: Any, **options: Any) -> tuple[list[str], ArgType]:
    """Like ``compile``, with a list of texts: of one, as the functions of linked code are part of
    the function that calls them."""
    text, result = compile(pyfunc, sig, **options)
    return [text], result
