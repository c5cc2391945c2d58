"""``numba_cuda_mlir.cuda.jit``: its options, and annotations that are signatures."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from gridlane.core.argtypes import ArgType, Signature, none
from gridlane.core.numpy_types import from_numpy
from gridlane.core.suggestions import did_you_mean
from gridlane.cuda.host.warnings import NumbaWarning
from gridlane.cuda.kernels.decorators import jit as numba_jit
from gridlane.cuda.kernels.dispatcher import Dispatcher
from gridlane.cuda.kernels.jit_options import JitOptions, processor_of
from gridlane.cuda.kernels.signatures import is_signature

# Options of its compiler without effect here, with the types that it takes.
ACCEPTED: dict[str, tuple[type, ...]] = {
    "_dbg_optnone": (bool,),
    "_nrt": (bool,),
    "abi_info": (dict, type(None)),
    "capi": (bool, str),
    "experimental_ast_transforms": (bool,),
    "features": (str,),
    "no_cpython_wrapper": (bool,),
    "ptxas_options": (str,),
}
_SHOWING = "inspect_ir(), inspect_llvm() and inspect_asm() show what gridlane compiles"
_SOURCE = "inspect_transformed_source() shows a kernel without its compile-time parts"

# Options that print stages of its compiler, which cause a warning with what shows the like.
PRINTING: dict[str, str] = {
    **dict.fromkeys(("dump_ast", "dump_ast_after_all"), _SOURCE),
    **dict.fromkeys(("dump", "dump_cubin", "dump_llvmir", "dump_mlir", "dump_ptx"), _SHOWING),
    **dict.fromkeys(("dump_numba_ir", "print_after_all", "print_before_all"), _SHOWING),
    "profile_jit": "GRIDLANE_TRACE=1 shows the times of compilations",
}
_OWN = {
    "annotations_as_signatures": (bool,),
    "cc": (tuple, type(None)),
    "fast_math": (bool, type(None)),
    "help": (object,),
    "opt_level": (int,),
    "signature": (tuple, list, str, Signature, type(None)),
}
_NAMES = sorted({*ACCEPTED, *PRINTING, *_OWN, *JitOptions.__annotations__, "device"})


def jit(func_or_sig: Any = None, device: bool = False, **options: Any) -> Any:
    """Compile a Python function as a kernel or, with ``device=True``, as a device function.

    As ``gridlane.cuda.jit``, with the options of numba-cuda-mlir; those of its compiler have no
    effect here. Where every parameter is annotated with a type, the annotations are the signature.

    Args:
        func_or_sig: the function; or a signature, or a list of them.
        device: a function that kernels call.
        annotations_as_signatures: False where annotations are not to be read.
        chip: the processor, as ``sm_90``, that ``current_target_options()`` shows to ``consteval``.
        cc: the same, as (9, 0).
        opt_level: from 0, for unoptimised code, to 3.
        signature: a signature, or "infer".
        options: those of ``gridlane.cuda.jit``.

    Raises:
        ValueError: an option is unknown, or its value out of range.
        TypeError: an option has a value of another type; or a function has a signature and
            annotations that are one as well.
    """
    reads = options.pop("annotations_as_signatures", True)
    own = _own_options(options)
    given = own.pop("signature", None)
    if func_or_sig is None and given is not None and given != "infer":
        func_or_sig = given
    if isinstance(func_or_sig, list) or is_signature(func_or_sig):
        make = numba_jit(func_or_sig, device=device, **own)
        return lambda function: make(_without_annotations(function, reads))

    def decorate(function: Callable[..., Any]) -> Dispatcher:
        signature = annotated(function) if reads else None
        if signature is None:
            return numba_jit(function, device=device, **own)
        return numba_jit(signature, device=device, **own)(function)

    return decorate if func_or_sig is None else decorate(func_or_sig)


def _own_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options of ``gridlane.cuda.jit`` for those of numba-cuda-mlir."""
    if "help" in options:
        raise SystemExit(_listed("help was specified"))
    unknown = sorted(set(options) - set(_NAMES))
    if unknown:
        guess = did_you_mean(unknown[0], _NAMES)
        raise ValueError(_listed(f"Got invalid options: {', '.join(unknown)}.{guess}"))
    for name, kinds in (ACCEPTED | _OWN).items():
        if name in options and not isinstance(options[name], kinds):
            wanted = kinds[0] if len(kinds) == 1 else kinds
            raise TypeError(_listed(f"Expected {name} to be of type {wanted}, got {options[name]}"))
    if options.get("opt") is not None and "opt_level" in options:
        raise ValueError("Cannot specify both opt and opt_level at the same time.")
    level = options.get("opt_level", 3)
    if not 0 <= level <= 3:
        raise ValueError(_listed(f"Expected opt_level to be between 0 and 3, got {level}"))
    for name, instead in PRINTING.items():
        if options.get(name):
            warnings.warn(
                NumbaWarning(
                    f"cuda.jit: {name} prints a stage of NVIDIA's MLIR compiler, and has no effect "
                    f"here: {instead}"
                ),
                stacklevel=3,
            )
    return _translated(options)


