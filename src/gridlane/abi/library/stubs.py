"""The C text of a library's functions, from the table's rows.

A stub has the calling convention of its function: integers and pointers as they are, structures by
value as words. It passes each argument on as 64 bits, a structure by its address.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.abi import tracing
from gridlane.abi.calls.initialisation import meaning
from gridlane.core.cuda_table import CType, ctype, enums, layout
from gridlane.core.cuda_table.functions import Api, Function, exported

_INTEGERS = {1: "int8_t", 2: "int16_t", 4: "int32_t", 8: "int64_t"}
HOT = {
    "cudaGetLastError": "gl_knows(gl_me(), GL_NO_ERROR)",
    "cudaPeekAtLastError": "gl_knows(gl_me(), GL_NO_ERROR)",
    "cudaGetDevice": "gl_get_device(a0)",
    "cudaGetDeviceCount": "gl_ready_count(a0)",
    "cudaSetDevice": "gl_knows(gl_me(), GL_KNOWS_DEVICE) && "
    "(gl_thread.chosen == a0 || gl_ready_chooses(a0))",
    "cuCtxGetCurrent": "gl_get_context(a0)",
    "cuCtxGetDevice": "gl_knows(gl_me(), GL_READY) && gl_get_device(a0)",
    "cudaMalloc": "gl_allocate(a0, a1) || gl_allocate_large(a0, a1)",
    "cuMemAlloc_v2": "gl_allocate(a0, a1)",
    "cudaFree": "gl_free((uintptr_t)a0) || gl_free_large((uintptr_t)a0)",
    "cuMemFree_v2": "gl_free(a0)",
    "cudaMemcpy": "gl_copy(a0, a1, a2, a3, GL_LEGACY)",
    "cudaMemcpyAsync": "gl_copy(a0, a1, a2, a3, a4)",
    "cudaMemset": "gl_fill((uintptr_t)a0, (uint32_t)a1, a2, 1, GL_LEGACY)",
    "cudaMemsetAsync": "gl_fill((uintptr_t)a0, (uint32_t)a1, a2, 1, a3)",
    "cuMemcpy": "gl_copy_between(a0, a1, a2, GL_LEGACY)",
    "cuMemcpyAsync": "gl_copy_between(a0, a1, a2, a3)",
    "cuMemcpyHtoD_v2": "gl_copy_to_device(a0, a1, a2, GL_LEGACY)",
    "cuMemcpyHtoDAsync_v2": "gl_copy_to_device(a0, a1, a2, a3)",
    "cuMemcpyDtoH_v2": "gl_copy_to_host(a0, a1, a2, GL_LEGACY)",
    "cuMemcpyDtoHAsync_v2": "gl_copy_to_host(a0, a1, a2, a3)",
    "cuMemcpyDtoD_v2": "gl_copy_within(a0, a1, a2, GL_LEGACY)",
    "cuMemcpyDtoDAsync_v2": "gl_copy_within(a0, a1, a2, a3)",
    "cuMemsetD8_v2": "gl_fill(a0, a1, a2, 1, GL_LEGACY)",
    "cuMemsetD16_v2": "gl_fill(a0, a1, a2, 2, GL_LEGACY)",
    "cuMemsetD32_v2": "gl_fill(a0, a1, a2, 4, GL_LEGACY)",
    "cuMemsetD8Async": "gl_fill(a0, a1, a2, 1, a3)",
    "cuMemsetD16Async": "gl_fill(a0, a1, a2, 2, a3)",
    "cuMemsetD32Async": "gl_fill(a0, a1, a2, 4, a3)",
    "cudaDeviceSynchronize": "gl_wait()",
    "cuCtxSynchronize": "gl_wait()",
    "cudaStreamCreate": "gl_new_stream(a0, 0, 0)",
    **dict.fromkeys(("cudaStreamCreateWithFlags", "cuStreamCreate"), "gl_new_stream(a0, a1, 0)"),
    "cudaStreamCreateWithPriority": "gl_new_stream(a0, a1, a2)",
    "cuStreamCreateWithPriority": "gl_new_stream(a0, a1, a2)",
    **dict.fromkeys(("cudaStreamDestroy", "cuStreamDestroy_v2"), "gl_end_stream(a0)"),
    "cudaEventCreate": "gl_new_event(a0, 0)",
    **dict.fromkeys(("cudaEventCreateWithFlags", "cuEventCreate"), "gl_new_event(a0, a1)"),
    **dict.fromkeys(("cudaEventDestroy", "cuEventDestroy_v2"), "gl_end_event((uintptr_t)a0)"),
    **dict.fromkeys(("cudaStreamSynchronize", "cuStreamSynchronize"), "gl_synchronize(a0)"),
    **dict.fromkeys(("cudaEventRecord", "cuEventRecord"), "gl_record((uintptr_t)a0, a1)"),
    **dict.fromkeys(
        ("cudaStreamWaitEvent", "cuStreamWaitEvent"), "gl_follow(a0, (uintptr_t)a1, a2)"
    ),
    **dict.fromkeys(("cudaEventSynchronize", "cuEventSynchronize"), "gl_wait_event((uintptr_t)a0)"),
}
"""The conditions under which C has answered a function; otherwise the stub enters Python."""
CODES = {
    "cudaLaunchKernel": "gl_launch(GL_RUNTIME, (uintptr_t)a0, a1.words, a2.words, a3, a4, a5)",
    "cuLaunchKernel": "a10 ? -1 : gl_launch(GL_DRIVER, (uintptr_t)a0, "
    "(const uint32_t[]){ a1, a2, a3 }, (const uint32_t[]){ a4, a5, a6 }, a9, a7, a8)",
    **dict.fromkeys(("cudaStreamQuery", "cuStreamQuery"), "gl_query(a0)"),
    **dict.fromkeys(("cudaEventQuery", "cuEventQuery"), "gl_query_event((uintptr_t)a0)"),
    **dict.fromkeys(
        [f"{api}EventElapsedTime{version}" for api in ("cuda", "cu") for version in ("", "_v2")],
        "gl_elapsed_time(a0, (uintptr_t)a1, (uintptr_t)a2)",
    ),
}
"""Functions whose codes C returns also when they fail; a code below 0 enters Python."""
WRITTEN = frozenset(
    {
        "cuGetProcAddress", "cuGetProcAddress_v2", "cuGetExportTable", "cudaGetDriverEntryPoint",
        "cudaGetDriverEntryPointByVersion", "cudaRuntimeGetVersion", "cuGetErrorName",
        "cuGetErrorString", "cudaGetErrorName", "cudaGetErrorString", "nvrtcGetErrorString",
    }
)  # fmt: skip
"""Functions that are written in C."""
STREAMS = "CUstream", "cudaStream_t"
"""The types of a stream."""


def stubs(api: Api, major: int) -> str:
    """The C text of a library."""
    lines = ['#include "hot.h"', "", *structs(exported(api, major)), ""]
    for row in exported(api, major):
        if row.name not in WRITTEN:
            lines += _stub(row, "")
            if row.per_thread:
                lines += _stub(row, f"_{row.per_thread}")
    lines += _errors(api)
    if api == "driver":
        lines += _symbols(exported(api, major))
    return "\n".join(lines) + "\n"


def _stub(row: Function, suffix: str) -> Iterator[str]:
    kinds = [ctype(each.type) for each in row.parameters]
    name = f"{row.name}{suffix}"
    given = ", ".join(f"{c_type(kind)} a{n}" for n, kind in enumerate(kinds)) or "void"
    passed = ", ".join(_as_word(kind, f"a{n}") for n, kind in enumerate(kinds)) or "0"
    result = result_of(row)
    hot = HOT.get(row.name)
    is_hot = int(hot is not None or row.name in CODES)
    yield f'static struct gl_slot slot_{name} = {{ "{row.api}:{name}", 0, {is_hot} }};'
    yield f"GL_EXPORT {result} {name}({given})"
    yield "{"
    if suffix:
        for n, each in enumerate(row.parameters):
            if each.type in STREAMS:
                yield f"    a{n} = a{n} ? a{n} : GL_OF_THREAD;"
    if hot is not None:
        condition = hot.replace("GL_LEGACY", "GL_OF_THREAD") if suffix else hot
        yield f"    if ({condition})\n        return 0;"
    if row.name in CODES:
        yield f"    const int code = {CODES[row.name]};"
        yield "    if (code >= 0)\n        return code;"
    if result.startswith("struct"):  # Python writes it behind the last address
        yield f"    {result} made = {{ {{ 0 }} }};"
        yield f"    const uint64_t words[] = {{ {passed}, (uint64_t)(uintptr_t)&made }};"
        yield f"    gl_enter(&slot_{name}, words, {len(kinds) + 1});"
        yield "    return made;"
    else:
        yield f"    const uint64_t words[] = {{ {passed} }};"
        yield f"    return ({result})gl_enter(&slot_{name}, words, {len(kinds)});"
    yield "}"


def result_of(row: Function) -> str:
    """The C type of what a function returns."""
    if not row.result:
        return "int"
    return "const char *" if row.result.endswith("*") else c_type(ctype(row.result))


def c_type(kind: CType) -> str:
    """A type with the calling convention of another, without CUDA's headers."""
    if kind.kind in ("pointer", "handle"):
        return "void *"
    if kind.kind == "float":
        return "float" if kind.size == 4 else "double"
    if kind.kind == "struct":
        return f"struct words_{words_of(kind)}"
    prefix = "" if kind.kind == "enum" or kind.signed else "u"
    return prefix + _INTEGERS[kind.size]


