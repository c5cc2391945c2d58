"""The module of each name of ``cuda``, and alternatives to names that gridlane lacks."""

from __future__ import annotations

from collections.abc import Iterable

from gridlane.core.errors import MissingError
from gridlane.core.suggestions import did_you_mean
from gridlane.core.vector_names import NAMES

STUBS = "gridlane.frontends.python.stubs"
"""Every other name is one that kernels use: grid, threadIdx, atomic, shared …"""

_BY_MODULE: dict[str, str] = {
    "kernels.decorators": "jit",
    "kernels.dispatcher": "Dispatcher",
    "kernels.tuning": "tune",
    "kernels.arguments": "In Out InOut",
    "arrays.creation": """
        to_device device_array device_array_like pinned_array pinned_array_like mapped_array
        mapped_array_like managed_array mapped pinned as_cuda_array is_cuda_array open_ipc_array
        from_cuda_array_interface
    """,
    "arrays.dlpack_arrays": "from_dlpack",
    "host.streams": """
        stream default_stream legacy_default_stream per_thread_default_stream external_stream
        event event_elapsed_time synchronize
    """,
    "host.pools": "stream_pool event_pool",
    "host.graphs": "capture",
    "host.device": """
        gpus list_devices get_current_device select_device current_context require_context close
        is_available is_supported_version is_float16_supported is_bfloat16_supported
        is_fp8_supported cuda_error detect defer_cleanup set_memory_manager
    """,
    "host.profiling": "profiling profile_start profile_stop",
    "arrays.managers": """
        BaseCUDAMemoryManager HostOnlyCUDAMemoryManager GetIpcHandleMixin MemoryInfo
    """,
    "arrays.pointers": "MemoryPointer MappedMemory PinnedMemory",
    "arrays.ipc": "IpcHandle",
    "ufuncs.reduction": "Reduce reduce",
    "ufuncs.vectorization": "vectorize",
    "ufuncs.gufunc": "guvectorize",
    "host.compilation": """
        compile compile_ptx compile_for_current_device compile_ptx_for_current_device
        compile_all
    """,
    "raw.code": "compile_cpp",
    "raw.module": "RawKernel RawModule",
    "kernels.linkable": """
        declare_device LinkableCode CUSource PTXSource Fatbin Cubin Archive Object LTOIR
    """,
    "kernels.argument_types": "typeof",
    "types": """
        boolean bool_ b1 int8 int16 int32 int64 uint8 uint16 uint32 uint64 i1 i2 i4 i8 u1 u2 u4 u8
        float16 bfloat16 float32 float64 f2 f4 f8 complex64 complex128 c8 c16 float_ double intp
        uintp size_t ssize_t intc uintc byte char uchar short ushort int_ uint long_ ulong longlong
        ulonglong void none
    """,
    "numba_compat": "install_as_numba HAS_NUMBA",
}

# name: (module under gridlane.cuda, name there)
MODULES: dict[str, tuple[str, str]] = {
    name: (module, name) for module, names in _BY_MODULE.items() for name in names.split()
} | {
    "KernelRuntimeError": ("host.errors", "KernelRuntimeError"),
    **{name: ("vectors", name) for name in NAMES},
}

# Subpackages and modules by their own names, so that importing one looks no further.
_OWN = (
    "arrays", "bf16", "cg", "driver", "extending", "host", "interop", "kernels", "libdevice",
    "memory", "names", "numba_compat", "random", "texture", "types", "ufuncs", "vectors",
)  # fmt: skip
SUBMODULES: dict[str, str] = {
    "args": "kernels.arguments",
    "config": "host.settings",
    "launchconfig": "kernels.launch",
    "errors": "host.errors",
    "decorators": "kernels.decorators",
    "dispatcher": "kernels.dispatcher",
    "testing": "numba_compat.testing",
    "cudadrv": "numba_compat.cudadrv",
    "core": "numba_compat.core",
    "api": "numba_compat.api",
    "typing": "numba_compat.typing",
    "devicearray": "numba_compat.devicearray",
    "cgutils": "extending.cgutils",
    "cudadecl": "extending.templates",
    "cudaimpl": "extending.imputils",
    "datamodel": "extending.models",
    "models": "extending.models",
    "devices": "numba_compat.api",
    **{name: name for name in _OWN},
}

# Alternatives to names of numba.cuda.
INSTEAD: dict[str, str] = {
    "nvvm": "cuda.jit compiles with LLVM; Dispatcher.inspect_llvm() shows its IR",
}


def missing(name: str, module: str = "cuda", names: Iterable[str] = ()) -> MissingError:
    """The error for a name that gridlane does not have. ``names``: those that the module has."""
    text = f"gridlane does not have {module}.{name}"
    instead = INSTEAD.get(name)
    return MissingError(f"{text}: {instead}" if instead else text + did_you_mean(name, names))
