"""The names of numba.cuda that kernels use. The frontend knows each by identity; the cuda package
exports them. Using one outside of a kernel raises a KernelOnlyError that says so."""

from __future__ import annotations

from typing import Any, NoReturn

from gridlane.core.errors import GridlaneError
from gridlane.core.suggestions import did_you_mean

MOST_NAMED = 32
"""The most names that an error lists."""


class KernelOnlyError(GridlaneError, RuntimeError):
    """A name for kernels was used outside of one."""


def _refuse(name: str) -> NoReturn:
    raise KernelOnlyError(
        f"{name} has a meaning only inside a kernel: use it in a function decorated with @cuda.jit"
    )


class Stub:
    """Something that a kernel calls. ``params`` names the parameters, "x=" may be left out."""

    home = ""
    """The module that registers its handler, if it is imported at the first call alone."""

    def __init__(self, name: str, params: str, doc: str) -> None:
        self.name = name
        self.params = params
        self.__doc__ = f"{name}({params.replace('=', '=...')})\n\n{doc}"
        self.__name__ = name.rpartition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        _refuse(f"{self.name}()")

    def __repr__(self) -> str:
        return f"<{self.name}, for kernels>"


def literal_unroll(items: Any) -> Any:
    """The items of a tuple of several types, as ``for`` takes them in kernels without it, too."""
    return items


class ValueStub:
    """Something that a kernel reads: ``cuda.laneid``, ``cuda.threadIdx.x``."""

    __gridlane_value__ = True

    def __init__(self, name: str, doc: str) -> None:
        self.name = name
        self.__doc__ = doc
        self.__name__ = name.rpartition(".")[2]

    def _refuse(self, *_: Any) -> NoReturn:
        _refuse(self.name)

    __index__ = __int__ = __float__ = __bool__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __repr__(self) -> str:
        return f"<{self.name}, for kernels>"


class Dim3Stub:
    """Three values along the axes: ``.x``, ``.y``, ``.z``."""

    def __init__(self, name: str, doc: str) -> None:
        self.name = name
        self.__doc__ = doc
        self.__name__ = name.rpartition(".")[2]
        self.x = ValueStub(f"{name}.x", f"{doc} Axis x.")
        self.y = ValueStub(f"{name}.y", f"{doc} Axis y.")
        self.z = ValueStub(f"{name}.z", f"{doc} Axis z.")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"{self.name} has no {name}; it has x, y, z")

    def __repr__(self) -> str:
        return f"<{self.name}, for kernels>"


class Namespace:
    """A group of stubs: ``cuda.shared``, ``cuda.atomic``, ``cuda.fp16`` …"""

    def __init__(self, name: str, doc: str, **members: Any) -> None:
        self.name = name
        self.__doc__ = doc
        self.__name__ = name.rpartition(".")[2]
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known = sorted(k for k, v in self.__dict__.items() if not isinstance(v, str))
        listed = f"; it has {', '.join(known)}" if len(known) <= MOST_NAMED else ""
        raise AttributeError(f"{self.name} has no {name}{listed}{did_you_mean(name, known)}")

    def __repr__(self) -> str:
        return f"<{self.name}, for kernels>"


def _group(name: str, doc: str, members: dict[str, tuple[str, str]]) -> Namespace:
    """A namespace of stubs from (parameters, documentation) by name."""
    stubs = {key: Stub(f"{name}.{key}", params, text) for key, (params, text) in members.items()}
    return Namespace(name, doc, **stubs)


# ---- where a thread stands

threadIdx = Dim3Stub("cuda.threadIdx", "The thread's index in its block, int32.")  # noqa: N816
blockIdx = Dim3Stub("cuda.blockIdx", "The block's index in the grid, int32.")  # noqa: N816
blockDim = Dim3Stub("cuda.blockDim", "Threads in a block, int32.")  # noqa: N816
gridDim = Dim3Stub("cuda.gridDim", "Blocks in the grid, int32.")  # noqa: N816
laneid = ValueStub("cuda.laneid", "The thread's lane in its warp, 0 to 31, int32.")
warpsize = ValueStub("cuda.warpsize", "Threads in a warp: 32.")
grid = Stub("cuda.grid", "ndim", "The thread's place in the grid: int64, or a tuple for ndim > 1.")
gridsize = Stub("cuda.gridsize", "ndim", "Threads in the grid: int64, or a tuple for ndim > 1.")

# ---- memory

shared = _group(
    "cuda.shared",
    "Memory that a block shares.",
    {"array": ("shape, dtype, alignment=", "A shared array; shape 0 is sized at launch.")},
)
local = _group(
    "cuda.local",
    "Memory of one thread.",
    {"array": ("shape, dtype, alignment=", "A local array of undefined contents.")},
)
const = _group(
    "cuda.const",
    "Constant memory.",
    {"array_like": ("ndarray", "A global numpy array as constant memory.")},
)

