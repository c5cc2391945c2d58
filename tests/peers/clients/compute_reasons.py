"""Why tests of ``cuda.compute`` fail: for the page of compute_suite.py."""

from __future__ import annotations

REASONS = {
    "has no (serialize|deserialize)": "`serialize` and `deserialize`; refused by name",
    "has no Proxy": "`ProxyArray` and `ProxyValue`, for code without a device; refused by name",
    "has no RawOp": "`RawOp`, operators of LTO-IR; refused by name",
    "compute_capability is unsupported": "code of another GPU, `compute_capability=`; "
    "refused by name",
    r"is a private name of cuda\.compute|cuda\.compute\._|_build_info": "private names of "
    "`cuda.compute`",
}
"""Words by a pattern of the error."""
