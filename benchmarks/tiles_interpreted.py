"""Time the programs of tile_programs.py by Triton's interpreter, for tiles.py.

    TRITON_INTERPRET=1 python benchmarks/tiles_interpreted.py FOLDER

Runs in an environment with Triton and PyTorch. FOLDER has an .npz for each case: its arguments by
the names of parameters, and the grid. Prints a JSON object a line: the case and milliseconds, the
smallest of three runs; writes the array that changed as CASE.npy.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

import tile_programs


def main() -> None:
    folder = Path(sys.argv[1])
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as given:
            grid = tuple([int(extent) for extent in given["grid"]])
            values = {name: given[name] for name in given.files if name not in ("grid", "result")}
            result = str(given["result"])
        arguments = {
            name: torch.from_numpy(value) if value.ndim else value.item()
            for name, value in values.items()
        }
        program, times = getattr(tile_programs, path.stem), list[float]()
        for _ in range(3):
            start = time.perf_counter()
            program[grid](**arguments)
            times.append((time.perf_counter() - start) * 1e3)
        np.save(folder / f"{path.stem}.npy", arguments[result].numpy())
        print(json.dumps({"case": path.stem, "ms": min(times)}), flush=True)


if __name__ == "__main__":
    main()