async_copy = Stub(
    "cuda.async_copy",
    "target, target_index, source, source_index, count",
    "Start to copy ``count`` elements, a constant, from an array in global memory to one in shared "
    "memory. They follow each other along the last axis, are 4, 8 or 16 bytes together, and start "
    "at multiples of as many bytes. The data may arrive at any time up to the async_wait that "
    "covers the copy: reading it earlier is a race. Other threads see it behind a barrier that "
    "follows the wait.",
)
async_commit = Stub(
    "cuda.async_commit", "", "Make a group of the thread's copies since the last commit."
)
async_wait = Stub(
    "cuda.async_wait",
    "pending",
    "Wait until at most the ``pending`` latest groups of the thread, a constant, are under way.",
)

# ---- barriers and fences

syncthreads = Stub("cuda.syncthreads", "", "Wait for every thread of the block.")
syncthreads_count = Stub(
    "cuda.syncthreads_count", "predicate", "A barrier; the number of threads with a true predicate."
)
syncthreads_and = Stub(
    "cuda.syncthreads_and", "predicate", "A barrier; 1 where every predicate is true, else 0."
)
syncthreads_or = Stub(
    "cuda.syncthreads_or", "predicate", "A barrier; 1 where any predicate is true, else 0."
)
syncwarp = Stub("cuda.syncwarp", "mask=", "Wait for the lanes of the warp in the mask.")
threadfence = Stub("cuda.threadfence", "", "Order memory accesses as seen by the device.")
threadfence_block = Stub("cuda.threadfence_block", "", "Order memory accesses within the block.")
threadfence_system = Stub("cuda.threadfence_system", "", "Order memory accesses system-wide.")
nanosleep = Stub("cuda.nanosleep", "ns", "Sleep about so many nanoseconds; may return at once.")

# ---- not of numba.cuda, and not exported by the cuda package: for kernels that do not end

load_words = Stub(
    "load_words",
    "address",
    "Four uint32 at an address of global memory that is a multiple of 16: by one access of 16 "
    "bytes on a GPU, while a CPU reads the last one first. The access is never left out.",
)
store_words = Stub(
    "store_words",
    "address, a, b, c, d",
    "Store four uint32 likewise; a CPU writes the last one last.",
)
rest = Stub(
    "rest",
    "ns",
    "Let the block's other threads run, in a loop that looks for what they do; where they run "
    "beside each other, sleep about so many nanoseconds, a constant.",
)
load_words_anywhere = Stub(
    "load_words_anywhere",
    "address",
    "As ``load_words``, at an address of any memory, such as ``peer_address`` gives.",
)
store_words_anywhere = Stub(
    "store_words_anywhere",
    "address, a, b, c, d",
    "As ``store_words``, at an address of any memory.",
)
nanoseconds = Stub("nanoseconds", "", "The device's clock in nanoseconds, uint64.")

# ---- clusters; not of numba.cuda, and not exported by the cuda package

cluster_rank = Stub("cluster_rank", "", "The number of the block in its cluster.")
cluster_size = Stub("cluster_size", "", "How many blocks the cluster has.")
cluster_sync = Stub(
    "cluster_sync",
    "",
    "Wait for every thread of the cluster that has not ended. It orders global memory, and the "
    "shared memory of all its blocks.",
)
address_of = Stub(
    "address_of",
    "array",
    "The address of an array, as uint64, for accesses of any memory.",
)
peer_address = Stub(
    "peer_address",
    "array, rank",
    "The address of an array in shared memory, in the cluster's block of that rank, as uint64.",
)

# ---- warps

_MASKED = "The mask names the lanes that take part."
shfl_sync = Stub("cuda.shfl_sync", "mask, value, src_lane", f"The value of a lane. {_MASKED}")
shfl_up_sync = Stub(
    "cuda.shfl_up_sync", "mask, value, delta", f"The value of the lane delta below. {_MASKED}"
)
shfl_down_sync = Stub(
    "cuda.shfl_down_sync", "mask, value, delta", f"The value of the lane delta above. {_MASKED}"
)
shfl_xor_sync = Stub(
    "cuda.shfl_xor_sync", "mask, value, lane_mask", f"The value of lane id ^ lane_mask. {_MASKED}"
)
all_sync = Stub("cuda.all_sync", "mask, predicate", f"Whether all predicates hold. {_MASKED}")
any_sync = Stub("cuda.any_sync", "mask, predicate", f"Whether any predicate holds. {_MASKED}")
eq_sync = Stub("cuda.eq_sync", "mask, predicate", f"Whether all predicates agree. {_MASKED}")
ballot_sync = Stub(
    "cuda.ballot_sync", "mask, predicate", f"A bit for each lane whose predicate holds. {_MASKED}"
)
vote_sync_intrinsic = Stub(
    "cuda.vote_sync_intrinsic", "mask, mode, predicate", "mode 0 all, 1 any, 2 eq, 3 ballot."
)
shfl_sync_intrinsic = Stub(
    "cuda.shfl_sync_intrinsic",
    "mask, mode, value, mode_offset, clamp",
    "(value, in range); mode 0 idx, 1 up, 2 down, 3 xor; clamp as in PTX.",
)
match_any_sync = Stub(
    "cuda.match_any_sync", "mask, value", f"The lanes with an equal value. {_MASKED}"
)
match_all_sync = Stub(
    "cuda.match_all_sync", "mask, value", f"(lanes, whether all values are equal). {_MASKED}"
)
activemask = Stub("cuda.activemask", "", "The lanes that run together.")
lanemask_lt = Stub("cuda.lanemask_lt", "", "The lanes below the own one.")

