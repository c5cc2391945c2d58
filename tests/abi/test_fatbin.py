"""Fatbins: the layout, compression, the choice for a device, and damaged ones."""

import random
import struct
import tracemalloc

import pytest
from tests.abi.fatbins import (
    EXACT,
    FAMILY,
    LZ4,
    MACHINE,
    ZSTD,
    built,
    image,
    needs_nvcc,
    region,
    text,
)

from gridlane.abi import fatbin
from gridlane.abi.failure import INVALID_IMAGE, NO_BINARY_FOR_GPU, Failure

zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")
block = pytest.importorskip("lz4.block", reason="lz4 is not installed")

SOURCE = """
__device__ int unused;
extern "C" __global__ void answer(unsigned *x) { *x = 7; }
"""
BOTH = (
    *("-gencode", "arch=compute_80,code=compute_80"),
    *("-gencode", "arch=compute_90,code=compute_90"),
)


def zstd(content, size=None):
    packed = zstandard.ZstdCompressor().compress(content)
    return image(packed, flags=ZSTD | 0x11, size=len(content) if size is None else size)


def lz4(content, size=None):
    packed = block.compress(content, store_size=False)
    return image(packed, flags=LZ4 | 0x11, size=len(content) if size is None else size)


@pytest.mark.parametrize("packed", [image, zstd, lz4])
def test_content_is_unpacked(packed):
    (found,) = fatbin.images(region(packed(text())))
    assert str(found) == "compute_80" and found.is_ptx
    assert fatbin.ptx(found) == text().decode()


@needs_nvcc
@pytest.mark.parametrize("mode", ["default", "size", "speed", "balance", "none"])
def test_what_nvcc_compresses(mode):
    plain = fatbin.images(built(SOURCE, "--compress-mode=none", *BOTH))
    found = fatbin.images(built(SOURCE, f"--compress-mode={mode}", *BOTH))
    assert [str(each) for each in found] == ["compute_80", "compute_90"]
    assert [fatbin.ptx(each) for each in found] == [fatbin.ptx(each) for each in plain]
    assert ".target sm_90" in fatbin.ptx(found[1])


@needs_nvcc
@pytest.mark.parametrize(
    "options, expected",
    [
        (("-arch=sm_80",), ["sm_80", "compute_80"]),
        (("-gencode", "arch=compute_80,code=sm_80"), ["sm_80"]),
        (("-gencode", "arch=compute_90a,code=compute_90a"), ["compute_90a"]),
        (("-gencode", "arch=compute_100f,code=compute_100f"), ["compute_100f"]),
        (("-arch=sm_90", "-dlto"), ["compute_90", "lto_90"]),
    ],
)
def test_architectures_that_nvcc_names(options, expected):
    found = fatbin.images(built(SOURCE, *options))
    assert [str(each) for each in found] == expected


@needs_nvcc
@pytest.mark.parametrize("option", ["-G", "-lineinfo", "-rdc=true"])
def test_headers_with_names_and_options(option):
    (found,) = fatbin.images(built(SOURCE, option, *BOTH[:2]))
    assert ".entry answer" in fatbin.ptx(found)
    assert found.name.endswith("" if option == "-rdc=true" else "/code.cu")


def test_several_regions_are_one_fatbin():
    both = region(image(text(), 80)) + region(image(text("90"), 90), image(text("75"), 75))
    assert [each.arch for each in fatbin.images(both)] == [80, 90, 75]
    assert fatbin.images(region()) == ()


@pytest.mark.parametrize(
    "archs, capability, newer, best",
    [
        ((75, 80, 90), (8, 6), False, 80),
        ((75, 80, 90), (9, 0), False, 90),
        ((90, 100), (8, 0), True, 90),
        ((90, 100), (8, 0), False, None),
    ],
)
def test_choice_of_an_architecture(archs, capability, newer, best):
    found = fatbin.images(region(*(image(text(), arch) for arch in archs)))
    if best is None:
        with pytest.raises(Failure, match=r"compute_90, compute_100.*arch=compute_80") as error:
            fatbin.best(found, capability, newer)
        assert error.value.number == NO_BINARY_FOR_GPU
    else:
        assert fatbin.best(found, capability, newer).arch == best


def test_code_of_one_architecture_is_for_no_other():
    exact = image(text(), 90, flags=EXACT | 0x11)
    family = image(text(), 100, flags=FAMILY | 0x11)
    plain = image(text(), 80)
    found = fatbin.images(region(plain, exact, family))
    chosen = [str(fatbin.best(found, c, False)) for c in ((9, 0), (10, 3), (12, 0), (8, 9))]
    assert chosen == ["compute_90a", "compute_100f", "compute_80", "compute_80"]


def test_machine_code_alone_is_named():
    found = fatbin.images(region(image(b"\x7fELF", 86, MACHINE), image(b"\x7fELF", 90, MACHINE)))
    with pytest.raises(Failure, match=r"sm_86, sm_90, .*-gencode arch=compute_80,code=compute_80"):
        fatbin.best(found, (9, 0), True)


def refused(data):
    """The error of a damaged fatbin, in little memory; None if it is read after all."""
    tracemalloc.start()
    try:
        for each in fatbin.images(bytes(data)):
            if each.is_ptx:
                fatbin.ptx(each)
    except Failure as error:
        assert error.number == INVALID_IMAGE, error
        return error
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 4 << 20
    return None


@pytest.mark.parametrize("size", [1 << 40, 1 << 63, (1 << 64) - 1, 1 << 27, 1, 0])
@pytest.mark.parametrize("packed", [zstd, lz4])
def test_claims_of_another_size(packed, size):
    assert refused(region(packed(text(), size)))


def test_a_frame_that_claims_more_than_its_image():
    frame = bytearray(zstandard.ZstdCompressor().compress(bytes(1 << 26)))
    assert refused(region(image(bytes(frame), flags=ZSTD | 0x11, size=64)))
    stream = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(1 << 26))
    assert refused(region(image(stream, flags=ZSTD | 0x11, size=64)))


def test_an_unknown_compression():
    made = bytearray(region(zstd(text())))
    struct.pack_into("<Q", made, 16 + 40, 0x4011)
    assert "unknown way" in refused(made).what


WHOLE = region(zstd(text()), lz4(text()), image(text(), name=b"a.cu"), image(b"\x7fELF", 80, 2))


def test_a_fatbin_that_ends_anywhere_is_refused():
    for end in range(len(WHOLE)):
        assert refused(WHOLE[:end]), end


@pytest.mark.parametrize("offset", [6, 8, 16 + 4, 16 + 8, 16 + 16, 16 + 56])
@pytest.mark.parametrize("value", [0, 1, 15, 0xFFFF, 0xFFFFFFFF, 1 << 63, (1 << 64) - 8])
def test_sizes_that_wrap(offset, value):
    width = {6: 2, 8: 8, 20: 4, 24: 8, 32: 4, 72: 8}[offset]
    made = bytearray(WHOLE)
    made[offset : offset + width] = value.to_bytes(8, "little")[:width]
    refused(made)


@pytest.mark.parametrize("seed", range(8))
def test_random_changes_are_read_or_refused(seed):
    dice = random.Random(seed)
    for _ in range(150):
        made = bytearray(WHOLE)
        for _ in range(dice.choice((1, 1, 2, 8))):
            made[dice.randrange(len(made))] = dice.choice((0, 1, 255, dice.randrange(256)))
        refused(made)
