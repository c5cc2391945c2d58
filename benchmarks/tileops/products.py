"""Products of matrices: plain, batched, of groups of rows, of floats of 8 bits."""

from __future__ import annotations

import sys
from typing import Any

import torch
from benchmarks.tileops import programs
from benchmarks.tileops.cases import Builder, Case, Given, is_close

from gridlane.tiles import kernels


def _stored(given: Given, rows: int, columns: int, turned: bool) -> Any:
    """A matrix, in memory as its transpose if it is turned."""
    return given.normal(columns, rows).T if turned else given.normal(rows, columns)


def gemm(given: Given) -> Case:
    m, n, k = (given.length(given[each]) for each in "mnk")
    a = _stored(given, m, k, given.get("trans_a", False))
    b = _stored(given, k, n, given.get("trans_b", True))
    return Case(lambda: kernels.matmul(a, b), lambda: torch.matmul(a, b))


def bmm(given: Given) -> Case:
    b, m, n, k = given["b"], *(given.length(given[each]) for each in "mnk")
    one, other = given.normal(b, m, k), given.normal(b, k, n)
    return Case(lambda: kernels.matmul(one, other), lambda: torch.bmm(one, other))


def gemm_fp8(given: Given) -> Case:
    if given["scale_mode"] != "per_tensor":
        return gemm_of_blocks(given)
    m, n, k = (given.length(given[each]) for each in "mnk")
    a, b = given.normal(m, k), given.normal(n, k)
    scales = torch.tensor(0.5), torch.tensor(0.25)
    bias = torch.randn(n).to(torch.bfloat16) if given.get("bias_shape") else None

    def ours() -> Any:
        return kernels.matmul(
            a, b.T, bias=bias, scale_a=scales[0], scale_b=scales[1], out_dtype="bfloat16"
        )

    return Case(ours, lambda: _scaled(a, b.T, scales, bias))


def gemm_of_blocks(given: Given) -> Case:
    """Scales of 128 elements of each row of a and of each column of b."""
    m, n, k = (given.length(given[each]) for each in "mnk")
    a, b = given.normal(m, k), given.normal(n, k).T
    one, other = (torch.rand(each, -(-k // 128)) + 0.5 for each in (m, n))
    ours = lambda: kernels.scaled_matmul(a, b, one, other.T)  # noqa: E731  of this workload
    left, right = (
        (each.float() * scale.repeat_interleave(128, 1)[:, :k]).to(torch.bfloat16)
        for each, scale in ((a, one), (b.T, other))
    )
    plain = lambda: left @ right.T  # noqa: E731  of this workload
    # Their order as torch takes it.
    down, across = one.T.contiguous().T, other.T.contiguous()
    scaled = lambda: torch._scaled_mm(  # noqa: E731  of this workload
        a, b, down, across, out_dtype=torch.bfloat16
    )
    return Case(ours, scaled if a.device.type != "cpu" and _agree(scaled, plain) else plain)


def _agree(one: Any, other: Any) -> bool:
    """Whether torch has the first product, and it is near the second one."""
    try:
        return is_close(one(), other())[0]
    except (RuntimeError, ValueError) as error:
        print(f"torch refuses it: {str(error)[:200]}", file=sys.stderr)
        return False


def _scaled(a: Any, b: Any, scales: tuple[Any, Any], bias: Any = None) -> Any:
    """torch's product of floats of 8 bits, which a processor does not have."""
    if a.device.type == "cpu" or a.shape[0] % 16:
        made = (a.float() @ b.float()) * scales[0] * scales[1]
        return (made if bias is None else made + bias.float()).to(torch.bfloat16)
    return torch._scaled_mm(
        a, b, scales[0].view(1, 1), scales[1].view(1, 1), bias=bias, out_dtype=torch.bfloat16
    )


def bmm_fp8(given: Given, turned: bool) -> Case:
    count, m, n, k = given["b"], *(given.length(given[each]) for each in "mnk")
    a = given.normal(count, m, k)
    b = given.normal(count, n, k).transpose(1, 2) if turned else given.normal(count, k, n)
    scales = torch.tensor(0.5), torch.tensor(0.25)

    def ours() -> Any:
        """Of right factors whose columns are neighbours, which tensor cores require."""
        right = b if turned else programs.turned(b)
        return kernels.matmul(a, right, scale_a=scales[0], scale_b=scales[1], out_dtype="bfloat16")

    def theirs() -> Any:
        """Of one matrix after the other, whose right factors it takes along their columns."""
        right = b if turned else b.transpose(1, 2).contiguous().transpose(1, 2)
        return torch.stack([_scaled(x, y, scales) for x, y in zip(a, right, strict=True)])

    return Case(ours, theirs)


def grouped(given: Given) -> Case:
    rows, n, k = (given.length(given[each]) for each in ("batch_sum", "n", "k"))
    count = given["batch_count"]
    a = given.normal(rows, k)
    if given["transpose_a"]:
        b = given.normal(n, rows).T if given["transpose_b"] else given.normal(rows, n)
        sizes = torch.full((count,), rows // count, dtype=torch.int32)
        return Case(
            lambda: kernels.grouped_weight_gradient(a, b, sizes),
            lambda: torch.bmm(a.view(count, -1, k).transpose(1, 2), b.reshape(count, -1, n)),
        )
    b = given.normal(count, n, k).transpose(1, 2) if given["transpose_b"] else None
    b = given.normal(count, k, n) if b is None else b
    sizes = torch.full((count,), rows // count, dtype=torch.int32)
    ours = lambda: kernels.grouped_matmul(a, b, sizes)  # noqa: E731  of this workload
    return Case(ours, lambda: torch.bmm(a.view(count, -1, k), b).view(rows, n))


def w4a16(given: Given) -> Case:
    """Weights of 4 bits; torch's product with what they stand for."""
    m, n, k = (given.length(given[each]) for each in "mnk")
    group = given.get("group_size", 128)
    a, numbers = given.normal(m, k), torch.randint(0, 16, (n, k), dtype=torch.uint8)
    packed = numbers[:, ::2] | numbers[:, 1::2] << 4
    scales, zeros = torch.rand(n, k // group) / 8, torch.randint(0, 16, (n, k // group))
    zeros = zeros.to(torch.uint8)
    parts = numbers.view(n, -1, group).float() - zeros[..., None].float()
    wide = (parts * scales[..., None]).view(n, k).to(given.dtype)
    del numbers, parts
    return Case(
        lambda: kernels.int4_matmul(a, packed, scales, zeros), lambda: torch.matmul(a, wide.T)
    )


BUILDERS: dict[str, Builder] = {
    "GemmFwdOp": gemm,
    "GemmFp8FwdOp": gemm_fp8,
    "GemmW4A16FwdOp": w4a16,
    "GroupedGemmFwdOp": grouped,
    "BmmFwdOp": bmm,
    "BmmFp8KNFwdOp": lambda given: bmm_fp8(given, False),
    "BmmFp8NKFwdOp": lambda given: bmm_fp8(given, True),
}
