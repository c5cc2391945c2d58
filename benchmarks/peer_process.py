"""Time one peer in a process of its own: a crash or a pool of threads there disturbs no one else.

Prints a JSON object a line: first the version, then one for each kernel; or an error.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

import numpy as np

from cases import CASES
from timing import interleaved


def say(**fields: object) -> None:
    # An object a line with a mark, because peers write to the standard output too.
    print("peer:" + json.dumps(fields), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", help="a module peers_NAME beside this file")
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--want", type=Path, help="folder with the right results, KERNEL.npy")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    try:
        peer = importlib.import_module(f"peers_{args.peer}")
        say(version=peer.version())
    except Exception as error:  # whatever keeps a peer from loading, the others go on
        say(error=f"{type(error).__name__}: {error}")
        return
    for name in args.kernels:
        try:
            run, result = peer.prepare(name, CASES[name].inputs())
            run()
            ms = interleaved({name: run}, args.rounds, args.repeats)[name]
            ok = CASES[name].same(result(), np.load(args.want / f"{name}.npy"))
            say(kernel=name, ms=ms, ok=ok)
        except Exception as error:
            say(kernel=name, error=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
