"""Attention by tensor descriptors, where a device copies boxes of tensors itself."""

from __future__ import annotations

from typing import Any, NamedTuple

from gridlane.tiles.descriptors import TensorDescriptor
from gridlane.tiles.kernels import described
from gridlane.tiles.kernels.attention_calls import Call
from gridlane.tiles.kernels.blocks import has_warpgroups, multiprocessors
from gridlane.tiles.kernels.operands import Operand, index_type
from gridlane.tiles.kernels.prepared import Launch, empty, over
from gridlane.tiles.kernels.programs.described_attention import described_attention_tiles

_ROWS = 128
"""Queries of a tile: two warpgroups, which take turns."""
_COLUMNS, _BOUNDED_COLUMNS = 128, 64
"""Keys of a tile, and where scores are bounded, which takes registers."""
_WARPS = 8
_WIDTHS = (64, 128)
_STAGES = 2


class PreparedAttention(NamedTuple):
    """The launch of attention of batches.

    Attributes:
        forms: the descriptors of queries, keys and values, over other arrays.
        launch: of the program.
        shape, dtype: of the result.
        has_logs: whether the logarithms are wanted.
    """

    forms: tuple[TensorDescriptor, TensorDescriptor, TensorDescriptor]
    launch: Launch
    shape: tuple[int, ...]
    dtype: str
    has_logs: bool

    def run(self, q: Any, k: Any, v: Any, out: Any) -> Any:
        """Launch over arrays like those that it was prepared for; ``out`` is new where it is
        None. Returns it, or with the logarithms."""
        if out is None:
            out = empty(q, self.shape, self.dtype)
        logs = empty(q, self.shape[:3], "float32") if self.has_logs else None
        arrays = [over(form, each) for form, each in zip(self.forms, (q, k, v), strict=True)]
        self.launch.over(*arrays, out, logs, *self.launch.rest, **self.launch.options)
        return (out, logs) if self.has_logs else out


def prepare(call: Call, out: Operand, has_logs: bool) -> PreparedAttention | None:
    """The launch of attention of batches; None where the device or the arrays have no tensor maps
    for it."""
    q, k, v = call.q, call.k, call.v
    rows, keys = q.shape[2], k.shape[2]
    widths = call.constants["WIDTH"], call.constants["VALUES"]
    softcap = call.constants["SOFTCAP"]
    columns = _COLUMNS if softcap is None else _BOUNDED_COLUMNS
    if call.starts is not None or rows < _ROWS or keys < columns:
        return None
    if q.dtype not in described.FACTORS or not set(widths) <= set(_WIDTHS) or not has_warpgroups():
        return None
    found = [_described(each) for each in (q, k, v)]
    if any(each is None or each.turned for each in found):
        return None
    forms = [
        each.descriptor(length, width)
        for each, length, width in zip(
            found, (_ROWS, columns, columns), (widths[0], *widths), strict=True
        )
        if each is not None
    ]
    blocks, constants = -(-rows // _ROWS), call.constants
    count = blocks * call.heads * call.sequences
    # Blocks of causal attention differ in time; the device gives them out as it gets idle.
    causal, window = constants["CAUSAL"], constants["WINDOW"]
    persistent = not causal and count > multiprocessors()
    values = None if v.shape[3] == widths[1] else v.shape[3]
    rest = (
        count, blocks, call.heads, call.group, *call.extents[:3], values, out.strides,
        constants["SCALE"], causal, window, keys % columns != 0,
        window or (causal and rows > keys), persistent, _ROWS, columns, *widths, index_type(out),
        softcap, *call.scale_arguments,
    )  # fmt: skip
    grid = (multiprocessors() if persistent else count,)
    options = {"num_warps": _WARPS, "num_stages": _STAGES}
    launch = Launch(described_attention_tiles[grid], rest, options)
    return PreparedAttention((forms[0], forms[1], forms[2]), launch, out.shape, out.dtype, has_logs)


def _described(array: Operand) -> described.Described | None:
    batches = zip(array.shape[:2], array.strides[:2], strict=True)
    return described.described(array, tuple(batches))
