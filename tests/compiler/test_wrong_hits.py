"""Kernels that differ in their arguments' types alone, one after the other: in one process, and in
a second one that finds the cache warm."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

PROGRAM = textwrap.dedent("""
    import sys
    from collections import namedtuple
    import numpy as np
    from gridlane import cuda
    from gridlane.core.errors import CompileError

    @cuda.jit
    def second(records, out):
        out[0] = records[1].b

    def layout(size):
        fields = {"names": ["a", "b"], "formats": ["<i4", "<i4"], "itemsize": size}
        records = np.zeros(2, np.dtype(fields))
        records["b"] = 5, 7
        out = np.zeros(1, np.int32)
        second[1, 1](records, out)
        assert out[0] == 7, out

    @cuda.jit
    def fields(point, out):
        out[0] = point.x
        out[1] = point.y

    def order(names):
        point = namedtuple("P", names)(**{"x": 1, "y": 2})
        out = np.zeros(2, np.int64)
        fields[1, 1](point, out)
        assert out.tolist() == [1, 2], out

    @cuda.jit
    def inc(array):
        array[cuda.threadIdx.x] += 1

    @cuda.jit
    def inc_field(records):
        records[0].b += 1

    def access(writeable):
        octets = bytes(8) if not writeable else bytearray(8)
        plain, records = np.frombuffer(octets, np.uint8), np.frombuffer(octets, "i4,i4")
        records.dtype.names = "a", "b"
        try:
            inc[1, 4](plain)
            inc_field[1, 1](records)
        except CompileError as error:
            assert not writeable and "read-only" in str(error) and "^" in str(error)
            assert octets == bytes(8), octets
            try:
                inc_field[1, 1](records)
            except CompileError:
                assert octets == bytes(8), octets
                return
            raise AssertionError("the record was written") from None
        assert writeable and list(octets) == [1, 1, 1, 1, 1, 0, 0, 0], octets

    cases = [(layout, 8, 16), (order, "x y", "y x"), (access, True, False)]
    for which in sys.argv[1]:
        for case, *values in cases:
            case(values[int(which)])
    print("right")
""")


def run(folder, tmp_path, which, device):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    settings = {"GRIDLANE_CACHE": "1", "GRIDLANE_CACHE_DIR": str(folder), "GRIDLANE_DEVICE": device}
    done = subprocess.run(
        [sys.executable, str(program), which],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "right\n", done.stderr


@pytest.mark.parametrize("order", ["01", "10"])
def test_a_warm_cache_of_the_other_kernel(tmp_path, order):
    """One process after the other, then both in one process, where all is warm."""
    for which in (*order, order):
        run(tmp_path / "cache", tmp_path, which, "cpu")


def test_one_process(tmp_path):
    run(tmp_path / "cache", tmp_path, "0101", "cpu")
