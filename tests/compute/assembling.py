"""What ptxas says of kernels of loop nests for Hopper."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np

from gridlane import cuda
from gridlane.compute import Compute, programs
from gridlane.compute.splitting import SplitText, second_of
from gridlane.compute.typing import CONVERSIONS, NAMES
from gridlane.core.generated_text import function_of

PTXAS = shutil.which("ptxas") is not None


def logs(nest: Compute, split: SplitText, folder: Path) -> list[str]:
    """The logs of the kernels of a way in which threads share iterations."""
    found: list[str] = []
    tensors = nest.nest.tensors
    for place, (text, name) in enumerate(zip(split.texts, split.names, strict=True)):
        function = function_of(text, name, {**programs._SCOPE, **nest.nest.captured})
        kinds = {each: (str(kind.dtype), len(kind.extents)) for each, kind in tensors.items()}
        kinds |= {each: (kind, 3) for each, kind in split.arrays.items()}
        signature = []
        for each in split.arguments[place]:
            if each not in kinds:
                signature.append(cuda.types.int64)
                continue
            kind, rank = kinds[each]
            scalar = getattr(cuda.types, str(np.dtype(CONVERSIONS[NAMES[kind]])))
            signature.append(scalar[(*[slice(None)] * (rank - 1), slice(None, None, 1))])
        way = split.way if place == 0 else second_of(split.way)
        bound = way.threads * way.across
        ptx, _ = cuda.compile_ptx(
            function, tuple(signature), cc=(9, 0), launch_bounds=bound, fastmath=nest.fastmath
        )
        source = folder / f"{name}.ptx"
        source.write_text(ptx)
        command = ["ptxas", "-arch=sm_90", "-v", "-o", str(source.with_suffix(".cubin"))]
        done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=True)
        found.append(done.stderr)
    return found