def words_of(kind: CType) -> int:
    """The number of 32-bit words of a structure by value."""
    return -(-layout(kind.name).size // 4)


def structs(rows_of_library: list[Function]) -> Iterator[str]:
    """The structures that functions take or return by value, without their members."""
    kinds = [ctype(each.type) for row in rows_of_library for each in row.parameters]
    kinds += [ctype(row.result) for row in rows_of_library if row.result]
    for count in sorted({words_of(kind) for kind in kinds if kind.kind == "struct"}):
        yield f"struct words_{count} {{ uint32_t words[{count}]; }};"


def _as_word(kind: CType, name: str) -> str:
    if kind.kind == "float":
        return f"gl_of_{'float' if kind.size == 4 else 'double'}({name})"
    if kind.kind == "struct":
        return f"(uint64_t)(uintptr_t)&{name}"
    if kind.kind in ("pointer", "handle"):
        return f"(uint64_t)(uintptr_t){name}"
    return f"(uint64_t){name}"


def _errors(api: Api) -> Iterator[str]:
    """The table of ``errors.c``."""
    names: dict[int, str] = {}
    for name, number in enums()[tracing.ERRORS[api]].values.items():
        names.setdefault(number, name)
    yield "const struct gl_error gl_errors[] = {"
    for number, name in names.items():
        yield f'    {{ {number}, "{name}", "{meaning(number).decode()}" }},'
    yield "};"
    yield "const int gl_error_count = sizeof gl_errors / sizeof *gl_errors;"


def _symbols(rows_of_library: list[Function]) -> Iterator[str]:
    """The table of ``cuGetProcAddress``, sorted by name and version."""
    ordered = sorted(rows_of_library, key=lambda row: (row.base, row.since))
    written = (f"{row.name}()" for row in ordered if row.name in WRITTEN)
    yield f"extern int {', '.join(written)};"
    yield "const struct gl_symbol gl_symbols[] = {"
    for row in ordered:
        own = f"(void *){row.name}_{row.per_thread}" if row.per_thread else "0"
        since = row.since[0] * 1000 + row.since[1] * 10
        yield f'    {{ "{row.base}", {since}, (void *){row.name}, {own} }},'
    yield "};"
    yield "const int gl_symbol_count = sizeof gl_symbols / sizeof *gl_symbols;"
