"""Parameters of kernels that are tensor maps."""

from __future__ import annotations

from gridlane.core.dtypes import DType, bf16, f16, f32, i8, u8, u64
from gridlane.core.tensor_map import SIZE, Element, TensorMapUse
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Param, Value
from gridlane.passes.tiles.state import State

ELEMENTS: dict[DType, Element] = {
    f16: Element.F16,
    bf16: Element.BF16,
    f32: Element.F32,
    i8: Element.U8,
    u8: Element.U8,
}


def map_param(
    state: State,
    tensor: tuple[Param, ...],
    element: DType,
    box: tuple[int, ...],
    swizzle: int,
    nan: bool = False,
) -> Value:
    """The parameter that is the map of a tensor; equal boxes share one.

    Args:
        tensor: the parameters that are its address, its extents and strides.
        swizzle: bytes.
    """
    kernel, rank = state.function, len(box)
    number = {param.value: n for n, param in enumerate(kernel.params)}
    base, *others = [number[param.value] for param in tensor]
    use = TensorMapUse(
        base, tuple(others[:rank]), tuple(others[rank:]), ELEMENTS[element], box, swizzle, nan,
        len(kernel.params),
    )  # fmt: skip
    for each in state.module.tensor_maps:
        if (each.base, each.element, each.box, each.swizzle, each.nan) == (
            use.base, use.element, use.box, use.swizzle, use.nan,
        ):  # fmt: skip
            return kernel.params[each.parameter].value
    value = Value(pointer(u64, Space.GENERIC), name=f"{tensor[0].value.name}_map{use.parameter}")
    kernel.params.append(Param(value, tensor[0].argument, by_value=SIZE))
    state.module.tensor_maps = *state.module.tensor_maps, use
    return value
