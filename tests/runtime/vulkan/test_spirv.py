"""What is not SPIR-V, is damaged, or needs what a device lacks is refused before the driver sees
it."""

from __future__ import annotations

import random
import struct
from dataclasses import replace

import pytest
from tests.runtime.vulkan.shaders import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.vulkan import spirv
from gridlane.runtime.drivers.vulkan.features import FEATURES, FLOAT_CONTROLS, SUBGROUP_OPERATIONS

ALL = frozenset(FEATURES) | {feature for _, feature in spirv.CAPABILITIES.values()}


def changed(code, word, value):
    """The module with another word."""
    return code[: 4 * word] + struct.pack("<I", value) + code[4 * word + 4 :]


@pytest.fixture(scope="module")
def code():
    """A good module."""
    return kernel(*ADD_ONE).code


def refused(code, match):
    with pytest.raises(DeviceError, match=match) as caught:
        spirv.check(code, "main", ALL, "this device")
    assert caught.value.number == 200


def test_a_good_module(code):
    facts = spirv.check(code, "main", ALL, "this device")
    assert facts.entries == ("main",) and facts.local_size is None
    assert {1, 11, 5347} <= set(facts.capabilities)


def test_every_cut(code):
    for size in range(len(code)):
        refused(code[:size], "is not SPIR-V for Vulkan 1.3")


@pytest.mark.parametrize(
    "word, value, match",
    [
        (0, 0x03022307, "the first word is 0x3022307"),
        (1, 0x00010700, "version 0x10700"),
        (1, 0x00020000, "version"),
        (1, 0, "version"),
        (3, 0, "0 names"),
        (3, 1 << 23, "8388608 names"),
        (4, 1, "schema 1"),
        (5, 17, "has 0 words"),
        (5, 0xFFFF0011, "has 65535 words; cut short"),
    ],
)
def test_damaged_headers(code, word, value, match):
    refused(changed(code, word, value), match)


@pytest.mark.parametrize("text", [b"", b"\0" * 4, b"\0" * 400, b"\x7fELF" * 100, b"//ptx" * 99])
def test_other_files(text):
    refused(text, "is not SPIR-V")


def test_damage_anywhere_is_no_other_error(code):
    rng = random.Random(3)
    for _ in range(3000):
        bad = changed(code, rng.randrange(len(code) // 4), rng.choice([0, 1, 2**32 - 1, 54, 56]))
        try:
            spirv.check(bad, "main", ALL, "this device")
        except DeviceError as error:
            assert error.number == 200


def test_damaged_structure(code):
    words = list(struct.unpack(f"<{len(code) // 4}I", code))
    end, model = 0x00010038, (3 << 16) | 14
    assert words[-1] == end

    def pack(words):
        return struct.pack(f"<{len(words)}I", *words)

    refused(pack([*words, end]), "functions in each other")
    at = words.index(model)
    refused(pack(words[:at] + words[at + 3 :]), "1 functions and 0 memory models")
    refused(pack([*words[: at + 3], *words[at : at + 3], *words[at + 3 :]]), "2 memory models")


def test_the_device_refuses_it_too(device, code):
    artifact = kernel(*ADD_ONE)
    for bad in (code[:-4], code[:100], b"", changed(code, 0, 5)):
        with pytest.raises(DeviceError, match="INVALID_IMAGE"):
            device.load(replace(artifact, code=bad))
    with pytest.raises(DeviceError, match="no kernel other in the module; there is main"):
        device.load(replace(artifact, entry="other"))


def test_what_a_device_lacks(code):
    with pytest.raises(DeviceError, match="needs SPIR-V's Int64, and a toy lacks int64"):
        spirv.check(code, "main", ALL - {"int64"}, "a toy")
    at = struct.unpack(f"<{len(code) // 4}I", code).index((2 << 16) | 17)
    refused(changed(code, at + 1, 5301), "capability 5301, which gridlane does not know")


def test_how_floats_behave_is_asked_for_by_their_width(code):
    words = struct.unpack(f"<{len(code) // 4}I", code)
    at = words.index((6 << 16) | 331)
    mode = struct.pack("<4I", (4 << 16) | 16, words[at + 1], 4459, 16)
    told = code[: 4 * at] + mode + code[4 * at :]
    assert spirv.check(told, "main", ALL | {"denormals16"}, "a toy").float_modes == ((4459, 16),)
    with pytest.raises(DeviceError, match="DenormPreserve of 16 bits, and a toy lacks denormals16"):
        spirv.check(told, "main", ALL | {"denormals32"}, "a toy")


def test_block_shapes():
    fixed = kernel(*ADD_ONE, fixed=(8, 4, 2)).code
    assert spirv.read(fixed, "main").local_size == (8, 4, 2)
    older = kernel(*ADD_ONE, fixed=(8, 4, 2), target="vulkan1.1").code
    assert spirv.read(older, "main").local_size == (8, 4, 2)
    words = list(struct.unpack(f"<{len(fixed) // 4}I", fixed))
    at = words.index((6 << 16) | 331)  # OpExecutionModeId of LocalSizeId
    refused(struct.pack(f"<{len(words) - 6}I", *words[:at], *words[at + 6 :]), "no block shape")


def test_each_feature_of_a_capability_is_one_that_devices_are_asked_for():
    known = set(FEATURES) | {f"subgroup_{name}" for name in SUBGROUP_OPERATIONS}
    known |= {f"{name}{bits}" for name in FLOAT_CONTROLS for bits in (16, 32, 64)}
    assert {feature for _, feature in spirv.CAPABILITIES.values() if feature} <= known
