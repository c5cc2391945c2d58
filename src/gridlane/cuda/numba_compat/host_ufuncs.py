"""``numba.vectorize`` and ``numba.guvectorize``: for the host by the numba that is installed, for
devices by gridlane."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from gridlane.core.argtypes import Signature
from gridlane.cuda.host.warnings import NumbaWarning
from gridlane.cuda.numba_compat import installed
from gridlane.cuda.numba_compat.host import HostFunction
from gridlane.cuda.ufuncs import gufunc, vectorization

_CUDA = "cuda"
_Decorated = Callable[..., Any]


def vectorize(ftylist_or_function: Any = (), target: str | None = None, **options: Any) -> Any:
    """Create a ufunc from a function of scalars.

    With the target ``"cuda"`` it is gridlane's. Without, or for ``"cpu"`` and ``"parallel"``, the
    installed numba compiles it; where numba is not installed, it is gridlane's as well.
    """
    if not _numba_compiles(target, options):
        ours: Any = vectorization.vectorize
        return ours(ftylist_or_function, target, **options)
    chosen = options | ({} if target is None else {"target": target})
    if callable(ftylist_or_function):
        return _made("vectorize", ftylist_or_function, [], chosen)
    arguments = [_listed(ftylist_or_function)]
    return lambda function: _made("vectorize", function, arguments, chosen)


def guvectorize(*args: Any, **options: Any) -> Callable[[_Decorated], Any]:
    """Create a generalised ufunc: ``guvectorize(signatures, "(m,n),(n)->(m)")``.

    The targets are as for ``vectorize``.
    """
    if not _numba_compiles(options.get("target"), options):
        return gufunc.guvectorize(*args, **options)
    arguments = [_listed(args[0]), *args[1:]] if len(args) > 1 else args
    return lambda function: _made("guvectorize", function, arguments, options)


def _listed(signatures: Any) -> list[Any]:
    return [signatures] if isinstance(signatures, str | Signature) else list(signatures)


def _numba_compiles(target: str | None, options: dict[str, Any]) -> bool:
    if target == _CUDA or "floats" in options:
        return False
    try:
        return installed.numba() is not None
    except installed.NotCompiledError as error:
        warnings.warn(
            f"functions for the host are compiled by gridlane: {error}", NumbaWarning, stacklevel=3
        )
        return False


def _made(decorator: str, function: _Decorated, arguments: Any, options: dict[str, Any]) -> Any:
    plain = function.py_func if isinstance(function, HostFunction) else function
    return installed.ufunc(decorator, plain, arguments, options, HostFunction)
