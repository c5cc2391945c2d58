"""``triton.testing``: comparisons, measurements, and tables of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from gridlane.launch import current
from gridlane.runtime.protocol import Event
from gridlane.tiles import knobs
from gridlane.tiles.rates import (
    get_dram_gbps,
    get_max_simd_tflops,
    get_max_tensorcore_tflops,
    nvsmi,
)
from gridlane.tuning.measuring import milliseconds, summarised

__all__ = [
    "Benchmark",
    "Mark",
    "assert_close",
    "do_bench",
    "do_bench_cudagraph",
    "get_dram_gbps",
    "get_max_simd_tflops",
    "get_max_tensorcore_tflops",
    "nvsmi",
    "perf_report",
]


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    *,
    measure_time_with_hooks: bool = False,
    fast_flush: bool = True,
    device_type: str = "",
) -> Any:
    """The time of a call on this thread's device, in milliseconds; a GPU's cache is emptied before.

    Args:
        warmup, rep: milliseconds to spend on calls that are not counted, and on those that are.
        grad_to_none: tensors whose gradient is dropped before each call.
        quantiles: to return, in place of what ``return_mode`` says.
        return_mode: ``mean``, ``median``, ``min``, ``max`` or ``all``.
        measure_time_with_hooks: the sum of the times of the launches in a call, each from its start
            to its end, without what the function does besides: an option of Triton's fork for CPUs.
        fast_flush, device_type: options of earlier releases; the device is this thread's.

    Raises:
        ValueError: ``device_type`` is another device than this thread's, or ``return_mode`` or
            ``quantiles`` are none: before anything is measured.
    """
    summarised([0.0], quantiles, return_mode)
    own = "cuda" if current.kind() == "cuda" else "cpu"
    if device_type not in ("", own):
        raise ValueError(
            f"do_bench(device_type={device_type!r}): tensors of the current device, "
            f"{current.kind()}, are torch's of {own!r}; choose a device by GRIDLANE_DEVICE or with "
            "gridlane.device(...)"
        )
    before: Callable[[], None] | None = None
    if grad_to_none is not None:

        def drop() -> None:
            for tensor in grad_to_none:
                tensor.grad = None

        before = drop
    if not measure_time_with_hooks:
        return summarised(milliseconds(fn, warmup, rep, before), quantiles, return_mode)
    with _launches_marked() as marks:
        times = milliseconds(fn, warmup, rep, before, marks)
    return summarised(times, quantiles, return_mode)


@contextmanager
def _launches_marked() -> Generator[list[tuple[Event, Event]]]:
    """The events before and behind each launch from now on; for the with block. Other hooks are
    called as well, outside of what is measured."""
    device, runtime = current.device(), knobs.runtime
    marks, starts = list[tuple[Event, Event]](), list[Event]()

    def recorded() -> Event:
        event = device.new_event()
        event.record(device.default_stream)
        return event

    first, last = runtime.launch_enter_hook, runtime.launch_exit_hook

    def enter(facts: Any) -> None:
        if first is not None:
            first(facts)
        starts.append(recorded())

    def leave(facts: Any) -> None:
        marks.append((starts.pop(), recorded()))
        if last is not None:
            last(facts)

    with runtime.scope():
        runtime.launch_enter_hook, runtime.launch_exit_hook = enter, leave
        yield marks


def do_bench_cudagraph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """As ``do_bench``: launches of gridlane cost no more outside of graphs."""
    return do_bench(fn, 5, rep, grad_to_none, quantiles, return_mode)


def assert_close(
    x: Any,
    y: Any,
    atol: float | None = None,
    rtol: float | None = None,
    err_msg: str = "",
) -> None:
    """Raise AssertionError unless two arrays are equal but for rounding.

    Args:
        x, y: tensors, arrays or numbers.
        atol, rtol: absolute and relative difference; 1e-2 and 0 where nothing is said.
    """
    one, two = _numbers(x), _numbers(y)
    atol = 1e-2 if atol is None else _of_type(atol, one)
    rtol = 0.0 if rtol is None else _of_type(rtol, one)
    if one.size > 1 or two.size > 1:
        np.testing.assert_allclose(one, two, atol=atol, rtol=rtol, equal_nan=True, err_msg=err_msg)
    elif not np.allclose(one, two, atol=atol, rtol=rtol):
        raise AssertionError(f"{err_msg} {x} is not close to {y} (atol={atol}, rtol={rtol})")


def _of_type(tolerance: Any, array: np.ndarray[Any, Any]) -> float:
    """A tolerance, which may be a function of the dtype."""
    found: Any = tolerance(array.dtype) if callable(tolerance) else tolerance
    return float(found)


def _numbers(value: Any) -> np.ndarray[Any, Any]:
    """A tensor or array in numpy; bfloat16 as float32."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if "bfloat16" in str(value.dtype) else value
        return value.numpy()
    if hasattr(value, "copy_to_host"):
        return value.copy_to_host()
    return np.asarray(value)


