"""The attributes of kernels: what their code takes, and what a program sets."""

from __future__ import annotations

import re
from functools import cached_property

from gridlane.abi.failure import INVALID_CLUSTER_SIZE, INVALID_VALUE, NOT_PERMITTED, fail
from gridlane.abi.state.modules import Function
from gridlane.core import epochs
from gridlane.core.cuda_table import enums
from gridlane.launch.dimensions import LARGEST_CLUSTER, LARGEST_NON_PORTABLE
from gridlane.modules import ModuleKernel
from gridlane.runtime.protocol import Device, Figures

_PREFIX = "CU_FUNC_ATTRIBUTE_"
_NUMBERS = {
    name.removeprefix(_PREFIX): number
    for name, number in enums()["CUfunction_attribute"].values.items()
}
_NAMES = {number: name for name, number in _NUMBERS.items() if name != "MAX"}
MAX_DYNAMIC_SHARED = _NUMBERS["MAX_DYNAMIC_SHARED_SIZE_BYTES"]

_CLUSTER = tuple(f"REQUIRED_CLUSTER_{axis}" for axis in ("WIDTH", "HEIGHT", "DEPTH"))
_RANGES = {
    "PREFERRED_SHARED_MEMORY_CARVEOUT": (-1, 100),
    **dict.fromkeys(_CLUSTER, (0, (1 << 31) - 1)),
    "NON_PORTABLE_CLUSTER_SIZE_ALLOWED": (0, 1),
    "CLUSTER_SCHEDULING_POLICY_PREFERENCE": (0, 2),
}
"""The least and the greatest value of those that a program sets, beside the shared memory."""

_REGISTERS = 32
"""Registers of a thread where code generation counts none: those of a vector unit."""

_LOCAL = re.compile(
    r"\.local\b(?:\s*\.align\s+\d+)?\s*\.[bsuf](\d+)\s+[\w$%]+((?:\s*\[\s*\d+\s*\])*)\s*;"
)


