"""Gradients of attention by tensor descriptors, where a device copies boxes of tensors itself."""

from __future__ import annotations

from typing import Any

from gridlane.tiles.kernels import described
from gridlane.tiles.kernels.attention_calls import Call
from gridlane.tiles.kernels.blocks import has_warpgroups
from gridlane.tiles.kernels.operands import Operand, index_type
from gridlane.tiles.kernels.programs.described_gradients import (
    described_key_gradients,
    described_query_gradients,
)

_LONG, _SHORT = 128, 64
"""Rows of a tile whose gradient is computed, and of those that it needs, in turn."""
_WIDTHS = (64, 128)
_OPTIONS = {"num_warps": 8, "num_stages": 3}


def launch(
    call: Call, grad: Operand, logs: Operand, sums: Operand, gradients: list[Operand]
) -> bool:
    """Compute the gradients of queries, keys and values; whether the device and the arrays have
    tensor maps for it.

    Args:
        logs, sums: contiguous.
    """
    q, k, v = call.q, call.k, call.v
    constants, own = call.constants, gradients
    widths = q.shape[3], v.shape[3]
    if call.starts is not None or constants["WINDOW"] or constants["SOFTCAP"] is not None:
        return False
    if q.dtype not in described.FACTORS or not set(widths) <= set(_WIDTHS) or not has_warpgroups():
        return False
    if q.shape[2] < _SHORT or k.shape[2] < _SHORT:
        return False
    boxes = [_boxes(each) for each in (q, k, v, grad)]
    if any(each is None or each.turned for each in boxes):
        return False

    def forms(rows: tuple[int, int, int, int]) -> list[Any]:
        wide = (widths[0], widths[0], widths[1], widths[1])
        return [
            each.descriptor(count, width)
            for each, count, width in zip(boxes, rows, wide, strict=True)
            if each is not None
        ]

    index, heads = index_type(*own, logs), call.heads // call.group
    kinds = {
        "SCALE": constants["SCALE"], "CAUSAL": constants["CAUSAL"], "WIDTH": widths[0],
        "VALUES": widths[1], "INDEX": index,
    }  # fmt: skip
    blocks = -(-q.shape[2] // _LONG)
    described_query_gradients[(blocks * call.heads * call.sequences,)](
        *forms((_LONG, _SHORT, _SHORT, _LONG)), logs.value, sums.value, own[0].value, blocks,
        call.heads, call.group, q.shape[2], k.shape[2], widths[0], own[0].strides, M=_LONG,
        N=_SHORT, **kinds, **_OPTIONS,
    )  # fmt: skip
    blocks = -(-k.shape[2] // _LONG)
    described_key_gradients[(blocks * heads * call.sequences,)](
        *forms((_SHORT, _LONG, _LONG, _SHORT)), logs.value, sums.value, own[1].value, own[2].value,
        blocks, heads, call.group, q.shape[2], k.shape[2], *widths, own[1].strides, own[2].strides,
        M=_SHORT, N=_LONG, **kinds, **_OPTIONS,
    )  # fmt: skip
    return True


def _boxes(array: Operand) -> described.Described | None:
    batches = zip(array.shape[:2], array.strides[:2], strict=True)
    return described.described(array, tuple(batches))
