"""malloc and free of kernels: blocks that threads do not share, and that live across launches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane import cuda
from gridlane.core import heap_layout
from gridlane.core.config import config
from gridlane.core.errors import TargetError
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.modules import heap as memory

CODE = r"""
struct Node { Node *next; int value; };
__device__ Node *lists[64];

// Each thread makes a list, and another launch reads and frees it.
extern "C" __global__ void push(int count)
{
    int t = threadIdx.x;
    for (int i = 0; i < count; i++)
        lists[t] = new Node{lists[t], t * 100 + i};
}
extern "C" __global__ void pop(int *sums)
{
    int t = (threadIdx.x + 1) % blockDim.x, sum = 0;
    while (lists[t]) {
        Node *head = lists[t];
        lists[t] = head->next;
        sum += head->value;
        delete head;
    }
    sums[t] = sum;
}
// Blocks of many sizes, each filled with the thread's number and looked at again.
extern "C" __global__ void sizes(const int *size, int *wrong, int rounds)
{
    int t = threadIdx.x + blockIdx.x * blockDim.x, bad = 0;
    for (int round = 0; round < rounds; round++) {
        int bytes = size[(t + round) % 7];
        unsigned char *made = (unsigned char *)malloc(bytes);
        if (!made || ((size_t)made & 15)) {
            bad += 1000;
            continue;
        }
        int step = bytes > 64 ? bytes / 16 : 1;
        for (int i = 0; i < bytes; i += step)
            made[i] = t + i;
        made[bytes - 1] = t;
        __syncwarp();
        for (int i = 0; i < bytes - 1; i += step)
            bad += made[i] != (unsigned char)(t + i);
        bad += made[bytes - 1] != (unsigned char)t;
        free(made);
    }
    wrong[t] = bad;
}
extern "C" __global__ void take(size_t bytes, size_t *out, int count)
{
    for (int i = 0; i < count; i++)
        out[i] = (size_t)malloc(bytes);
}
extern "C" __global__ void give(const size_t *from, int count)
{
    for (int i = 0; i < count; i++)
        free((void *)from[i]);
}
"""
WITH_ADDRESSES = ["interp", *(each for each in DEVICES if each != "webgpu")]
SIZE = 1 << 16


@pytest.fixture(scope="module")
def text() -> str:
    return cuda.compile_cpp(CODE)


@pytest.fixture(params=WITH_ADDRESSES)
def module(request, text, monkeypatch) -> cuda.RawModule:
    """A module on a device with a memory of its own for malloc."""
    small = dataclasses.replace(config(), heap=SIZE)
    monkeypatch.setattr(memory, "config", lambda: small)
    current.choose(get_device(request.param))
    monkeypatch.setattr(current.device().memory, "kept", {})
    return cuda.RawModule(code=text, via="ir")


def run(module, name: str, *args: object, threads: int = 1, blocks: int = 1) -> None:
    module.get_function(name)(blocks, threads, args)


def bits_in_use() -> int:
    """The pieces that blocks hold."""
    words, first = heap_layout.layout(SIZE)
    buffer = memory.heap(current.device())
    data = np.empty(buffer.size // 4, np.uint32)
    current.device().download(data.view(np.uint8).data, buffer.address)
    assert list(data[:2]) == first[:2]
    return int(np.bitwise_count(data[heap_layout.HEADER : heap_layout.HEADER + words]).sum())


def test_lists_that_another_launch_frees(module):
    run(module, "push", 3, threads=32)
    assert bits_in_use() == 96
    run(module, "push", 1, threads=32)
    sums = np.zeros(32, np.int32)
    run(module, "pop", sums, threads=32)
    assert list(sums) == [400 * t + 3 for t in range(32)]
    assert bits_in_use() == 0


def test_blocks_of_many_sizes_are_apart(module):
    size = np.array([1, 16, 17, 300, 1009, 1500, 4], np.int32)
    wrong = np.ones(64, np.int32)
    run(module, "sizes", size, wrong, 3, threads=16, blocks=2)
    assert list(wrong[:32]) == [0] * 32
    assert bits_in_use() == 0


@pytest.mark.parametrize("bytes_", [600, 1008, 1009, 5000, SIZE - 4096])
def test_null_when_full(module, bytes_):
    words, _ = heap_layout.layout(SIZE)
    pieces = -(-(bytes_ + 16) // 32)
    fit = words * (32 // pieces) if pieces <= 32 else words // -(-pieces // 32)
    out = np.zeros(fit + 3, np.uint64)
    run(module, "take", bytes_, out, fit + 3)
    assert (out[:fit] > 0).all() and (out[fit:] == 0).all()
    got = np.sort(out[:fit])
    assert (got % 16 == 0).all() and (np.diff(got) >= bytes_ + 16).all()
    used = bits_in_use()
    half = out[: fit // 2 or 1].copy()
    run(module, "give", half, len(half))
    assert bits_in_use() == used - used * len(half) // fit
    run(module, "take", bytes_, out, len(half) + 1)
    assert sorted(out[: len(half)]) == sorted(half) and out[len(half)] == 0


def test_no_bytes_have_an_address(module):
    out = np.zeros(3, np.uint64)
    run(module, "take", 0, out, 3)
    assert len(set(out)) == 3 and 0 not in out


@pytest.mark.parametrize("bytes_", [SIZE, 1 << 31, (1 << 64) - 1, (1 << 64) - 32])
def test_more_than_there_is(module, bytes_):
    out = np.ones(1, np.uint64)
    run(module, "take", np.uint64(bytes_), out, 1)
    assert out == [0] and bits_in_use() == 0


def test_what_free_refuses(module):
    out = np.zeros(2, np.uint64)
    run(module, "take", 40, out, 2)
    run(module, "give", np.zeros(1, np.uint64), 1)  # nothing at null
    for bad in (out[0] + np.uint64(16), np.uint64(64), out[0] + np.uint64(1)):
        with pytest.raises(RuntimeError, match="free of an address that malloc has not returned"):
            run(module, "give", np.array([bad], np.uint64), 1)
    run(module, "give", out, 2)
    with pytest.raises(RuntimeError, match="or that is free already"):
        run(module, "give", out, 2)


def test_a_memory_for_each_device(text):
    made = []
    for device in ("interp", "cpu", "interp"):
        current.choose(get_device(device))
        made.append(memory.heap(current.device()))
        assert made[-1].size == config().heap
    assert made[0] is made[2] is not made[1]


@pytest.mark.parametrize("device", [each for each in DEVICES if each not in WITH_ADDRESSES])
def test_devices_without_addresses_refuse_it(text, device):
    current.choose(get_device(device))
    with pytest.raises(TargetError):
        run(cuda.RawModule(code=text, via="ir"), "push", 1)