class Attributes:
    """The attributes of a kernel on a device.

    Args:
        own: those that a program set, which it changes; ``inherited``: those of a library's
            kernel, where its function has none.
    """

    def __init__(
        self,
        kernel: ModuleKernel,
        device: Device,
        own: dict[int, int],
        inherited: dict[int, int] | None = None,
    ) -> None:
        self._kernel, self._device = kernel, device
        self._own, self._inherited = own, inherited or {}

    def read(self, number: int) -> int:
        """The value of an attribute.

        Raises:
            Failure: INVALID_VALUE, there is none of this number.
        """
        name = _NAMES.get(number)
        if name is None:
            fail(INVALID_VALUE, f"no attribute of functions has the number {number}")
        for known in (self._own, self._inherited):
            if number in known:
                return known[number]
        if name in _CLUSTER:
            return self._required_cluster[_CLUSTER.index(name)]
        return int(getattr(self, f"_{name.lower()}", 0))

    def write(self, number: int, value: int) -> None:
        """Set an attribute.

        Raises:
            Failure: INVALID_VALUE, it has no such value, or a program cannot set it; NOT_PERMITTED,
                the code has set it.
        """
        name = _NAMES.get(number, "")
        if number == MAX_DYNAMIC_SHARED:
            most = self._device.limits.max_dynamic_shared
            static = self._shared_size_bytes
            if not 0 <= value <= most - static:
                fail(
                    INVALID_VALUE,
                    f"{value} bytes of dynamic shared memory beside {static} static ones; a block "
                    f"of the device {self._device.name} has {most}",
                )
        elif name in _RANGES:
            low, high = _RANGES[name]
            if not low <= value <= high:
                fail(INVALID_VALUE, f"{_PREFIX}{name} is {low} to {high}, not {value}")
            if name in _CLUSTER and any(self._required_cluster):
                fail(
                    NOT_PERMITTED, f"the code of {self._kernel.name} sets the size of its clusters"
                )
        else:
            fail(INVALID_VALUE, f"{_PREFIX}{name or number} cannot be set")
        self._own[number] = value
        epochs.code.changed()

    # --- what the code takes; the names are CUDA's ---

    @cached_property
    def _figures(self) -> Figures | None:
        return self._kernel.loaded(self._device).figures()

    @property
    def _max_threads_per_block(self) -> int:
        if self._figures is not None:
            return self._figures.max_threads
        most = self._device.limits.max_threads
        return min(most, self._kernel.most_threads or most)

    @cached_property
    def _shared_size_bytes(self) -> int:
        if self._figures is not None:
            return self._figures.shared_bytes
        return self._kernel.loaded(self._device).artifact.static_shared

    @property
    def _const_size_bytes(self) -> int:
        if self._figures is not None:
            return self._figures.constant_bytes
        end = 0
        for each in self._kernel.source.module.variables.values():
            if each.space == "const":
                end = -(-end // each.align) * each.align + each.size
        return end

    @property
    def _local_size_bytes(self) -> int:
        if self._figures is not None:
            return self._figures.local_bytes
        entry, code = self._kernel.source.entry, self._kernel.source.module.text.code
        total = 0
        for match in _LOCAL.finditer(code, entry.start, entry.end):
            size = int(match[1]) // 8
            for count in re.findall(r"\d+", match[2]):
                size *= int(count)
            total += size
        return total

    @property
    def _num_regs(self) -> int:
        return _REGISTERS if self._figures is None else self._figures.registers

    @property
    def _ptx_version(self) -> int:
        return int(re.findall(r"\d+", self._kernel.source.module.target)[0])

    @property
    def _binary_version(self) -> int:
        major, minor = self._device.compute_capability
        return 10 * major + minor

    @property
    def _max_dynamic_shared_size_bytes(self) -> int:
        return max(0, self._device.limits.max_shared - self._shared_size_bytes)

    @property
    def _preferred_shared_memory_carveout(self) -> int:
        return -1

    @property
    def _cluster_size_must_be_set(self) -> int:
        return int("explicitcluster" in self._kernel.source.entry.tuning)

    @property
    def _required_cluster(self) -> tuple[int, int, int]:
        sizes = self._kernel.source.entry.tuning.get("reqnctapercluster", ())
        x, y, z = (*sizes, 1, 1, 1)[:3] if sizes else (0, 0, 0)
        return x, y, z


def required_cluster(function: Function) -> tuple[int, int, int] | None:
    """The size of clusters that a program has set for a function; None if it has set none.

    Raises:
        Failure: INVALID_CLUSTER_SIZE, it has set some axes alone.
    """
    known = function.inherited | function.attributes
    x, y, z = (known.get(_NUMBERS[name], 0) for name in _CLUSTER)
    if not (x or y or z):
        return None
    if not (x and y and z):
        fail(
            INVALID_CLUSTER_SIZE,
            f"the required clusters of {function.kernel.name} have {(x, y, z)} blocks: set all "
            "three axes",
        )
    return x, y, z


def largest_cluster(function: Function) -> int:
    """The most blocks of a function's clusters: more where the program allows it. A GPU may have
    fewer, which its driver refuses."""
    known = function.inherited | function.attributes
    allowed = known.get(_NUMBERS["NON_PORTABLE_CLUSTER_SIZE_ALLOWED"], 0)
    return LARGEST_NON_PORTABLE if allowed else LARGEST_CLUSTER


def names_clusters(function: Function) -> bool:
    """Whether the program or the code says anything of a function's clusters."""
    known = function.inherited | function.attributes
    by_program = any(known.get(_NUMBERS[name], 0) for name in _CLUSTER)
    return by_program or function.kernel.source.entry.names_clusters


def attributes(function: Function) -> Attributes:
    """The attributes of a function in its context."""
    return Attributes(function.kernel, function.device, function.attributes, function.inherited)
