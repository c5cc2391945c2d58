"""Check a SPIR-V module, and read its properties, before it is loaded into the driver.

Drivers trust their input: a truncated or invalid module may crash the process. So this module walks
the words from the header to the end. The code generator's tests check any further validity with
spirv-val.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from gridlane.core.device_errors import INVALID_IMAGE, fail
from gridlane.core.frozen import frozen

MAGIC = 0x07230203
NEWEST = 0x00010600  # the newest version that Vulkan 1.3 accepts
_MOST_IDS = 1 << 22  # the universal limit of the specification
_HEADER = struct.Struct("<5I")

# Opcodes, and the execution model, mode and decoration that this check reads.
_MEMORY_MODEL, _ENTRY, _MODE, _MODE_ID, _CAPABILITY = 14, 15, 16, 331, 17
_CONSTANT, _COMPOSITE, _SPEC_COMPOSITE, _FUNCTION, _FUNCTION_END = 43, 44, 51, 54, 56
_DECORATE, _SPEC_ID = 71, 1
_COMPUTE, _LOCAL_SIZE, _LOCAL_SIZE_ID, _BUILTIN, _WORKGROUP_SIZE = 5, 17, 38, 11, 25

MATRICES = 6022
"""The capability of products by subgroups, which are whole."""

# Capability: its name, and the feature of FEATURES that it requires ("" for every device).
CAPABILITIES: dict[int, tuple[str, str]] = {
    0: ("Matrix", ""),
    1: ("Shader", ""),
    9: ("Float16", "float16"),
    10: ("Float64", "float64"),
    11: ("Int64", "int64"),
    12: ("Int64Atomics", "atomic64"),
    22: ("Int16", "int16"),
    39: ("Int8", "int8"),
    61: ("GroupNonUniform", "subgroup_basic"),
    62: ("GroupNonUniformVote", "subgroup_vote"),
    63: ("GroupNonUniformArithmetic", "subgroup_arithmetic"),
    64: ("GroupNonUniformBallot", "subgroup_ballot"),
    65: ("GroupNonUniformShuffle", "subgroup_shuffle"),
    66: ("GroupNonUniformShuffleRelative", "subgroup_shuffle_relative"),
    4428: ("WorkgroupMemoryExplicitLayoutKHR", "explicit_shared"),
    4429: ("WorkgroupMemoryExplicitLayout8BitAccessKHR", "explicit_shared"),
    4430: ("WorkgroupMemoryExplicitLayout16BitAccessKHR", "explicit_shared"),
    4433: ("StorageBuffer16BitAccess", "storage16"),
    4434: ("UniformAndStorageBuffer16BitAccess", "storage16"),
    4441: ("VariablePointersStorageBuffer", "variable_pointers"),
    4442: ("VariablePointers", "variable_pointers"),
    4448: ("StorageBuffer8BitAccess", "storage8"),
    4449: ("UniformAndStorageBuffer8BitAccess", "storage8"),
    # Support for these depends on the width of a float; see FLOAT_MODES.
    4464: ("DenormPreserve", ""),
    4466: ("SignedZeroInfNanPreserve", ""),
    4467: ("RoundingModeRTE", ""),
    5345: ("VulkanMemoryModel", "memory_model"),
    5346: ("VulkanMemoryModelDeviceScope", "memory_model"),
    5347: ("PhysicalStorageBufferAddresses", "device_address"),
    5116: ("BFloat16TypeKHR", "bfloats"),
    5118: ("BFloat16CooperativeMatrixKHR", "bfloats"),
    MATRICES: ("CooperativeMatrixKHR", "matrices"),
    6033: ("AtomicFloat32AddEXT", "float32_atomic_add"),
    6034: ("AtomicFloat64AddEXT", "float64_atomic_add"),
}

# Execution mode: its name, and the feature that it requires, without the width.
FLOAT_MODES: dict[int, tuple[str, str]] = {
    4459: ("DenormPreserve", "denormals"),
    4461: ("SignedZeroInfNanPreserve", "preserve"),
    4462: ("RoundingModeRTE", "nearest_even"),
}

Instruction = tuple[int, tuple[int, ...]]
"""Opcode and operands."""


@frozen
class Facts:
    """The properties of a module that the driver of a device must know.

    Attributes:
        local_size: the block shape in the code, or None if specialisation constants give it.
        float_modes: modes of FLOAT_MODES with the width of the floats in bits.
    """

    entries: tuple[str, ...]
    capabilities: tuple[int, ...]
    local_size: tuple[int, int, int] | None
    float_modes: tuple[tuple[int, int], ...] = ()


def read(code: bytes, name: str) -> Facts:
    """Walk a module; ``name`` is the kernel's.

    Raises:
        DeviceError: INVALID_IMAGE, and what is wrong with it.
    """
    module = _Module()
    for opcode, operands in _instructions(code, name):
        module.note(opcode, operands)
        if module.depth not in (0, 1):
            _refuse(name, "functions in each other")
    if module.depth or not module.functions or module.models != 1:
        _refuse(name, f"{module.functions} functions and {module.models} memory models")
    return Facts(
        tuple(module.entries),
        tuple(module.capabilities),
        module.shape(name),
        tuple(module.float_modes),
    )


class _Module:
    """The facts gathered in one walk over a module."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.capabilities: list[int] = []
        self.float_modes: list[tuple[int, int]] = []
        self.models = self.depth = self.functions = 0
        self._written: tuple[int, ...] = ()
        self._shape: tuple[int, ...] = ()
        """Names of the components of the block shape, or the name of their composite."""
        self._composed: dict[int, tuple[int, ...]] = {}
        self._numbers: dict[int, int] = {}
        """Specialisation constants."""
        self._values: dict[int, int] = {}
        """Plain constants."""

    def note(self, opcode: int, operands: tuple[int, ...]) -> None:
        """Record an instruction."""
        if opcode == _ENTRY and operands[:1] == (_COMPUTE,):
            self.entries.append(_string(operands[2:]))
        elif opcode == _CAPABILITY:
            self.capabilities += operands[:1]
        elif opcode == _MEMORY_MODEL:
            self.models += 1
        elif opcode == _FUNCTION:
            self.depth += 1
            self.functions += 1
        elif opcode == _FUNCTION_END:
            self.depth -= 1
        elif opcode == _CONSTANT and len(operands) == 3:
            self._values[operands[1]] = operands[2]
        elif opcode in (_COMPOSITE, _SPEC_COMPOSITE) and len(operands) == 5:
            self._composed[operands[1]] = operands[2:]
        elif opcode == _DECORATE and len(operands) == 3 and operands[1] == _SPEC_ID:
            self._numbers[operands[0]] = operands[2]
        else:
            self._note_shape(opcode, operands)

    def _note_shape(self, opcode: int, operands: tuple[int, ...]) -> None:
        if opcode == _MODE and operands[1:2] == (_LOCAL_SIZE,):
            self._written = operands[2:]
        elif opcode == _MODE and len(operands) == 3 and operands[1] in FLOAT_MODES:
            self.float_modes.append((operands[1], operands[2]))
        elif opcode == _MODE_ID and operands[1:2] == (_LOCAL_SIZE_ID,):
            self._shape = operands[2:]
        elif opcode == _DECORATE and operands[1:] == (_BUILTIN, _WORKGROUP_SIZE):
            self._shape = operands[:1]

    def shape(self, name: str) -> tuple[int, int, int] | None:
        """The constant block shape; None if the specialisation constants 0, 1 and 2 give it."""
        names = self._shape
        if len(names) == 1:
            names = self._composed.get(names[0], ())
        if tuple(self._numbers.get(each) for each in names) == (0, 1, 2):
            return None
        written = tuple(self._values.get(each, 0) for each in names) or self._written
        x, y, z = written if len(written) == 3 else (0, 0, 0)
        if not (x and y and z):
            _refuse(name, "no block shape, neither written nor by specialisation constants 0, 1, 2")
        return x, y, z


