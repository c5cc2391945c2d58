"""The words of the table's rows: what a function that its row describes whole may name.

``runtime/words.py`` adds those of the runtime alone.
"""

from __future__ import annotations

from gridlane.abi import images
from gridlane.abi.calls import (
    array_copies,
    arrays,
    attributes,
    batches,
    captures,
    contexts,
    copies,
    devices,
    executables,
    formats,
    function_attributes,
    functions,
    graph_memory,
    graph_nodes,
    graphs,
    jit,
    launch_attributes,
    launches,
    libraries,
    memory,
    modules,
    occupancy,
    peer_boxes,
    pools,
    profiler,
    ranges,
    resources,
    stream_memory,
    textures,
)
from gridlane.abi.calls import streams as stream_calls
from gridlane.abi.calls.rows import words
from gridlane.abi.failure import ILLEGAL_STATE, INVALID_CONTEXT, INVALID_VALUE, fail
from gridlane.abi.state import arrays as array_state
from gridlane.abi.state import captures as capture_state
from gridlane.abi.state import contexts as context_state
from gridlane.abi.state import devices as device_state
from gridlane.abi.state import executables as executable_state
from gridlane.abi.state import graph_memory as graph_memory_state
from gridlane.abi.state import graphs as graph_state
from gridlane.abi.state import libraries as library_state
from gridlane.abi.state import memory as memory_state
from gridlane.abi.state import modules as module_state
from gridlane.abi.state import pools as pool_state
from gridlane.abi.state import streams, user_objects
from gridlane.abi.state import textures as texture_state
from gridlane.abi.state.copying import Copy, Fill
from gridlane.abi.state.graph_memory import Free
from gridlane.abi.state.launching import Launch
from gridlane.abi.state.links import Link, links
from gridlane.abi.state.work import Empty, HostCall, Record, Wait
from gridlane.abi.struct import Struct

# What a handle or a number of the program is the name of.
words |= {
    "array": arrays.array,
    "context": context_state.of_handle,
    "current": context_state.current,
    "device": device_state.device,
    "event": streams.event,
    "executable": executable_state.executable,
    "function": library_state.function_of,
    "graph": graph_state.graph,
    "kernel": libraries.kernel_of,
    "known_kernel": libraries.known_kernel,
    "levels": arrays.mipmapped,
    "library": libraries.library_of,
    "module": module_state.modules.get,
    "named": functions.named,
    "node": graph_state.node,
    "pool": pool_state.pool,
    "primary": context_state.primary,
    "stream": streams.stream,
    "surface": textures.surface_of,
    "texture": textures.texture_of,
    "user_object": user_objects.user_object,
}

# What is done with these.
words |= {
    "active_clusters": occupancy.active_clusters,
    "added": graph_nodes.added,
    "allocate": memory_state.allocate,
    "allocation_of": graph_memory.allocation_of,
    "array_of": arrays.described,
    "array_to_host": array_copies.array_to_host,
    "attributes": function_attributes.attributes,
    "available_shared": occupancy.available_shared,
    "batch": ranges.check_batch,
    "begin_capture": capture_state.begin,
    "between": copies.between,
    "blocks": occupancy.blocks,
    "box_copy": copies.box_copy,
    "bus_place": devices.place,
    "by_address": copies.by_address,
    "capture_place": captures.place_of,
    "capture_status": captures.status_of,
    "change": executables.change,
    "change_copy": executables.change_copy,
    "change_fill": executables.change_fill,
    "check_array_flags": arrays.check_flags,
    "check_banks": functions.check_banks,
    "check_block": occupancy.check_block,
    "check_cache": functions.check_cache,
    "check_capture_mode": captures.check_mode,
    "check_edges": graphs.check_edges,
    "check_graph_device": graph_memory.check_device,
    "check_library_options": libraries.check_options,
    "check_references": graphs.check_count,
    "child_of": graph_nodes.child_of,
    "choose_pool": pool_state.choose,
    "chosen_pool": pool_state.chosen,
    "cooperative": launch_attributes.cooperative,
    "copy_of": graph_nodes.copy_of,
    "created_context": contexts.created,
    "cut": devices.cut,
    "default_pool": pool_state.default,
    "described": graph_nodes.given,
    "device_count": device_state.count,
    "end_array": array_state.destroy,
    "end_capture": capture_state.end,
    "end_levels": array_state.destroy_mipmapped,
    "end_link": links.remove,
    "end_pool": pool_state.destroy,
    "end_texture": texture_state.destroy,
    "exchange_capture_mode": capture_state.exchange,
    "fail": fail,
    "fill_from": graph_nodes.fill_from,
    "finished": copies.finished,
    "finished_if_asked": copies.finished_if_asked,
    "forget": streams.forget,
    "free_memory": memory_state.free,
    "freeing": graph_memory_state.freeing,
    "host_call_of": graph_nodes.host_call_of,
    "host_memory": memory.host_memory,
    "host_to_array": array_copies.host_to_array,
    "images_at": images.at,
    "in_room": graphs.in_room,
    "jit_options": jit.Options,
    "kernel_attributes": libraries.attributes_of,
    "kernel_in": module_state.function,
    "launch": launches.launch,
    "launch_of": graph_nodes.launch_of,
    "len": len,
    "library_in_file": libraries.from_file,
    "library_in_memory": libraries.from_memory,
    "link": Link,
    "loaded": modules.loaded,
    "located": pools.located,
    "make_current": context_state.make_current,
    "name_no_copy": batches.name_no_copy,
    "new_array": array_state.create,
    "new_levels": arrays.new_levels,
    "new_surface": textures.surface_from,
    "parameter": functions.parameter,
    "peer_box": peer_boxes.append,
    "place_of_number": ranges.place_of_number,
    "pop": context_state.pop,
    "potential_block": occupancy.potential_block,
    "potential_cluster": occupancy.potential_cluster,
    "prefetch": ranges.note_prefetch,
    "profiling": profiler.profiling,
    "push": context_state.push,
    "range_attribute": ranges.attribute_of,
    "replace": graph_nodes.replace,
    "resource": resources.of_driver,
    "resource_of_driver": resources.to_driver,
    "sampling": textures.sampling_of,
    "sampling_of_driver": resources.sampling_to_driver,
    "stack": context_state.stack,
    "starting_at": memory_state.starting_at,
    "stream_attribute": attributes.stream_attribute,
    "texels": formats.of_runtime,
    "text": libraries.text_of,
    "title": devices.title,
    "to_device": copies.to_device,
    "to_host": copies.to_host,
    "trim_graph_memory": graph_memory_state.trim,
    "unload": module_state.unload,
    "view": textures.view_of,
    "wait": streams.wait,
    "wait_for_word": stream_memory.wait_for_word,
    "with_edge_data": graphs.with_edge_data,
    "within": copies.within,
    "work_from": graph_nodes.work_from,
    "work_of": graph_nodes.work_of,
    "write_word": stream_memory.write_word,
}

# Classes and numbers.
words |= {
    "Copy": Copy,
    "Empty": Empty,
    "Fill": Fill,
    "Free": Free,
    "GLOBAL": capture_state.GLOBAL,
    "GREATEST": stream_calls.GREATEST,
    "HostCall": HostCall,
    "ILLEGAL_STATE": ILLEGAL_STATE,
    "INVALID_CONTEXT": INVALID_CONTEXT,
    "INVALID_VALUE": INVALID_VALUE,
    "Launch": Launch,
    "LEAST": stream_calls.LEAST,
    "Record": Record,
    "Struct": Struct,
    "VERSION": device_state.VERSION,
    "Wait": Wait,
}