class Benchmark:
    """What ``perf_report`` measures: a function for each value of an argument and each line.

    Args:
        x_names: arguments that take the values of the x axis.
        x_vals: these values, each a number for all of them or a tuple.
        line_arg: the argument that tells lines apart.
        line_vals: its values; line_names: the names of the lines.
        plot_name: of the table and its file.
        args: further arguments of the function.
    """

    def __init__(
        self,
        x_names: Sequence[str],
        x_vals: Sequence[Any],
        line_arg: str,
        line_vals: Sequence[Any],
        line_names: Sequence[str],
        plot_name: str,
        args: Mapping[str, Any],
        xlabel: str = "",
        ylabel: str = "",
        x_log: bool = False,
        y_log: bool = False,
        styles: Any = None,
    ) -> None:
        self.x_names, self.x_vals = [*x_names], [*x_vals]
        self.line_arg, self.line_vals, self.line_names = line_arg, [*line_vals], [*line_names]
        self.plot_name, self.args = plot_name, dict(args)
        self.xlabel, self.ylabel, self.x_log, self.y_log = xlabel, ylabel, x_log, y_log
        self.styles = styles


class Mark:
    """A function with the benchmarks that it measures."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | Sequence[Benchmark]) -> None:
        self.fn, self.benchmarks = fn, benchmarks
        functools.update_wrapper(self, fn)  # type: ignore[arg-type]  # a function with a method

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        **keywords: Any,
    ) -> Any:
        """Measure; print a table, write it as CSV, or return rows.

        Args:
            show_plots: has no effect: tables are printed.
            save_path: a folder for a CSV file of each benchmark.
            return_df: return the tables: pandas' if it is installed, else lists of rows.
        """
        several = not isinstance(self.benchmarks, Benchmark)
        given = self.benchmarks if several else [self.benchmarks]
        tables = [self._measured(each, keywords) for each in given]  # type: ignore[union-attr]  # a list
        for benchmark, table in zip(given, tables, strict=True):  # type: ignore[arg-type]  # a list
            if print_data or show_plots:
                print(_text(benchmark.plot_name, table))
            if save_path:
                folder = Path(save_path)
                folder.mkdir(parents=True, exist_ok=True)
                lines = [",".join(map(str, row)) for row in table]
                (folder / f"{benchmark.plot_name}.csv").write_text("\n".join(lines) + "\n")
        if not return_df:
            return None
        frames = [_frame(table) for table in tables]
        return frames if several else frames[0]

    def _measured(self, bench: Benchmark, keywords: Mapping[str, Any]) -> list[list[Any]]:
        """A row of names, then one for each value of the x axis."""
        table: list[list[Any]] = [[*bench.x_names, *bench.line_names]]
        for x in bench.x_vals:
            values = list(x) if isinstance(x, list | tuple) else [x] * len(bench.x_names)
            if len(values) != len(bench.x_names):
                raise ValueError(f"Expected {len(bench.x_names)} values, got {x}")
            row: list[Any] = [*values]
            for line in bench.line_vals:
                named = dict(zip(bench.x_names, values, strict=True))
                result = self.fn(**named, **{bench.line_arg: line}, **bench.args, **keywords)
                row.append(result[0] if isinstance(result, list | tuple) else result)
            table.append(row)
        return table


def _text(title: str, table: list[list[Any]]) -> str:
    """A table as text."""
    rows = [
        [f"{item:.6f}" if isinstance(item, float) else str(item) for item in row] for row in table
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
    return "\n".join([f"{title}:", *lines])


def _frame(table: list[list[Any]]) -> Any:
    try:
        import pandas  # type: ignore[import-not-found]  # an option of the program's
    except ImportError:
        return table
    return pandas.DataFrame(table[1:], columns=table[0])


def perf_report(benchmarks: Benchmark | Sequence[Benchmark]) -> Callable[..., Mark]:
    """Make a function one that measures benchmarks, by its ``run``."""
    return lambda fn: Mark(fn, benchmarks)
