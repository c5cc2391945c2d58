"""The decorator of loop nests, and the words of their loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, overload

from gridlane.compute.hints import Hints
from gridlane.compute.running import Compute
from gridlane.core.errors import LaunchError


@overload
def compute(function: Callable[..., Any], /) -> Compute: ...
@overload
def compute(
    function: None = None,
    /,
    *,
    kernel: str | None = None,
    device: str = "auto",
    workgroup: tuple[int, ...] | None = None,
    fastmath: bool = False,
    hints: Hints | Mapping[str, Any] | None = None,
    launch_bounds: int | tuple[int, ...] | None = None,
    max_registers: int | None = None,
    shared_bytes: int = 0,
    compile_target: str = "device",
) -> Callable[[Callable[..., Any]], Compute]: ...
def compute(function: Any = None, /, **options: Any) -> Any:
    """Compile a function of loops for devices; see ``Compute``.

    >>> import numpy as np
    >>> from gridlane.compute import Tensor, compute, f64, grid
    >>> @compute
    ... def scaled(x: Tensor[f64, "N"], out: Tensor[f64, "N"], by: float):
    ...     for i in grid(N):
    ...         out[i] = by * x[i]
    >>> out = np.zeros(3)
    >>> scaled(np.arange(3.0), out, 2.0)
    >>> out
    array([0., 2., 4.])
    """
    if function is None:
        return lambda given: Compute(given, **options)
    return Compute(function)


def grid(*extents: int) -> Any:
    """Loops of a nest over all extents; only functions of ``compute`` have it."""
    raise LaunchError("grid() is a loop of a function of gridlane.compute")


def parallel(*extents: int) -> Any:
    """Such loops, with the user's word that their iterations do not depend on each other."""
    raise LaunchError("parallel() is a loop of a function of gridlane.compute")
