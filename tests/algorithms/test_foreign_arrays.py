"""Arrays of other libraries, by their ``__cuda_array_interface__``."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.algorithms.on_devices import room, up

from gridlane import algorithms
from gridlane.algorithms import OpKind, SortOrder, gpu_struct

Pair = gpu_struct({"flag": np.int8, "inner": {"place": np.int64, "letter": np.int8}})


class Foreign:
    """Another library's array, which shows nothing but its interface."""

    def __init__(self, host: Any) -> None:
        self.own = up(host.view(np.uint8)) if host.dtype.names else up(host)
        shown = self.own.__cuda_array_interface__
        if host.dtype.names:
            kind = {"typestr": host.dtype.str, "descr": host.dtype.descr, "shape": host.shape}
            shown = {**shown, **kind}
        self.__cuda_array_interface__ = shown


X = np.random.default_rng(0).integers(0, 100, 900).astype(np.int32)


def test_every_kind_of_algorithm():
    x, total = Foreign(X), room(1, np.int32)
    out = Foreign(np.zeros(900, np.int32))
    algorithms.reduce_into(d_in=x, d_out=total, num_items=900, op=OpKind.PLUS, h_init=np.int32(1))
    assert total.copy_to_host()[0] == X.sum() + 1
    algorithms.inclusive_scan(d_in=x, d_out=out, num_items=900, op=OpKind.PLUS)
    assert np.array_equal(out.own.copy_to_host(), np.cumsum(X))
    algorithms.merge_sort(d_in_keys=x, d_out_keys=out, num_items=900, op=OpKind.LESS)
    assert np.array_equal(out.own.copy_to_host(), np.sort(X))
    algorithms.radix_sort(d_in_keys=x, d_out_keys=out, num_items=900, order=SortOrder.DESCENDING)
    assert np.array_equal(out.own.copy_to_host(), np.sort(X)[::-1])
    algorithms.select(
        d_in=x, d_out=out, d_num_selected_out=total, cond=lambda v: v > 50, num_items=900
    )
    assert np.array_equal(out.own.copy_to_host()[: total.copy_to_host()[0]], X[X > 50])
    algorithms.merge_sort(d_in_keys=x, d_out_keys=x, num_items=900, op=OpKind.LESS)
    assert np.array_equal(x.own.copy_to_host(), np.sort(X))


def test_structures_with_padding():
    host = np.zeros(90, Pair.dtype)
    host["inner"]["place"], host["inner"]["letter"] = np.arange(90), 3
    out = room(90, np.int64)
    algorithms.unary_transform(
        d_in=Foreign(host), d_out=out, op=lambda p: p.inner.place * p.inner.letter, num_items=90
    )
    assert np.array_equal(out.copy_to_host(), np.arange(90) * 3)
