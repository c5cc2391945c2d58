"""Why tests of ``cuda.compute`` fail: for the page of compute_suite.py."""

from __future__ import annotations

REASONS = {
    "has no (serialize|deserialize)": "`serialize` and `deserialize`; refused by name",
    "has no Proxy": "`ProxyArray` and `ProxyValue`, for code without a device; refused by name",
    "has no RawOp": "`RawOp`, operators of LTO-IR; refused by name",
    "compute_capability is unsupported": "code of another GPU, `compute_capability=`; "
    "refused by name",
    "no Program in this stand-in": "`RawOp`, operators of LTO-IR; refused by name",
    r"is a private name of cuda\.compute|_build_info|isinstance\(\) arg 2|_Privates|build_results"
    r"|no cuda\.compute\.\w+\._|ltoir|_cccl'": "private names of `cuda.compute`",
    r"Device\(\) takes no arguments": "several GPUs",
}
"""Words by a pattern of the error."""