# ---- matrices of a warp

_MATRIX = "array, position, shape, layout="
_FROM = (
    "from a 2-d array in global or shared memory, the first element at array[position]. A C array "
    'has the layout "row", an F array "col"; array.T turns one into the other. Rows, or columns, '
    "start at multiples of 16 bytes."
)
wmma = _group(
    "cuda.wmma",
    "Matrices that the 32 lanes of a warp hold together and tensor cores multiply. Shapes are "
    "constants, multiples of 16; the inner extent of a product is one of 16 for 16-bit floats, 8 "
    "for float32 as tf32, 32 for 8-bit integers. All lanes of a warp call these together.",
    {
        "fill": ("shape, dtype, value", "An accumulator with one value everywhere."),
        "load_a": (f"{_MATRIX}, precision=", f"A left factor {_FROM}"),
        "load_b": (f"{_MATRIX}, precision=", f"A right factor {_FROM}"),
        "load_c": (_MATRIX, f"An accumulator {_FROM}"),
        "mma": ("a, b, c", "The accumulator a @ b + c."),
        "store": ("array, position, fragment, layout=", "Write an accumulator, as load_c reads."),
        "scale": ("fragment, factor", "An accumulator with every element times a number."),
        "convert": ("fragment, dtype", "An accumulator with every element converted."),
    },
)

# ---- numbers

popc = Stub("cuda.popc", "x", "The number of one bits.")
brev = Stub("cuda.brev", "x", "The bits in reverse order.")
clz = Stub("cuda.clz", "x", "The number of leading zero bits.")
ffs = Stub("cuda.ffs", "x", "The position of the lowest one bit, from 1; 0 for 0.")
fma = Stub("cuda.fma", "a, b, c", "a * b + c, rounded once.")
cbrt = Stub("cuda.cbrt", "x", "The cube root.")
selp = Stub("cuda.selp", "condition, a, b", "a where the condition holds, else b.")

_AT = "ary, idx, val"
_ATOMICS = {
    "add": (_AT, "ary[idx] += val."),
    "sub": (_AT, "ary[idx] -= val."),
    "and_": (_AT, "ary[idx] &= val."),
    "or_": (_AT, "ary[idx] |= val."),
    "xor": (_AT, "ary[idx] ^= val."),
    "inc": (_AT, "ary[idx] = 0 if ary[idx] >= val else ary[idx] + 1."),
    "dec": (_AT, "ary[idx] = val if ary[idx] == 0 or ary[idx] > val else ary[idx] - 1."),
    "exch": (_AT, "ary[idx] = val."),
    "max": (_AT, "ary[idx] = max(ary[idx], val); a NaN stays."),
    "min": (_AT, "ary[idx] = min(ary[idx], val); a NaN stays."),
    "nanmax": (_AT, "ary[idx] = max(ary[idx], val); a NaN is taken as missing."),
    "nanmin": (_AT, "ary[idx] = min(ary[idx], val); a NaN is taken as missing."),
    "compare_and_swap": ("ary, old, val", "ary[0] = val where ary[0] == old."),
    "cas": ("ary, idx, old, val", "ary[idx] = val where ary[idx] == old."),
}
atomic = _group("cuda.atomic", "Atomic updates; each gives the old value.", _ATOMICS)

_FP16_ONE = (
    "habs", "hneg", "hsin", "hcos", "hexp", "hexp2", "hexp10", "hlog", "hlog2", "hlog10", "hsqrt",
    "hrsqrt", "hrcp", "hceil", "hfloor", "hrint", "htrunc",
)  # fmt: skip
_FP16_TWO = (
    "hadd", "hsub", "hmul", "hdiv", "hmax", "hmin", "heq", "hne", "hlt", "hle", "hgt", "hge",
)  # fmt: skip
fp16 = _group(
    "cuda.fp16",
    "Arithmetic of float16.",
    {name: ("a", f"{name} of a float16.") for name in _FP16_ONE}
    | {name: ("a, b", f"{name} of two float16.") for name in _FP16_TWO}
    | {"hfma": ("a, b, c", "a * b + c of float16, rounded once.")},
)

