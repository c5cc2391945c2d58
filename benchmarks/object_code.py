"""Whether two checkouts of gridlane make the same machine code of the kernels of benchmarks/cpu.py.

    python benchmarks/object_code.py OLD NEW

On machines whose speed varies this says more than times do: what is the same byte for byte is no
slower.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def digests() -> dict[str, str]:
    """The digest of each kernel's object code, by the gridlane that is imported."""
    from gridlane.codegen.llvm import machine
    from gridlane.compiler import cpu  # noqa: F401  # has taken the function by name

    original, made = machine.object_code, []

    def noted(*args, **kwargs):
        code = original(*args, **kwargs)
        made.append(code)
        return code

    for module in list(sys.modules.values()):
        if getattr(module, "object_code", None) is original:
            module.object_code = noted
    import kernels
    from cases import CASES

    found = {}
    for name, case in CASES.items():
        made.clear()
        run, _ = kernels.prepare(name, case.inputs())
        run()
        assert made, f"{name} was not compiled"
        found[name] = hashlib.sha256(b"".join(made)).hexdigest()
    return found


def of(checkout: Path) -> dict[str, str]:
    """The same, of a checkout, in a process of its own."""
    path = os.pathsep.join([str(checkout / "src"), *os.environ.get("PYTHONPATH", "").split(":")])
    environment = {**os.environ, "PYTHONPATH": path, "GRIDLANE_CACHE": "0"}
    environment["GRIDLANE_DEVICE"] = "cpu"
    command = [sys.executable, __file__]
    done = subprocess.run(
        command, env=environment, cwd=HERE, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(json.dumps(digests()))
        sys.exit()
    before, after = (of(Path(name).resolve()) for name in sys.argv[1:])
    for row, digest in before.items():
        print(f"{row:14} {'same code' if after[row] == digest else 'OTHER CODE'}")
    sys.exit(before != after)
