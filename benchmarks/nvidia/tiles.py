"""Tile programs beside torch and Triton, on an NVIDIA GPU with a cold cache.

    python -m benchmarks.nvidia.tiles [--only CASE] [--rounds 3] [--device cpu --small] [--record]

The same programs (``tile_kernels.py``) run by gridlane and by Triton, and torch's functions, on
the same random data. All take turns: a round is a run of each, and a run is the median of calls in
front of which the GPU's second cache is emptied, by Triton's ``do_bench`` for all, or by gridlane's
where Triton is missing. The first calls compile and are not counted. Each result is compared with
torch's. A peer that fails is named, and the others go on. At the end are launches and the time to
compile (``tile_launches.py``). With ``--small`` extents are small, any device of gridlane runs them
without peers, and NumPy's float64 is the reference.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from benchmarks import results
from benchmarks.nvidia import tile_launches, tile_library

KERNELS = Path(__file__).with_name("tile_kernels.py")
Run = Callable[[], Any]
LIBRARY = "matmul f16"
"""Cases of ``gridlane.tiles.kernels.matmul``."""

WIDE, TALL = (8192, 8192, 8192), (65536, 256, 4096)
SHAPES = [
    WIDE, (4096, 4096, 4096), (2048, 2048, 2048), (1024, 1024, 1024), (16384, 4096, 4096),
    (4096, 16384, 4096), (4096, 4096, 16384), TALL, (256, 65536, 4096), (128, 8192, 8192),
    (16, 8192, 8192), (8192, 128, 8192), (3000, 3000, 3000), (5120, 5120, 1000),
    (1536, 6144, 1536), (6144, 1536, 6144), (512, 512, 65536), (12288, 12288, 1024),
    (2000, 7000, 4096), (8191, 8193, 8192),
]  # fmt: skip
"""Twenty shapes of products: rows, columns, the inner extent."""


class Case(NamedTuple):
    """What takes turns.

    Attributes:
        runs: by whose they are; each returns its result.
        work: of a call, in operations or bytes.
        unit: of the work in a second.
        exact: the result in float64, or None where torch's is the reference.
        near: the largest difference beside the largest result.
    """

    runs: dict[str, Run]
    work: float
    unit: str
    exact: Callable[[], np.ndarray] | None
    near: float


def loaded(triton: ModuleType, language: ModuleType, name: str) -> ModuleType:
    """The kernels, as programs of one of the two."""
    kept = {each: sys.modules.get(each) for each in ("triton", "triton.language")}
    sys.modules.update({"triton": triton, "triton.language": language})
    try:
        spec = importlib.util.spec_from_file_location(name, KERNELS)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        for each, before in kept.items():
            if before is None:
                del sys.modules[each]
            else:
                sys.modules[each] = before
    return module


Maker = Callable[[], Case]


class Sides:
    """gridlane, and torch and Triton where they are installed and have a GPU."""

    def __init__(self, small: bool) -> None:
        from gridlane import tiles

        self.small, self.tiles = small, tiles
        self.torch: Any = None
        self.kernels = {"gridlane": loaded(tiles, tiles.language, "tile_kernels_of_gridlane")}  # type: ignore[arg-type]  # a module
        if not small and importlib.util.find_spec("torch"):
            import torch  # pyright: ignore[reportMissingImports]

            self.torch = torch
        if not small and importlib.util.find_spec("triton"):
            import triton  # pyright: ignore[reportMissingImports]
            import triton.language as language  # pyright: ignore[reportMissingImports]

            self.kernels["triton"] = loaded(triton, language, "tile_kernels_of_triton")

    def array(self, values: np.ndarray) -> Any:
        """An array where all sides have it: on the GPU a tensor of torch."""
        if hasattr(values, "detach"):
            return values
        if self.torch is None:
            return values if self.small else self._own(values)
        torch = self.torch
        if values.dtype == ml_dtypes.bfloat16:
            return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16).cuda()
        if values.dtype == ml_dtypes.float8_e4m3fn:
            return torch.from_numpy(values.view(np.uint8)).view(torch.float8_e4m3fn).cuda()
        return torch.from_numpy(values).cuda()

    def random(self, rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
        """Numbers of the normal distribution, or integers from -8 to 8: those of torch on the GPU,
        where large arrays of the host would take seconds."""
        if self.torch is None:
            if np.dtype(dtype) == np.int8:
                return rng.integers(-8, 9, shape).astype(dtype)
            return rng.standard_normal(shape, np.float32).astype(dtype)
        torch, name = self.torch, np.dtype(dtype).name
        torch.manual_seed(int(rng.integers(1 << 31)))
        if name == "int8":
            return torch.randint(-8, 9, shape, device="cuda", dtype=torch.int8)
        return torch.randn(shape, device="cuda").to(getattr(torch, name))

    @staticmethod
    def multiprocessors() -> int:
        """Those of the device."""
        from gridlane.launch import current

        return current.device().limits.multiprocessors

    @staticmethod
    def _own(values: np.ndarray) -> Any:
        from gridlane import cuda

        return cuda.to_device(values)

    def milliseconds(self, run: Run) -> float:
        """The median of calls with a cold cache."""
        if "triton" not in self.kernels:
            return self.tiles.testing.do_bench(run, return_mode="median")
        from triton.testing import do_bench  # pyright: ignore[reportMissingImports]

        return do_bench(run, return_mode="median")

    def described(self, who: str, array: Any, block: tuple[int, int]) -> Any:
        """A side's descriptor of an array of rows, as it is or of shape (..., columns)."""
        from gridlane.tiles.descriptors import TensorDescriptor

        maker: Any = TensorDescriptor
        if who == "triton":
            from triton.tools.tensor_descriptor import (  # pyright: ignore[reportMissingImports]
                TensorDescriptor as maker,
            )
        *rows, columns = array.shape
        return maker(array, [math.prod(rows), columns], [columns, 1], [*block])

    def launches(
        self, name: str, grid: Any, out: Any, args: tuple[Any, ...], **options: Any
    ) -> dict[str, Run]:
        """A launch of a program by each side."""
        return {
            who: partial(_launched, getattr(module, name), grid, out, args, options)
            for who, module in self.kernels.items()
        }


