"""The words of the rows of the runtime alone; see ``calls/words.py``."""

from __future__ import annotations

from gridlane.abi.calls import array_copies, formats, functions, resources, runtime_graphs
from gridlane.abi.calls import words as words_of_driver
from gridlane.abi.calls.launch_attributes import Chosen
from gridlane.abi.calls.rows import words
from gridlane.abi.calls.runtime import boxes, contexts, copies, fills, launches, memory, symbols
from gridlane.abi.failure import NO_DEVICE
from gridlane.abi.state import devices, registered, threads

assert words_of_driver.words is words  # which the runtime's rows use as well

words |= {
    "allocate_rows": memory.allocate_rows,
    "append": copies.append,
    "bind": threads.bind,
    "box": runtime_graphs.box,
    "channel_format": formats.to_runtime,
    "checked_device": contexts.checked,
    "Chosen": Chosen,
    "dim3": launches.dim3,
    "fill": fills.fill_rows,
    "fill_planes": fills.fill_planes,
    "from_array": array_copies.from_array,
    "from_symbol": symbols.from_symbol,
    "initialise": devices.initialise,
    "instantiate_params": runtime_graphs.instantiate_params,
    "kernel_params": runtime_graphs.kernel_params,
    "launch_by_address": launches.launch,
    "linear_box": runtime_graphs.linear_box,
    "NO_DEVICE": NO_DEVICE,
    "of_runtime": functions.of_runtime,
    "params_of_box": runtime_graphs.params_of_box,
    "part_of_symbol": symbols.part_of,
    "planes": boxes.planes,
    "planes_within": boxes.planes_within,
    "raise_last": threads.raise_last,
    "registered_kernel": registered.kernel,
    "resource_by_runtime": resources.of_runtime,
    "resource_of_runtime": resources.to_runtime,
    "rows": boxes.rows,
    "rows_from_array": array_copies.rows_from_array,
    "rows_to_array": array_copies.rows_to_array,
    "sampling_of_runtime": resources.sampling_to_runtime,
    "symbol_origin": symbols.origin,
    "symbol_target": symbols.target,
    "thread_device": threads.device,
    "to_array": array_copies.to_array,
    "to_symbol": symbols.to_symbol,
}
