"""The options of ``cuda.jit``, and the values that each takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, Literal, TypedDict

import numpy as np

from gridlane.core.options import FLOATS, FP64, Target
from gridlane.core.suggestions import did_you_mean
from gridlane.cuda.host import warnings as cuda_warnings
from gridlane.launch import current

# Options of numba.cuda.jit without effect here, with the reason.
ACCEPTED = {
    "inline": "the compiler inlines device functions as it sees fit",
    "forceinline": "as inline",
    "cache": "compiled kernels are cached on disk in any case",
    "shared_memory_carveout": "the device has no such split",
    "lto": "a kernel is compiled in one piece in any case",
    "nopython": "there is no other mode",
    "nogil": "kernels run without Python in any case",
    "abi": "device functions are inlined; cuda.compile takes it",
}
_MOVED = ("argtypes", "restype", "bind")
_CARVEOUTS = ("default", "maxl1", "maxshared")


class JitOptions(TypedDict, total=False):
    """The options of ``cuda.jit``, for type checkers; ``check_options`` checks them."""

    fma: bool | None
    debug: bool | None
    lineinfo: bool | None
    forceinline: bool | None
    cache: bool | None
    lto: bool | None
    nopython: bool | None
    nogil: bool | None
    fastmath: bool | None
    finite: bool | None
    integral: bool | None
    runtime_shared: bool | None
    apart: bool | None
    opt: bool | int | None
    max_registers: int | None
    launch_bounds: int | Sequence[int] | None
    fp64: Literal["emulate", "exact", "narrow", "refuse"] | None
    floats: Literal["float64", "float32"] | None
    boundscheck: bool | None
    shared_memory_carveout: int | str | None
    extensions: Sequence[Any] | None
    inline: bool | str | Callable[..., Any] | None
    abi: str | None
    chip: str | None
    source: str | None
    link: Any
    func: Any


def check_options(device: Any, options: dict[str, Any], where: str = "cuda.jit") -> None:
    """Raise for options that are unknown, of a wrong type, or unsupported."""
    _check_flag(where, "device", device)
    for name, value in options.items():
        if name not in _CHECKS:
            raise TypeError(f"{where} has no option {name!r}{did_you_mean(name, _CHECKS)}")
        if value is not None:
            _CHECKS[name](where, name, value)
    if options.get("link") and device:
        raise ValueError("link keyword invalid for device function")
    if options.get("fp64") and device and where != "cuda.compile":
        raise ValueError(
            f"{where}: fp64 is an option of kernels, and holds for the device functions that they "
            "call; leave it out of device functions"
        )


def launch_bounds_of(bounds: Any) -> tuple[int, ...]:
    """Launch bounds as a tuple of ints."""
    if bounds is None:
        return ()
    return tuple(map(int, bounds)) if isinstance(bounds, (tuple, list)) else (int(bounds),)


def processor_of(cc: Any) -> str:
    """The name of the processors with a compute capability: ``sm_90`` for (9, 0), ``sm_90a`` for
    (9, 0, "a"), of that processor alone, and ``sm_100f`` for (10, 0, "f"), of its family."""
    numbers = tuple(cc) if isinstance(cc, (tuple, list)) else ()
    kind = numbers[2] if len(numbers) == 3 and numbers[2] in ("a", "f") else ""
    pair = numbers[:2] if kind else numbers
    if len(pair) != 2 or not all(type(number) is int and number >= 0 for number in pair):
        raise TypeError(f"cc={cc!r}; a compute capability is two integers, as (9, 0)")
    return f"sm_{pair[0]}{pair[1]}{kind}"


def gpu_target(cc: tuple[Any, ...] | None) -> Target:
    """An NVIDIA GPU: of a compute capability, the current device, or the device's nominal one."""
    device = current.device()
    target = device.target((32, 1, 1))
    if cc is None and target.name == "cuda":
        return target
    return Target("cuda", processor=processor_of(cc or device.compute_capability))


def _wrong(where: str, name: str, value: Any, wanted: str) -> TypeError:
    return TypeError(f"{where}: {name}={value!r}, of type {type(value).__name__}; it is {wanted}")


def _is_integer(value: Any) -> bool:
    return type(value) is not bool and isinstance(value, Integral)


