"""The words of the table's rows: what a function that its row describes whole may name, and where
that is. A word is looked up at its first use, so that a program imports what it calls."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any

PLACES = {
    "builtins": "len",
    "calls.array_copies": (
        "array_to_host from_array host_to_array rows_from_array rows_to_array to_array"
    ),
    "calls.arrays": (
        "array array_of=described check_array_flags=check_flags levels=mipmapped new_levels"
    ),
    "calls.attributes": "stream_attribute",
    "calls.batches": "name_no_copy",
    "calls.captures": (
        "capture_place=place_of capture_status=status_of check_capture_mode=check_mode"
    ),
    "calls.contexts": "created_context=created",
    "calls.copies": (
        "between box_copy by_address finished finished_if_asked to_device to_host within"
    ),
    "calls.devices": "bus_place=place cut title",
    "calls.executables": "change change_copy change_fill",
    "calls.formats": "channel_format=to_runtime texels=of_runtime",
    "calls.function_attributes": "attributes",
    "calls.functions": "check_banks check_cache named of_runtime parameter",
    "calls.graph_memory": "allocation_of check_graph_device=check_device",
    "calls.graph_nodes": (
        "added child_of copy_of described=given fill_from host_call_of launch_of replace "
        "work_from work_of"
    ),
    "calls.graphs": "check_edges check_references=check_count in_room with_edge_data",
    "calls.jit": "jit_options=Options",
    "calls.launch_attributes": "Chosen cooperative",
    "calls.launches": "launch",
    "calls.libraries": (
        "check_library_options=check_options kernel=kernel_of kernel_attributes=attributes_of "
        "known_kernel library=library_of library_in_file=from_file library_in_memory=from_memory "
        "text=text_of"
    ),
    "calls.memory": "host_memory",
    "calls.modules": "loaded",
    "calls.occupancy": (
        "active_clusters available_shared blocks check_block potential_block potential_cluster"
    ),
    "calls.peer_boxes": "peer_box=append",
    "calls.pools": "located",
    "calls.profiler": "profiling",
    "calls.ranges": (
        "batch=check_batch place_of_number prefetch=note_prefetch range_attribute=attribute_of"
    ),
    "calls.resources": (
        "resource=of_driver resource_by_runtime=of_runtime resource_of_driver=to_driver "
        "resource_of_runtime=to_runtime sampling_of_driver=sampling_to_driver "
        "sampling_of_runtime=sampling_to_runtime"
    ),
    "calls.runtime.boxes": "planes planes_within rows",
    "calls.runtime.contexts": "checked_device=checked",
    "calls.runtime.copies": "append",
    "calls.runtime.fills": "fill=fill_rows fill_planes",
    "calls.runtime.launches": "dim3 launch_by_address=launch",
    "calls.runtime.memory": "allocate_rows",
    "calls.runtime.symbols": (
        "from_symbol part_of_symbol=part_of symbol_origin=origin symbol_target=target to_symbol"
    ),
    "calls.runtime_graphs": ("box instantiate_params kernel_params linear_box params_of_box"),
    "calls.stream_memory": "wait_for_word write_word",
    "calls.streams": "GREATEST LEAST",
    "calls.textures": (
        "new_surface=surface_from sampling=sampling_of surface=surface_of texture=texture_of "
        "view=view_of"
    ),
    "failure": "fail ILLEGAL_STATE INVALID_CONTEXT INVALID_VALUE NO_DEVICE",
    "images": "images_at=at",
    "state.arrays": "end_array=destroy end_levels=destroy_mipmapped new_array=create",
    "state.captures": ("begin_capture=begin end_capture=end exchange_capture_mode=exchange GLOBAL"),
    "state.contexts": "context=of_handle current make_current pop primary push stack",
    "state.copying": "Copy Fill",
    "state.devices": "device device_count=count initialise VERSION",
    "state.executables": "executable",
    "state.graph_memory": "Free freeing trim_graph_memory=trim",
    "state.graphs": "graph node",
    "state.launching": "Launch",
    "state.libraries": "function=function_of",
    "state.links": "end_link=links.remove link=Link",
    "state.memory": "allocate free_memory=free starting_at",
    "state.modules": "kernel_in=function module=modules.get unload",
    "state.pools": (
        "choose_pool=choose chosen_pool=chosen default_pool=default end_pool=destroy pool"
    ),
    "state.registered": "registered_kernel=kernel",
    "state.streams": "event forget stream wait",
    "state.textures": "end_texture=destroy",
    "state.threads": "bind raise_last thread_device=device",
    "state.user_objects": "user_object",
    "state.work": "Empty HostCall Record Wait",
    "struct": "Struct",
}
"""By modules of ``gridlane.abi``, and of Python: words, and behind "=" what they name there if that
is another name."""

WORDS = {
    word.partition("=")[0]: (module, word.rpartition("=")[2])
    for module, words in PLACES.items()
    for word in words.split()
}
"""The module of each word, and its name there."""


@cache
def word(name: str) -> Any:
    """What a word names: a function, a class or a number.

    Raises:
        KeyError: there is no such word.
    """
    module, attribute = WORDS[name]
    place = module if module == "builtins" else f"gridlane.abi.{module}"
    return attrgetter(attribute)(import_module(place))
