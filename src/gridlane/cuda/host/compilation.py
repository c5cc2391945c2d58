"""``cuda.compile`` and its variants: a kernel's PTX, with no device needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.argtypes import ArgType, none
from gridlane.core.config import config
from gridlane.core.errors import UnsupportedError
from gridlane.core.options import KernelOptions, Target
from gridlane.cuda.host import settings
from gridlane.cuda.kernels.jit_options import check_options, launch_bounds_of, processor_of
from gridlane.cuda.kernels.signatures import parse
from gridlane.cuda.kernels.sources import with_source
from gridlane.launch import current


def compile(
    pyfunc: Callable[..., Any],
    sig: Any,
    debug: bool | None = None,
    lineinfo: bool = False,
    device: bool = True,
    fastmath: bool = False,
    cc: tuple[int, int] | None = None,
    opt: bool | None = None,
    abi: str = "c",
    abi_info: dict[str, Any] | None = None,
    output: str = "ptx",
    forceinline: bool = False,
    launch_bounds: Any = None,
    fp64: str | None = None,
) -> tuple[str, ArgType]:
    """Compile a kernel for a signature to PTX; return it and its return type, which is void.

    Args:
        pyfunc: the Python function.
        sig: the types of its arguments, as for ``cuda.jit``.
        device: must be False: device functions have no PTX of their own here.
        cc: compute capability (major, minor) to compile for; the least that is common by default.
        output: must be ``ptx``.
        debug, lineinfo, fastmath, opt, launch_bounds, fp64: as for ``cuda.jit``; PTX has float64.

    Raises:
        CompileError: the error of the source, and its place.
        UnsupportedError: a device function, or another output.
    """
    from gridlane import compiler

    given = {"debug": debug, "lineinfo": lineinfo, "fastmath": fastmath, "opt": opt}
    given |= {"launch_bounds": launch_bounds, "fp64": fp64, "abi": abi, "forceinline": forceinline}
    check_options(device, given, "cuda.compile")
    if device:
        raise UnsupportedError(
            f"compile: {pyfunc.__name__} as a device function: device functions are compiled into "
            "the kernels that call them; for a kernel's PTX, give device=False"
        )
    if output != "ptx":
        raise UnsupportedError(f"compile: output={output!r}; the output is 'ptx'")
    options = KernelOptions(
        fastmath=bool(fastmath),
        debug=bool(debug),
        opt=not debug if opt is None else bool(opt),
        lineinfo=bool(lineinfo),
        launch_bounds=launch_bounds_of(launch_bounds),
        fp64=fp64 or config().fp64,
    )
    processor = processor_of(settings.CUDA_DEFAULT_PTX_CC if cc is None else cc)
    module = compiler.translate(with_source(pyfunc), parse(sig).args, options)
    artifact = compiler.generate(module, Target("cuda", processor=processor), options)
    return artifact.code.decode(), none


def compile_ptx(
    pyfunc: Callable[..., Any],
    sig: Any,
    debug: bool = False,
    lineinfo: bool = False,
    device: bool = False,
    fastmath: bool = False,
    cc: tuple[int, int] | None = None,
    opt: bool | None = None,
    abi: str = "numba",
    abi_info: dict[str, Any] | None = None,
    forceinline: bool = False,
    launch_bounds: Any = None,
    fp64: str | None = None,
) -> tuple[str, ArgType]:
    """Like ``compile``, with kernels as the default."""
    return compile(
        pyfunc,
        sig,
        debug,
        lineinfo,
        device,
        fastmath,
        cc,
        opt,
        launch_bounds=launch_bounds,
        fp64=fp64,
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
