"""``vectorize``: turn a function of scalars into one of arrays, on the device or for the host."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from gridlane.core.errors import UnsupportedError
from gridlane.cuda.ufuncs.host_ufunc import HostUFunc
from gridlane.cuda.ufuncs.ufunc import UFunc

_HOSTS = ("cpu", "parallel")


_Function = Callable[..., Any]
_Signatures = str | Sequence[Any]


@overload
def vectorize(
    ftylist_or_function: _Function, target: Literal["cpu", "parallel"] | None = None
) -> HostUFunc: ...
@overload
def vectorize(
    ftylist_or_function: tuple[()] = (), target: Literal["cpu", "parallel"] | None = None
) -> Callable[[_Function], HostUFunc]: ...
@overload
def vectorize(
    ftylist_or_function: _Signatures, target: Literal["cpu", "parallel"]
) -> Callable[[_Function], HostUFunc]: ...
@overload
def vectorize(
    ftylist_or_function: _Signatures, target: Literal["cuda"] | None = None, **options: Any
) -> Callable[[_Function], UFunc]: ...
def vectorize(ftylist_or_function: Any = (), target: str | None = None, **options: Any) -> Any:
    """Create a ufunc from a function of scalars.

    Args:
        ftylist_or_function: signatures with result types, as ``["float32(float32, float32)"]``; or
            the function, for a ufunc that is compiled for the types of its calls.
        target: ``"cuda"``, the default with signatures, takes arrays of exactly their types,
            including device arrays; ``"cpu"`` and ``"parallel"`` take host arrays.
    """
    function = ftylist_or_function if callable(ftylist_or_function) else None
    signatures: Any = [] if function else ftylist_or_function
    if isinstance(signatures, str):
        signatures = [signatures]
    if target not in (None, "cuda", *_HOSTS):
        raise ValueError(f"Unsupported target: {target}; gridlane has 'cuda' and 'cpu'")
    if target in _HOSTS or (target is None and not signatures):
        if function:
            return HostUFunc(function)
        return lambda function: HostUFunc(function, list(signatures))
    if not signatures:
        raise UnsupportedError(
            "vectorize without signatures: list them, as in "
            "@vectorize(['float32(float32, float32)'], target='cuda')"
        )
    if options.pop("cache", False):
        raise TypeError("caching is not supported")
    options.pop("identity", None)
    for name in options:
        if name != "nopython":
            raise KeyError(
                f"Unrecognized options. cuda vectorize target does not support option: '{name}'"
            )
        warnings.warn("nopython kwarg for cuda target is redundant", RuntimeWarning, stacklevel=2)
    return lambda function: UFunc(function, list(signatures))
