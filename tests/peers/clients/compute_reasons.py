"""Why tests of ``cuda.compute`` and ``cuda.coop`` fail: for the pages of compute_suite.py."""

from __future__ import annotations

REASONS = {
    "TestCudaSharedMemConfig": "`CudaSharedMemConfig`, a private name of `cuda.coop`",
    "examples_serialization": "`serialize` and `deserialize`; refused by name",
    "examples_raw_op": "`RawOp`, operators of LTO-IR; refused by name",
    "logcdf_example": "the stand-in for cupy has no `cupyx.scipy`",
    "has no (serialize|deserialize)": "`serialize` and `deserialize`; refused by name",
    "has no Proxy": "`ProxyArray` and `ProxyValue`, for code without a device; refused by name",
    "has no RawOp": "`RawOp`, operators of LTO-IR; refused by name",
    "compute_capability is unsupported": "code of another GPU, `compute_capability=`; "
    "refused by name",
    "no Program in this stand-in": "`RawOp`, operators of LTO-IR; refused by name",
    r"is a private name of cuda\.compute|_build_info|isinstance\(\) arg 2|_Privates|build_results"
    r"|no cuda\.compute\.\w+\._|ltoir|_cccl'": "private names of `cuda.compute`",
    "has no attribute 'serialize'": "`serialize` and `deserialize`; refused by name",
    "assert 1 == 8": "each thread has an object of its own there; here threads share it",
    "assert histogram_even|assert <histogram_even": "two objects are expected where one serves",
    r"Device\(\) takes no arguments": "several GPUs",
}
"""Words by a pattern of a test's name and its error."""