def _translated(options: dict[str, Any]) -> dict[str, Any]:
    dropped = {*ACCEPTED, *PRINTING, "opt_level", "fast_math", "cc"}
    translated = {name: value for name, value in options.items() if name not in dropped}
    if "opt_level" in options:
        translated["opt"] = options["opt_level"] > 0
    if options.get("fast_math") is not None:
        translated["fastmath"] = options["fast_math"]
    if translated.get("fastmath"):
        translated.setdefault("finite", False)  # as libnvvm, which keeps NaN and infinity
    translated.setdefault("integral", True)
    translated.setdefault("runtime_shared", True)
    if options.get("cc") is not None:
        translated["chip"] = processor_of(options["cc"])
    return translated


def _listed(why: str) -> str:
    return (
        f"Printing the options because: {why}\nThe keyword options of cuda.jit are: "
        f"{', '.join(_NAMES)}; docs/numba-cuda-mlir.md has those without effect here"
    )


def annotated(function: Any) -> Signature | None:
    """The signature that a function's annotations are; None where a parameter has no type.

    >>> from gridlane.cuda import float32, int64
    >>> def scale(x, n): ...
    >>> scale.__annotations__ = {"x": float32[::1], "n": int}
    >>> annotated(scale) == Signature(none, (float32[::1], int64))
    True
    """
    function = getattr(function, "py_func", function)
    if not isinstance(function, FunctionType) or not function.__annotations__:
        return None
    signature = inspect.signature(function)
    types = [type_of(each.annotation) for each in signature.parameters.values()]
    if not types or None in types:
        return None
    result = type_of(signature.return_annotation)
    return Signature(none if result is None else result, tuple(types))  # type: ignore[arg-type]  # no None


def type_of(annotation: Any) -> ArgType | None:
    """The type that an annotation names; None for any other annotation."""
    if isinstance(annotation, ArgType):
        return annotation
    if annotation in _PYTHON:
        return from_numpy(np.dtype(annotation))
    if isinstance(annotation, np.dtype) or (
        isinstance(annotation, type) and issubclass(annotation, np.generic)
    ):
        try:
            return from_numpy(np.dtype(annotation))
        except TypeError:
            return None
    return None


_PYTHON = (bool, int, float, complex)


def _without_annotations(function: Any, reads: bool) -> Any:
    """The function of a signature, which must not have another in its annotations."""
    if reads and annotated(function) is not None:
        raise TypeError(
            f"Conflicting signature sources for '{function.__name__}': both an explicit signature "
            "and type annotations are provided. Remove one of them, or set "
            "annotations_as_signatures=False to ignore annotations."
        )
    return function
