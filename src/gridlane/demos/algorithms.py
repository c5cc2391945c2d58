"""Sorts, scans and reductions with operators in Python."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from gridlane import algorithms, cuda
from gridlane.algorithms import CountingIterator, OpKind, SortOrder, TransformIterator
from gridlane.demos.checking import check, run


def larger(a: Any, b: Any) -> Any:
    """An operator of scans."""
    return a if a > b else b


def demo(options: Namespace) -> None:
    """Sort, scan, select and reduce on the device, and compare with NumPy's."""
    n = options.size
    numbers = np.random.default_rng(5).integers(0, n, n).astype(np.int32)
    x = cuda.to_device(numbers)

    ordered = cuda.device_array(n, np.int32)
    algorithms.radix_sort(
        d_in_keys=x,
        d_out_keys=ordered,
        d_in_values=None,
        d_out_values=None,
        num_items=n,
        order=SortOrder.ASCENDING,
    )
    check("sorted numbers", ordered.copy_to_host(), np.sort(numbers))

    records = cuda.device_array(n, np.int32)
    algorithms.inclusive_scan(d_in=x, d_out=records, num_items=n, op=larger, init_value=None)
    check("largest so far", records.copy_to_host(), np.maximum.accumulate(numbers))

    few, count = cuda.device_array(n, np.int32), cuda.device_array(1, np.int64)
    algorithms.unique(
        d_in=ordered, d_out=few, d_num_selected_out=count, num_items=n, op=OpKind.EQUAL_TO
    )
    distinct = few.copy_to_host()[: int(count.copy_to_host()[0])]
    check("distinct numbers", distinct, np.unique(numbers))

    total = cuda.device_array(1, np.int64)
    squares = TransformIterator(CountingIterator(np.int64(1)), lambda i: i * i)
    algorithms.reduce_into(
        d_in=squares, d_out=total, num_items=1000, op=OpKind.PLUS, h_init=np.int64(0)
    )
    check("the sum of 1000 squares", total.copy_to_host(), [1000 * 1001 * 2001 // 6])


if __name__ == "__main__":
    run(demo, size=100_000)