def whole(value: Any) -> Any:
    """A copy of a result in float64, where it is."""
    if hasattr(value, "detach"):
        return value.detach().double().clone()
    value = value.copy_to_host() if hasattr(value, "copy_to_host") else value
    return np.asarray(value).astype(np.float64)


# ---- products

ELEMENTS: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "int8": np.int8,
    "fp8": ml_dtypes.float8_e4m3fn,
}


def product(sides: Sides, kind: str, shape: tuple[int, int, int], way: str = "") -> Case:
    """A product by the program over addresses; by ``descriptors``, or by the ``library``."""
    m, n, k = shape
    rng, dtype = np.random.default_rng(1), ELEMENTS[kind]
    host = [sides.random(rng, each, dtype) for each in ((m, k), (n, k))]
    kept = {"int8": np.int32, "fp8": np.float32}.get(kind, dtype)
    a, b = map(sides.array, host)
    out = sides.array(np.zeros((m, n), kept))
    size = np.dtype(dtype).itemsize
    rows, columns = (128 if m > 64 else 16), (256 if n >= 4096 and m > 1024 else 128)
    block = (32, 32, 64 // size) if sides.small else (rows, columns, 128 // size)
    grid = (math.ceil(m / block[0]) * math.ceil(n / block[1]),)
    options = {"num_warps": 8 if columns == 256 else 4, "num_stages": 3}
    runs: dict[str, Run] = {}
    for who, module in sides.kernels.items():
        language = module.tl
        sums = language.int32 if kind == "int8" else language.float32
        options |= {"SUMS": sums, "M": block[0], "N": block[1], "K": block[2], "GROUP": 8}
        if way == "descriptors":
            tiles = (block[0], block[2]), (block[1], block[2]), block[:2]
            given = [
                sides.described(who, each, tile)
                for each, tile in zip((a, b, out), tiles, strict=True)
            ]
            own = (min(grid[0], sides.multiprocessors()),)
            runs[who] = partial(
                _launched, module.product_descriptors, own, out, (*given, m, n, k), {**options}
            )
        elif not way:
            runs[who] = partial(
                _launched, module.product, grid, out, (a, b, out, m, n, k),
                {"PRECISION": "tf32", **options},
            )  # fmt: skip
    if way == "library":
        from gridlane.tiles import kernels

        runs = {"gridlane": lambda: kernels.matmul(a, b.T, out)}
    if sides.torch is not None:
        runs["torch"] = _torchs_product(sides.torch, kind, a, b)
    near = {"f16": 2e-3, "bf16": 1.6e-2, "fp8": 1.6e-2, "tf32": 4e-3}.get(kind, 1e-5)

    def exact() -> np.ndarray:
        return host[0].astype(np.float64) @ host[1].astype(np.float64).T

    return Case(runs, 2.0 * m * n * k, "TFLOP/s", exact if sides.small else None, near)


def _launched(
    kernel: Any, grid: Any, out: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    kernel[grid](*args, **options)
    return out


def _torchs_product(torch: Any, kind: str, a: Any, b: Any) -> Run:
    if kind == "int8":
        return lambda: torch._int_mm(a, b.t())
    if kind == "fp8":
        one = torch.ones((), device=a.device)
        return lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16)
    if kind == "tf32":
        torch.backends.cuda.matmul.allow_tf32 = True
    return lambda: a @ b.t()


# ---- attention


ATTENTION_BLOCKS = {"gridlane": (128, 128, 2), "triton": (128, 64, 3)}
"""The queries and keys of a tile of each side, and the stages: the fastest of some."""


def attention(sides: Sides, length: int, width: int, causal: bool, way: str = "") -> Case:
    """Attention by the program over addresses; by ``descriptors``, or by the ``library``."""
    heads = 2 if sides.small else max(1, 32 * 4096 // length)
    rng = np.random.default_rng(2)
    host = [sides.random(rng, (heads, length, width), np.float16) for _ in range(3)]
    q, k, v = map(sides.array, host)
    out = sides.array(np.zeros((heads, length, width), np.float16))
    runs: dict[str, Run] = {}
    for who, module in sides.kernels.items():
        rows, columns, stages = (32, 32, 3) if sides.small else ATTENTION_BLOCKS[who]
        options = {"CAUSAL": causal, "WIDTH": width, "M": rows, "N": columns}
        options |= {"num_warps": 8, "num_stages": stages}
        given: list[Any] = [q, k, v, out]
        kernel = module.attention
        if way == "descriptors":
            kernel, high = module.attention_descriptors, (rows, columns, columns, rows)
            given = [
                sides.described(who, each, (lines, width))
                for each, lines in zip(given, high, strict=True)
            ]
        args = *given, length, width**-0.5 * math.log2(math.e)
        runs[who] = partial(_launched, kernel, (length // rows, heads), out, args, options)
    if way == "library":
        from gridlane.tiles import kernels

        batch = q[None], k[None], v[None], out[None]
        runs = {"gridlane": lambda: kernels.attention(*batch, causal=causal)[0]}
    if sides.torch is not None:
        function = sides.torch.nn.functional.scaled_dot_product_attention
        runs["torch"] = lambda: function(q[None], k[None], v[None], is_causal=causal)[0]

    def exact() -> np.ndarray:
        x, y, z = (each.astype(np.float64) for each in host)
        scores = np.einsum("hid,hjd->hij", x, y) * width**-0.5
        if causal:
            scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        return powers / powers.sum(-1, keepdims=True) @ z

    work = 4.0 * heads * length * length * width * (0.5 if causal else 1)
    return Case(runs, work, "TFLOP/s", exact if sides.small else None, 4e-3)


# ---- rows


def rows_of(sides: Sides, name: str, rows: int, columns: int) -> Case:
    """Softmax, norms and cross entropy of the rows of a matrix of float16."""
    rng = np.random.default_rng(3)
    host = sides.random(rng, (rows, columns), np.float16)
    scale, shift = rng.standard_normal((2, columns)).astype(np.float16)
    labels = rng.integers(0, columns, rows)
    x, out = sides.array(host), sides.array(np.zeros((rows, columns), np.float16))
    others = [sides.array(each) for each in (scale, shift)]
    if name == "cross_entropy":
        out, others = sides.array(np.zeros(rows, np.float32)), [sides.array(labels)]
    block = 1 << (columns - 1).bit_length()
    block = min(block, 4096) if name == "cross_entropy" else block
    used = {"softmax": 0, "rms_norm": 1, "layer_norm": 2, "cross_entropy": 1}[name]
    runs = sides.launches(
        name, (rows,), out, (x, *others[:used], out, columns),
        BLOCK=block, num_warps=_warps_of(block),
    )  # fmt: skip
    if sides.torch is not None:
        runs["torch.compile"] = _torchs_rows(sides.torch, name, x, others, columns)
    near = 1e-5 if name == "cross_entropy" else 4e-3
    exact = partial(_exact_rows, name, host, scale, shift, labels) if sides.small else None
    read = 2.0 * rows * columns
    return Case(runs, read if name == "cross_entropy" else 2 * read, "GB/s", exact, near)


def _warps_of(block: int) -> int:
    """The warps of a row, of both sides: the fastest of some."""
    return 16 if block > 8192 else max(1, block // 1024)


def _exact_rows(
    name: str, host: np.ndarray, scale: np.ndarray, shift: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    x = host.astype(np.float64)
    if name == "softmax":
        powers = np.exp(x - x.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)
    if name == "cross_entropy":
        largest = x.max(1)
        total = largest + np.log(np.exp(x - largest[:, None]).sum(1))
        return total - np.take_along_axis(x, labels[:, None], 1)[:, 0]
    if name == "layer_norm":
        x = x - x.mean(1, keepdims=True)
    normed = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * scale.astype(np.float64)
    return normed + shift.astype(np.float64) if name == "layer_norm" else normed


def _torchs_rows(torch: Any, name: str, x: Any, others: list[Any], columns: int) -> Run:
    f = torch.nn.functional
    functions: dict[str, Callable[..., Any]] = {
        "softmax": lambda x: torch.softmax(x, 1),
        "layer_norm": lambda x: f.layer_norm(x, (columns,), others[0], others[1]),
        "rms_norm": lambda x: f.rms_norm(x, (columns,), others[0], 1e-5),
        "cross_entropy": lambda x: f.cross_entropy(x.float(), others[0], reduction="none"),
    }
    return partial(torch.compile(functions[name]), x)


# ---- all


def cases(sides: Sides) -> Iterator[tuple[str, Maker]]:
    """The cases by name."""
    small = sides.small
    for kind in ELEMENTS:
        shapes = [(64, 96, 64), (50, 33, 48)] if small else SHAPES if kind == "f16" else [WIDE]
        for shape in shapes:
            yield f"{kind} {'x'.join(map(str, shape))}", partial(product, sides, kind, shape)
    for kind in ELEMENTS:
        shapes = [(64, 96, 64), (50, 40, 48)] if small else SHAPES[:4] if kind == "f16" else [WIDE]
        for shape in shapes:
            name = f"{kind} descriptors {'x'.join(map(str, shape))}"
            yield name, partial(product, sides, kind, shape, "descriptors")
    for shape in [(64, 96, 64), (50, 33, 48)] if small else SHAPES:
        name = f"{LIBRARY} {'x'.join(map(str, shape))}"
        yield name, partial(product, sides, "f16", shape, "library")
    for length in (64,) if small else (1024, 2048, 4096, 8192, 16384):
        for causal in (False, True):
            name = f"attention {length}{' causal' if causal else ''}"
            given = sides, length, 32 if small else 128, causal
            yield name, partial(attention, *given)
            yield f"{name} descriptors", partial(attention, *given, "descriptors")
            yield f"{name} library", partial(attention, *given, "library")
    for name in ("softmax", "layer_norm", "rms_norm", "cross_entropy"):
        for columns in (100, 128) if small else (1024, 4096, 8192, 32768):
            rows = 3 if small else (1 << 27) // columns
            yield f"{name} {columns}", partial(rows_of, sides, name, rows, columns)
    yield from tile_library.cases(sides)


def difference(case: Case) -> float:
    """The largest difference of gridlane's result, of what is allowed; inf where it has none.
    Sides that fail are named, and take no part any more."""
    found: dict[str, Any] = {}
    for who, run in [*case.runs.items()]:
        try:
            found[who] = whole(run())
        except Exception as error:  # Triton refuses what its GPU or its language lacks
            text = " ".join(str(error).split())
            print(f"    {who} failed: {type(error).__name__}: {text:.300}", flush=True)
            del case.runs[who]
    if "gridlane" not in found:
        return math.inf
    reference = case.exact() if case.exact is not None else None
    if reference is None:
        reference = next((v for who, v in found.items() if who.startswith("torch")), None)
    if reference is None:
        return math.nan
    most = float(abs(reference).max()) * case.near
    return float(abs(found["gridlane"] - reference).max()) / most


def measured(sides: Sides, case: Case, rounds: int) -> dict[str, float]:
    """Milliseconds of each side: medians over rounds."""
    times: dict[str, list[float]] = {who: [] for who in case.runs}
    for _ in range(rounds):
        for who, run in case.runs.items():
            times[who].append(sides.milliseconds(run))
    return {who: statistics.median(each) for who, each in times.items()}


def _is_there(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def main() -> None:
    """Print a line for each case; 1 where a result is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="CASE", help="names that contain this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="small extents, without peers")
    results.option(parser)
    args = parser.parse_args()
    os.environ["GRIDLANE_DEVICE"] = args.device
    sides, wrong = Sides(args.small), 0
    ratios: list[float] = []
    for name, make in cases(sides):
        if args.only and not any(each in name for each in args.only):
            continue
        case = make()
        apart = difference(case)
        wrong += apart > 1
        times = {} if args.small and args.rounds == 0 else measured(sides, case, args.rounds)
        scale = 1e-9 if case.unit == "TFLOP/s" else 1e-6
        cells = [f"{who} {case.work * scale / ms:8.1f}" for who, ms in times.items()]
        verdict = "WRONG" if apart > 1 else "not compared" if math.isnan(apart) else "agrees"
        print(f"{name:<26}{case.unit:>8}  {'  '.join(cells)}  {verdict} ({apart:.2f})", flush=True)
        for who, ms in times.items():
            results.add(name, who, case.work * scale / ms, case.unit)
            if who != "gridlane" and "gridlane" in times:
                results.add(name, f"gridlane / {who}", times["gridlane"] / ms, "ratio")
                if name.startswith(LIBRARY) and who == "torch":
                    ratios.append(times["gridlane"] / ms)
    if ratios:
        mean = statistics.geometric_mean(ratios)
        print(f"{LIBRARY}: {len(ratios)} shapes in {mean:.3f} of torch's time (geometric mean)")
        results.add(f"{LIBRARY} {len(ratios)} shapes", "gridlane / torch", mean, "ratio")
    tile_launches.report(sides, args.only, args.rounds)
    peers = {name: metadata.version(name) for name in ("torch", "triton") if _is_there(name)}
    results.write("nvidia_tiles", args.record, args.device, peers)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