def _is_flag(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return True
    return _is_integer(value) and value in (0, 1)


def _check_flag(where: str, name: str, value: Any) -> None:
    if not _is_flag(value):
        raise _wrong(where, name, value, "True or False")


def _check_fastmath(where: str, name: str, value: Any) -> None:
    if isinstance(value, (set, frozenset, dict)):
        raise _wrong(where, name, value, "True for every freedom at once, or False")
    _check_flag(where, name, value)


def _check_opt(where: str, name: str, value: Any) -> None:
    if not _is_flag(value) and not (_is_integer(value) and 0 <= value <= 3):
        raise _wrong(where, name, value, "True or False, or a level from 0 to 3")


def _check_registers(where: str, name: str, value: Any) -> None:
    if not _is_integer(value):
        raise _wrong(where, name, value, "a number of registers, or None")
    if value < 1:
        raise ValueError(f"{where}: {name}={value}; a thread has at least one register")


def _check_bounds(where: str, name: str, value: Any) -> None:
    each = value if isinstance(value, (tuple, list)) else (value,)
    if not all(map(_is_integer, each)):
        raise _wrong(where, name, value, "a number of threads, or a tuple of up to three numbers")
    if len(each) > 3:
        raise ValueError(f"Got {len(each)} launch bounds: {value}. A maximum of three is used")
    if not each or min(each) < 1:
        raise ValueError(f"{where}: {name}={value!r}; a block has at least one thread")


def _check_fp64(where: str, name: str, value: Any) -> None:
    if value not in FP64:
        raise ValueError(f"{where}: fp64={value!r}: one of {', '.join(FP64)}")


def check_floats(where: str, name: str, value: Any) -> None:
    """Raise for what no kernel's floats are."""
    if value not in FLOATS:
        raise ValueError(f"{where}: floats={value!r}: one of {', '.join(FLOATS)}")


def _check_boundscheck(where: str, name: str, value: Any) -> None:
    _check_flag(where, name, value)
    if value:
        raise NotImplementedError(
            "bounds checking is not supported for CUDA by this option; debug=True checks bounds"
        )


def _check_carveout(where: str, name: str, value: Any) -> None:
    if isinstance(value, str):
        if value.lower() not in _CARVEOUTS:
            raise ValueError(
                f"Invalid carveout value: {value}. Must be -1 to 100 or one of {_CARVEOUTS}"
            )
    elif not isinstance(value, int):
        raise TypeError(f"shared_memory_carveout must be str or int, got {value!r}")
    elif not -1 <= value <= 100:
        raise ValueError("Carveout must be between -1 and 100")


def _check_extensions(where: str, name: str, value: Any) -> None:
    fits = isinstance(value, (tuple, list)) and all(
        callable(getattr(each, "prepare_args", None)) for each in value
    )
    if not fits:
        raise _wrong(where, name, value, "a list of objects with a method prepare_args")


def _check_inline(where: str, name: str, value: Any) -> None:
    if not (_is_flag(value) or value in ("always", "never", "auto") or callable(value)):
        raise _wrong(where, name, value, "True, False, 'always', 'never', 'auto' or a cost model")


def _check_abi(where: str, name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise _wrong(where, name, value, "a name, 'numba' or 'c'")


def _check_chip(where: str, name: str, value: Any) -> None:
    if not isinstance(value, str) or not value.startswith("sm_"):
        raise ValueError(f"{where}: {name}={value!r}; a processor is 'sm_90' or the like")


def _check_source(where: str, name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise _wrong(where, name, value, "the text of the function")


def _moved(where: str, name: str, value: Any) -> None:
    raise cuda_warnings.DeprecationError(
        f"Deprecated keyword argument `{name}`. Signatures should be passed as the first "
        "positional argument."
    )


def _anything(where: str, name: str, value: Any) -> None:
    """Accept any value: the option is refused or ignored elsewhere."""


_CHECKS: dict[str, Callable[[str, str, Any], None]] = {
    **dict.fromkeys(("fma", "debug", "finite", "integral", "lineinfo"), _check_flag),
    **dict.fromkeys(("runtime_shared", "apart"), _check_flag),
    **dict.fromkeys(("forceinline", "cache", "lto", "nopython", "nogil"), _check_flag),
    "fastmath": _check_fastmath,
    "opt": _check_opt,
    "max_registers": _check_registers,
    "launch_bounds": _check_bounds,
    "fp64": _check_fp64,
    "floats": check_floats,
    "boundscheck": _check_boundscheck,
    "shared_memory_carveout": _check_carveout,
    "extensions": _check_extensions,
    "inline": _check_inline,
    "abi": _check_abi,
    "chip": _check_chip,
    "source": _check_source,
    **dict.fromkeys(("link", "func"), _anything),
    **dict.fromkeys(_MOVED, _moved),
}