def _instructions(code: bytes, name: str) -> Iterator[Instruction]:
    if len(code) % 4 or len(code) < _HEADER.size:
        _refuse(name, f"{len(code)} bytes, which is no header and whole words")
    magic, version, _, bound, schema = _HEADER.unpack_from(code)
    if magic != MAGIC:
        _refuse(name, f"the first word is {magic:#x}, not {MAGIC:#x}")
    if not 0x00010000 <= version <= NEWEST or version & 0xFF0000FF or schema:
        _refuse(name, f"version {version:#x}, schema {schema}")
    if not 0 < bound <= _MOST_IDS:
        _refuse(name, f"{bound} names")
    words = memoryview(code).cast("I")
    position = _HEADER.size // 4
    while position < len(words):
        count, opcode = words[position] >> 16, words[position] & 0xFFFF
        if not count or position + count > len(words):
            _refuse(name, f"the instruction at word {position} has {count} words; cut short?")
        yield opcode, tuple(words[position + 1 : position + count])
        position += count


def _string(units: tuple[int, ...]) -> str:
    raw = struct.pack(f"<{len(units)}I", *units)
    return raw.split(b"\0")[0].decode(errors="replace")


def _refuse(name: str, why: str) -> None:
    fail(INVALID_IMAGE, f"{name} is not SPIR-V for Vulkan 1.3: {why}", "compile the kernel again")


def check(code: bytes, name: str, features: frozenset[str], device: str) -> Facts:
    """The facts of a kernel's module, if a device with these features can run it.

    Raises:
        DeviceError: INVALID_IMAGE, the module is damaged, has no such kernel, or requires a feature
            that the device lacks.
    """
    facts = read(code, name)
    if name not in facts.entries:
        there = ", ".join(facts.entries) or "none"
        fail(INVALID_IMAGE, f"there is no kernel {name} in the module; there is {there}")
    for number in facts.capabilities:
        title, feature = CAPABILITIES.get(number, (f"capability {number}", None))
        if feature is None:
            fail(INVALID_IMAGE, f"{name} needs SPIR-V's {title}, which gridlane does not know")
        if feature:
            _require(name, title, feature, features, device)
    for mode, width in facts.float_modes:
        title, stem = FLOAT_MODES[mode]
        _require(name, f"{title} of {width} bits", f"{stem}{width}", features, device)
    return facts


def _require(name: str, title: str, feature: str, features: frozenset[str], device: str) -> None:
    if feature not in features:
        fail(
            INVALID_IMAGE,
            f"{name} needs SPIR-V's {title}, and {device} lacks {feature}",
            "compile the kernel for this device, or use another one",
        )
