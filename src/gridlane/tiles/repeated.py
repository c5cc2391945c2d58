"""Launches like an earlier one: what was checked and compiled then is looked up by types.

A call whose arguments are numbers, device arrays and host arrays that the device uses in place has
a key; others take the whole way of ``jit.py`` each time.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np

from gridlane.core import trace
from gridlane.core.config import config
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.kernels.argument_types import ALIGNED, WRITEABLE
from gridlane.frontends.triton.functions import TileFunction
from gridlane.frontends.triton.types import dtype
from gridlane.launch.dimensions import Dim3
from gridlane.launch.geometry import address_of
from gridlane.launch.packing import Packer
from gridlane.launch.plan import Plan
from gridlane.runtime.protocol import Device
from gridlane.tiles.arguments import ALIGNMENT

_IN_PLACE = ALIGNED | WRITEABLE
_CONTIGUOUS = 0x3
"""Of ``ndarray.flags.num``: in the order of C or of Fortran."""
_MOST_GRIDS = 256
_PLAIN = frozenset((bool, float, type(None)))
_CONSTANTS = frozenset((bool, int, str, type(None), dtype))

Bind = Callable[..., tuple[tuple[Any, ...], dict[str, Any]]]


def binder(function: TileFunction) -> Bind | None:
    """The function that puts arguments in the order of the parameters, beside the options; None
    where a parameter takes several."""
    simple = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = function.signature.parameters.values()
    if any(each.kind not in simple or each.name == "_options" for each in parameters):
        return None
    defaults = {each.name: each.default for each in parameters}
    listed = [
        name if default is inspect.Parameter.empty else f"{name}=_defaults[{name!r}]"
        for name, default in defaults.items()
    ]
    star = next((n for n, each in enumerate(parameters) if each.kind is simple[1]), None)
    if star is not None:
        listed.insert(star, "*")
    values = "".join([f"{name}, " for name in defaults])
    text = f"def bind({''.join([f'{each}, ' for each in listed])}**_options):\n"
    text += f"    return ({values}), _options\n"
    namespace: dict[str, Any] = {"_defaults": defaults}
    exec(compile(text, "<gridlane arguments>", "exec"), namespace)
    return namespace["bind"]


def key_of_call(
    device: Device,
    constants: tuple[bool, ...],
    values: tuple[Any, ...],
    options: dict[str, Any],
) -> Hashable | None:
    """The key of calls that one entry serves; None for a call that has none.

    Args:
        constants: for each parameter whether its value is known at compile time.
    """
    parts: list[Hashable] = [device, *options.items()]
    for is_constant, value in zip(constants, values, strict=True):
        kind = type(value)
        if is_constant:
            if kind not in _CONSTANTS:  # equal ones may differ, as 0.0 and -0.0 do
                return None
            parts.append((kind, value))
        elif kind is int:
            parts.append(_range_of(value))
        elif kind is DeviceNDArray:
            if value.buffer.device is not device:
                return None
            parts.append((value.dtype.num, value.address % ALIGNMENT == 0))
        elif kind is np.ndarray:
            flags = value.flags.num
            if not device.host_visible or flags & _IN_PLACE != _IN_PLACE or not flags & _CONTIGUOUS:
                return None
            # Its number: dtypes that other packages define may be equal and not the same.
            elements = value.dtype
            if not elements.isnative:
                return None
            parts.append((kind, elements.num, address_of(value) % ALIGNMENT == 0))
        elif kind in _PLAIN:
            parts.append(kind)
        else:
            return None
    return tuple(parts)


def _range_of(value: int) -> str:
    """What code depends on of an integer."""
    if value == 1:
        return "one"
    if -(2**31) <= value < 2**31:
        return "int32"
    return "int64" if -(2**63) <= value < 2**63 else "uint64" if 0 < value < 2**64 else "wide"


class Entry(NamedTuple):
    """A launch that was checked.

    Attributes:
        runtime: the places of the arguments that are packed.
        grids: those that the device has been found to launch.
        waits: host arrays are used in place, whose results the caller sees on return.
        kernel: what the launch returns.
    """

    plan: Plan
    pack: Packer
    runtime: tuple[int, ...]
    grids: set[Dim3]
    waits: bool
    kernel: Any

    def launch(self, grid: Dim3, values: tuple[Any, ...]) -> bool:
        """Launch, if the device has launched this grid, and the code is for these arguments."""
        if grid not in self.grids or trace.enabled():
            return False
        plan = self.plan
        params = self.pack(*[values[place] for place in self.runtime])
        holds = plan.holds
        if holds is not None and not holds(params):
            return False
        stream = plan.device.default_stream
        stream.launch(plan.kernel, params, *grid, 0, values)
        if self.waits:
            stream.synchronize()
        return True

    def note(self, grid: Dim3) -> None:
        """Remember that the device launches a grid."""
        if len(self.grids) >= _MOST_GRIDS:
            self.grids.clear()
        self.grids.add(grid)


def may_repeat() -> bool:
    """Whether launches may skip what earlier ones have checked: not where accesses are checked,
    as host arrays are announced to the device then."""
    return not config().check
