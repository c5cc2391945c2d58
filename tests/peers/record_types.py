"""Record numba-cuda's result type of every fact: ``python -m tests.peers.record_types [--jobs N]``.

It needs numba-cuda and no GPU: each fact is compiled to PTX for compute capability 8.0, with no
GPU asked.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import warnings
from types import SimpleNamespace

from tests.peers.expressions import EXPRESSIONS
from tests.peers.facts import ERROR, TYPES, TYPES_FILE, Kinds, compiled, name_of, pack, source

CAPABILITY = (8, 0)


def by_numba(expression: str, kinds: Kinds) -> str:
    """The result type by numba-cuda, which compiles to PTX; ``ERROR`` where it refuses."""
    from numba import cuda, types

    # Overloads compile for the current device: without one, for that of the whole function.
    device = SimpleNamespace(compute_capability=CAPABILITY)
    cuda.dispatcher.get_current_device = lambda: device
    named = tuple([getattr(types, "boolean" if kind == "bool" else kind) for kind in kinds])
    function = compiled(source(expression, "ab"[: len(kinds)]), cuda)
    warnings.simplefilter("ignore")
    try:
        return name_of(cuda.compile_ptx(function, named, device=True, cc=CAPABILITY)[1])
    except Exception:
        return ERROR


def _work(fact: tuple[str, Kinds]) -> str:
    return by_numba(*fact)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2)
    jobs = parser.parse_args().jobs
    work = [
        (expression, kinds)
        for arity, expressions in enumerate(EXPRESSIONS)
        for expression in expressions
        for kinds in itertools.product(TYPES, repeat=arity)
    ]
    found: dict[str, list[str]] = {}
    with multiprocessing.Pool(jobs, maxtasksperchild=16) as pool:
        for (expression, _), kind in zip(work, pool.imap(_work, work, chunksize=50)):
            found.setdefault(expression, []).append(kind)
    TYPES_FILE.write_bytes(pack(found))


if __name__ == "__main__":
    main()
