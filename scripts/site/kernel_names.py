"""The groups of names that kernels use, each with an example, and the types of the names.

tests/site/test_reference.py runs the examples.
"""

from __future__ import annotations

import ast
from pathlib import Path

STUB = Path(__file__).parents[2] / "src/gridlane/cuda/__init__.pyi"

GROUPS: dict[str, tuple[str, ...]] = {
    "Place of a thread": (
        "grid",
        "gridsize",
        "threadIdx",
        "blockIdx",
        "blockDim",
        "gridDim",
        "laneid",
        "warpsize",
    ),
    "Barriers and fences": (
        "syncthreads",
        "syncthreads_count",
        "syncthreads_and",
        "syncthreads_or",
        "syncwarp",
        "threadfence",
        "threadfence_block",
        "threadfence_system",
        "nanosleep",
    ),
    "Memory": ("shared", "local", "const", "async_copy", "async_commit", "async_wait"),
    "Atomic updates": ("atomic",),
    "Warps": (
        "shfl_sync",
        "shfl_up_sync",
        "shfl_down_sync",
        "shfl_xor_sync",
        "shfl_sync_intrinsic",
        "all_sync",
        "any_sync",
        "eq_sync",
        "ballot_sync",
        "vote_sync_intrinsic",
        "match_any_sync",
        "match_all_sync",
        "activemask",
        "lanemask_lt",
    ),
    "Bits and numbers": ("popc", "clz", "ffs", "brev", "fma", "cbrt", "selp", "fp16"),
    "Loads and stores with cache hints": (
        "ldca",
        "ldcg",
        "ldcs",
        "ldcv",
        "ldlu",
        "stcg",
        "stcs",
        "stwb",
        "stwt",
    ),
    "Matrices of a warp": ("wmma",),
}
"""The names of each group, in the order of the page."""

TEXTS: dict[str, str] = {
    "Place of a thread": "Which element is a thread's own.",
    "Barriers and fences": "How threads of a block, a warp or the device wait for each other's "
    "writes.",
    "Memory": "Memory of a block, of a thread, and of constants; copies into a block's memory that "
    "go on beside computation.",
    "Atomic updates": "Updates that no other thread comes between. Each returns the old value.",
    "Warps": "Values that the 32 lanes of a warp exchange without memory. A mask names the lanes "
    "that take part.",
    "Bits and numbers": "Instructions for bits, and arithmetic that Python has no operator for.",
    "Loads and stores with cache hints": "How long a GPU's caches keep an element. Elsewhere a "
    "hint changes nothing.",
    "Matrices of a warp": "Products of small matrices, by tensor cores where a GPU has them.",
}
"""What each group is for."""

EXAMPLES: dict[str, str] = {
    "Place of a thread": """
@cuda.jit
def double(values):
    i = cuda.grid(1)  # cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < values.size:
        values[i] *= 2
        i += cuda.gridsize(1)

x = np.arange(100, dtype=np.int32)
double[2, 32](x)
assert (x == 2 * np.arange(100)).all()
""",
    "Barriers and fences": """
@cuda.jit
def reverse(values):
    part = cuda.shared.array(64, np.int32)
    t = cuda.threadIdx.x
    part[t] = values[t]
    cuda.syncthreads()
    values[t] = part[63 - t]

x = np.arange(64, dtype=np.int32)
reverse[1, 64](x)
assert (x == np.arange(64)[::-1]).all()
""",
    "Memory": """
WEIGHTS = np.array([1, 2, 4], np.int32)

@cuda.jit
def weighted(values, out):
    weights = cuda.const.array_like(WEIGHTS)  # constant memory
    mine = cuda.local.array(3, np.int32)  # a thread's own
    i = cuda.grid(1)
    for k in range(3):
        mine[k] = values[i] * weights[k]
    out[i] = mine[0] + mine[1] + mine[2]

x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
weighted[1, 32](x, out)
assert (out == 7 * x).all()
""",
    "Atomic updates": """
@cuda.jit
def histogram(values, counts):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i], 1)

x, counts = np.arange(1000, dtype=np.int32) % 7, np.zeros(7, np.int32)
histogram[8, 128](x, counts)
assert (counts == np.bincount(x)).all()
""",
    "Warps": """
@cuda.jit
def sums(values, out):
    total = values[cuda.grid(1)]
    step = 16
    while step:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
        step //= 2
    if cuda.laneid == 0:
        out[cuda.grid(1) // 32] = total

x, out = np.arange(64, dtype=np.int32), np.zeros(2, np.int32)
sums[1, 64](x, out)
assert list(out) == [x[:32].sum(), x[32:].sum()]
""",
    "Bits and numbers": """
@cuda.jit
def bits(out):
    out[0] = cuda.popc(0b1011)
    out[1] = cuda.clz(np.int32(1))  # zeros above the highest bit
    out[2] = cuda.ffs(0b1000)  # the lowest bit, counted from 1
    out[3] = cuda.selp(out[0] > 2, 10, 20)

out = np.zeros(4, np.int32)
bits[1, 1](out)
assert list(out) == [3, 31, 4, 10]
""",
    "Loads and stores with cache hints": """
@cuda.jit
def copy(source, target):
    i = cuda.grid(1)
    cuda.stcs(target, i, cuda.ldcs(source, i))  # read and written once: kept out of the caches

x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
copy[1, 32](x, out)
assert (out == x).all()
""",
    "Matrices of a warp": """
@cuda.jit
def product(a, b, c):
    total = cuda.wmma.fill((32, 32), np.float32, 0)
    for k in range(0, 64, 16):
        left = cuda.wmma.load_a(a, (0, k), (32, 16))
        right = cuda.wmma.load_b(b, (k, 0), (16, 32))
        total = cuda.wmma.mma(left, right, total)
    cuda.wmma.store(c, (0, 0), total)

a = (np.arange(32 * 64) % 5).astype(np.float16).reshape(32, 64)
b = np.ones((64, 32), np.float16)
c = np.zeros((32, 32), np.float32)
product[1, 32](a, b, c)
assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()
""",
}
"""A program for each group, after the imports of numpy and gridlane.cuda."""


def signatures() -> dict[str, list[str]]:
    """The signatures with types, of each name that the stub declares: ``atomic.add`` and the like
    of namespaces."""
    tree = ast.parse(STUB.read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    found: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(_signature(node))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            kind = classes.get(ast.unparse(node.annotation))
            for member in kind.body if kind else ():
                if isinstance(member, ast.FunctionDef):
                    name = f"{node.target.id}.{member.name}"
                    found.setdefault(name, []).append(_signature(member))
    return found


def _signature(node: ast.FunctionDef) -> str:
    arguments = node.args
    arguments.args = [each for each in arguments.args if each.arg != "self"]
    arguments.posonlyargs = [each for each in arguments.posonlyargs if each.arg != "self"]
    result = "" if node.returns is None else f" -> {_plain(ast.unparse(node.returns))}"
    return f"{node.name}({_plain(ast.unparse(arguments))}){result}"


_WORDS = {
    "SupportsIndex": "integer",
    "_Real": "number",
    "_Index": "index",
    "_Shape": "shape",
    "_Number": "type",
    "_KernelArray": "array",
    "_Fragment": "fragment",
    "_T": "T",
}


def _plain(text: str) -> str:
    """A signature's types in words."""
    for name, word in _WORDS.items():
        text = text.replace(name, word)
    return text
