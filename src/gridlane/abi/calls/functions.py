"""Functions: the kernels of a context."""

from __future__ import annotations

from gridlane.abi.calls.function_attributes import attributes
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import contexts, libraries, registered
from gridlane.abi.state.modules import Function
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums

_CACHES = frozenset(enums()["CUfunc_cache"].values.values())
_BANKS = frozenset(enums()["CUsharedconfig"].values.values())
_UNLOADED, _LOADED = 0, 1


def named(handle: int) -> Function:
    """A function for calls whose only error for a wrong handle is INVALID_VALUE."""
    return libraries.function_of(handle, wrong=INVALID_VALUE)


def of_runtime(handle: int) -> Function:
    """A function for the runtime: by its host address, its handle, or that of its kernel."""
    return registered.function(handle, contexts.current())


def check_cache(preference: int) -> None:
    """Raise INVALID_VALUE for a preference that does not exist."""
    if preference not in _CACHES:
        fail(INVALID_VALUE, f"no preference has the number {preference}")


def check_banks(width: int) -> None:
    """Raise INVALID_VALUE for what is no width of banks."""
    if width not in _BANKS:
        fail(INVALID_VALUE, f"no width of banks has the number {width}")


def parameter(function: Function, index: int) -> tuple[int, int]:
    """The offset and the size of a parameter.

    Raises:
        Failure: INVALID_VALUE, there are not so many.
    """
    if index >= len(function.params):
        name, count = function.kernel.name, len(function.params)
        fail(INVALID_VALUE, f"{name} has {count} parameters, and none of the number {index}")
    return function.offsets[index], function.params[index].size


@implements("cuFuncIsLoaded")
def is_loaded(handle: int) -> int:
    """Whether a function is compiled for its device."""
    function = libraries.function_of(handle)
    return _LOADED if function.kernel.is_loaded(function.device) else _UNLOADED


# --- the runtime ---

_MEMBERS = {
    "sharedSizeBytes": "SHARED_SIZE_BYTES",
    "constSizeBytes": "CONST_SIZE_BYTES",
    "localSizeBytes": "LOCAL_SIZE_BYTES",
    "maxThreadsPerBlock": "MAX_THREADS_PER_BLOCK",
    "numRegs": "NUM_REGS",
    "ptxVersion": "PTX_VERSION",
    "binaryVersion": "BINARY_VERSION",
    "cacheModeCA": "CACHE_MODE_CA",
    "maxDynamicSharedSizeBytes": "MAX_DYNAMIC_SHARED_SIZE_BYTES",
    "preferredShmemCarveout": "PREFERRED_SHARED_MEMORY_CARVEOUT",
    "clusterDimMustBeSet": "CLUSTER_SIZE_MUST_BE_SET",
    "requiredClusterWidth": "REQUIRED_CLUSTER_WIDTH",
    "requiredClusterHeight": "REQUIRED_CLUSTER_HEIGHT",
    "requiredClusterDepth": "REQUIRED_CLUSTER_DEPTH",
    "clusterSchedulingPolicyPreference": "CLUSTER_SCHEDULING_POLICY_PREFERENCE",
    "nonPortableClusterSizeAllowed": "NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
}
"""The attribute of the driver that each member of ``cudaFuncAttributes`` is."""


@implements("cudaFuncGetAttributes")
def get_attributes(handle: int) -> Struct:
    """All attributes."""
    attributes_of_function = attributes(of_runtime(handle))
    numbers = enums()["CUfunction_attribute"].values
    struct = Struct("cudaFuncAttributes")
    for member, name in _MEMBERS.items():
        setattr(struct, member, attributes_of_function.read(numbers[f"CU_FUNC_ATTRIBUTE_{name}"]))
    return struct


@implements("cudaSetDoubleForDevice", "cudaSetDoubleForHost")
def set_double(address: int) -> None:
    """Leave a double as it is: kernels compute with doubles."""