_LOADS = {name: "ary, idx" for name in ("ldca", "ldcg", "ldcs", "ldlu", "ldcv")}
_STORES = {name: "ary, idx, val" for name in ("stcg", "stcs", "stwb", "stwt")}
CACHE_HINTS = {
    name: Stub(f"cuda.{name}", params, "A load or store with a cache hint, which may be ignored.")
    for name, params in (_LOADS | _STORES).items()
}


class GridGroup:
    """Every thread of a grid; the result of ``cuda.cg.this_grid()`` in a kernel."""

    sync = Stub(
        "cuda.cg.GridGroup.sync",
        "",
        "Wait for every thread of the grid. All of them must reach it.",
    )
    thread_rank = Stub("cuda.cg.GridGroup.thread_rank", "", "The thread's number, int64.")
    size = Stub("cuda.cg.GridGroup.size", "", "The threads of the grid, int64.")
    num_threads = Stub("cuda.cg.GridGroup.num_threads", "", "The threads of the grid, int64.")
    block_rank = Stub("cuda.cg.GridGroup.block_rank", "", "The number of the block, int64.")
    num_blocks = Stub("cuda.cg.GridGroup.num_blocks", "", "The blocks of the grid, int64.")
    block_index = Stub("cuda.cg.GridGroup.block_index", "", "The block's index along x, y, z.")
    dim_blocks = Stub("cuda.cg.GridGroup.dim_blocks", "", "Blocks along x, y and z.")
    is_valid = Stub("cuda.cg.GridGroup.is_valid", "", "True: the grid can synchronise.")


class ThreadBlock:
    """Every thread of a block; the result of ``cuda.cg.this_thread_block()`` in a kernel."""

    sync = Stub("cuda.cg.ThreadBlock.sync", "", "Wait for every thread of the block.")
    thread_rank = Stub("cuda.cg.ThreadBlock.thread_rank", "", "The thread's number, int32.")
    size = Stub("cuda.cg.ThreadBlock.size", "", "The threads of the block, int32.")
    num_threads = Stub("cuda.cg.ThreadBlock.num_threads", "", "The threads of the block, int32.")
    thread_index = Stub("cuda.cg.ThreadBlock.thread_index", "", "The index along x, y and z.")
    dim_threads = Stub("cuda.cg.ThreadBlock.dim_threads", "", "Threads along x, y and z.")
    group_index = Stub("cuda.cg.ThreadBlock.group_index", "", "The block's index in the grid.")
    group_dim = Stub("cuda.cg.ThreadBlock.group_dim", "", "Threads along x, y and z.")


THIS_GRID = GridGroup()
THIS_BLOCK = ThreadBlock()

this_grid = Stub("cuda.cg.this_grid", "", "The group of the whole grid.")
this_thread_block = Stub("cuda.cg.this_thread_block", "", "The group of the thread's block.")
tile_length = Stub("cuda.cg.tile_length", "size", "A constant: a power of two up to 32.")
of_type = Stub("cuda.cg.of_type", "value, model", "A number in the type of another one.")
zero_of = Stub("cuda.cg.zero_of", "model", "0 in the type of a number.")

NAMESPACE: dict[str, Any] = {
    **{item.__name__: item for item in (threadIdx, blockIdx, blockDim, gridDim, laneid, warpsize)},
    **{item.__name__: item for item in (grid, gridsize, shared, local, const, atomic, fp16)},
    wmma.__name__: wmma,
    **{item.__name__: item for item in (async_copy, async_commit, async_wait)},
    **{item.__name__: item for item in (syncthreads, syncthreads_count, syncthreads_and)},
    **{item.__name__: item for item in (syncthreads_or, syncwarp, nanosleep, activemask)},
    **{item.__name__: item for item in (threadfence, threadfence_block, threadfence_system)},
    **{item.__name__: item for item in (shfl_sync, shfl_up_sync, shfl_down_sync, shfl_xor_sync)},
    **{item.__name__: item for item in (all_sync, any_sync, eq_sync, ballot_sync)},
    **{item.__name__: item for item in (vote_sync_intrinsic, shfl_sync_intrinsic)},
    **{item.__name__: item for item in (match_any_sync, match_all_sync, lanemask_lt)},
    **{item.__name__: item for item in (popc, brev, clz, ffs, fma, cbrt, selp)},
    **CACHE_HINTS,
}
"""Every stub by the name under which the cuda package exports it."""

__all__ = sorted([*NAMESPACE, "NAMESPACE"])  # pyright: ignore[reportUnsupportedDunderAll]
