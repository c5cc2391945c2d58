"""What a type checker and an editor see of ``gridlane.cuda``: pyright on users' files."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from gridlane import cuda
from gridlane.core.options import FLOATS, FP64
from gridlane.cuda.kernels import jit_options
from gridlane.frontends.python import attributes

ROOT = Path(__file__).parents[2]
STUB = Path(cuda.__file__).with_suffix(".pyi")
# Those that import most names, and take pyright least time.
EXAMPLES = [
    ROOT / "examples" / f"{name}.py"
    for name in ("matmul", "measure", "montecarlo_pi", "reduction", "warp_scan")
]
SCALARS = "from gridlane.cuda import " + ", ".join(
    f"{name} as {name}" for name in ("float32", "float64", "int32", "int64", "uint8", "uint32")
)

# Behind a line, the type that it reveals, or the rule that it breaks.
PROGRAM = """
import gridlane
import numpy as np
from gridlane import cuda
from gridlane.cuda import float32, int32, void

@cuda.jit
def plain(x, y):
    reveal_type(cuda.grid(1))  # int
    reveal_type(cuda.grid(2))  # tuple[int, int]
    reveal_type(cuda.gridsize(3))  # tuple[int, int, int]
    reveal_type(cuda.threadIdx.x + cuda.blockIdx.y * cuda.blockDim.z)  # int
    reveal_type(cuda.laneid)  # int
    tile = cuda.shared.array((4, 4), float32)
    reveal_type(tile)  # _KernelArray
    reveal_type(tile.shape)  # tuple[int, ...]
    reveal_type(tile[cuda.threadIdx.x, 0])  # Any
    tile.shap  # reportAttributeAccessIssue
    reveal_type(cuda.local.array(3, dtype=np.int64))  # _KernelArray
    reveal_type(cuda.local.array(3, np.dtype([("a", "i4")])).a)  # Any
    reveal_type(cuda.atomic.add(x, (0, 1), 1))  # Any
    cuda.atomic.add(x, 1)  # reportCallIssue
    cuda.atomic.addd(x, 0, 1)  # reportAttributeAccessIssue
    cuda.syncthreads()
    reveal_type(cuda.syncthreads_count(x[0] > 0))  # int
    reveal_type(cuda.shfl_sync(0xFFFFFFFF, 1.5, 0))  # float
    reveal_type(cuda.ffs(x[0]) + cuda.popc(7))  # int
    cuda.popc(1.5)  # reportArgumentType
    reveal_type(cuda.fma(1.0, x[0], 2))  # float
    reveal_type(cuda.fp16.hadd(x[0], x[1]))  # Any
    reveal_type(float32(x[0]))  # Any
    cuda.cg.this_grid().sync()
    cuda.frobnicate(1)  # reportAttributeAccessIssue

@cuda.jit(device=True, inline="always")
def twice(a):
    return a + a

reveal_type(plain)  # Dispatcher
reveal_type(twice)  # Dispatcher
reveal_type(cuda.jit("void(float32[:])")(plain))  # Dispatcher
reveal_type(cuda.jit(void(float32[:, ::1], int32), fastmath=True)(plain))  # Dispatcher
reveal_type(cuda.jit([(float32[:],), (int32[::1],)])(plain))  # Dispatcher
reveal_type(cuda.jit(launch_bounds=(128, 2), opt=False)(plain))  # Dispatcher
reveal_type(cuda.jit(lambda x: None, debug=True))  # Dispatcher
cuda.jit(fastmth=True)  # reportCallIssue
cuda.jit(fp64="exactly")  # reportArgumentType
cuda.jit(3)  # reportCallIssue reportArgumentType

reveal_type(float32[:, ::1])  # ArrayType
reveal_type(float32(int32, int32))  # Signature
reveal_type(float32(1))  # Any

stream = cuda.stream()
reveal_type(stream)  # Stream
reveal_type(cuda.event().elapsed_ms(cuda.event()))  # float
array = cuda.to_device(np.zeros(3), stream=stream)
reveal_type(array)  # DeviceNDArray
reveal_type(array.shape)  # tuple[int, ...]
reveal_type(array.dtype.itemsize)  # int
reveal_type(array.copy_to_host().nbytes)  # int
reveal_type(cuda.device_array((2, 3), np.float32).reshape(6))  # DeviceNDArray
reveal_type(cuda.to_device([1], to=array))  # DeviceNDArray
reveal_type(plain[1, 2, stream])  # Configured
reveal_type(plain[1, 2](array, array))  # None
plain.forall(100)(array, array)
with cuda.capture(stream) as graph:
    reveal_type(graph)  # Graph
reveal_type(cuda.gpus[0])  # DeviceContextManager
reveal_type(cuda.config.OPT)  # Literal[3]
reveal_type(gridlane.cuda.current_context().get_memory_info().free)  # int
reveal_type(gridlane.device)  # type[Using]
"""


def stub_names() -> set[str]:
    """What the file binds at its top."""
    names: set[str] = set()
    for node in ast.parse(STUB.read_text()).body:
        match node:
            case ast.ImportFrom():
                names |= {each.asname or each.name for each in node.names}
            case ast.FunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]):
                names.add(name)
    return names


@pytest.fixture(scope="module")
def findings(tmp_path_factory) -> dict[str, dict[int, set[str]]]:
    """What pyright says of the program and the examples, by file and line: rules, and the types
    that it was asked for. The examples import numba, in whose place stand gridlane's types."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "program.py").write_text(PROGRAM)
    for file in EXAMPLES:
        shutil.copy(file, folder)
    package = folder / "typings" / "numba"
    (package / "cuda").mkdir(parents=True)
    (package / "__init__.pyi").write_text("from gridlane import cuda as cuda\n" + SCALARS)
    (package / "cuda" / "__init__.pyi").write_text("from gridlane.cuda import *\n")
    (package / "cuda" / "random.pyi").write_text("from gridlane.cuda.random import *\n")
    found: dict[str, dict[int, set[str]]] = {}
    for each in checked(folder):
        shown = re.fullmatch(r'Type of "(?s:.*)" is "(.*)"', each["message"])
        lines = found.setdefault(Path(each["file"]).name, {})
        word = shown[1] if shown else each.get("rule", each["message"])
        lines.setdefault(each["range"]["start"]["line"], set()).add(word)
    return found


def checked(folder: Path) -> list[dict[str, Any]]:
    """What pyright says of a folder's files."""
    settings = {"typeCheckingMode": "standard", "reportUnusedExpression": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["summary"]["filesAnalyzed"] > len(EXAMPLES), done.stdout
    return told["generalDiagnostics"]


def test_a_type_checker_sees_the_types_of_a_program(findings):
    for number, line in enumerate(PROGRAM.splitlines()):
        source, _, wanted = line.partition("  # ")
        have = findings["program.py"].get(number, set())
        if "reveal_type" in source:
            assert have == {wanted}, line
        else:
            assert bool(have) == bool(wanted) and have <= set(wanted.split()), (line, have)


def test_a_type_checker_finds_nothing_wrong_with_the_examples(findings):
    assert set(findings) == {"program.py"}


def test_every_name_has_a_type():
    assert set(dir(cuda)) - stub_names() <= {name for name in dir(cuda) if name.startswith("__")}
    star = next(
        ast.literal_eval(node.value)
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert star == cuda.__all__


def test_no_helper_is_among_the_names():
    assert not {"sys", "import_module", "Any", "missing", "fork_waits"} & set(dir(cuda))


def test_the_options_that_a_type_checker_knows_are_those_of_jit():
    known = set(jit_options._CHECKS) - set(jit_options._MOVED)
    assert set(jit_options.JitOptions.__annotations__) == known
    for name, words in (("fp64", FP64), ("floats", FLOATS)):
        hint = get_type_hints(jit_options.JitOptions)[name]
        assert get_args(get_args(hint)[0]) == words


def test_arrays_of_kernels_have_the_frontends_attributes():
    classes = {c.name: c for c in ast.parse(STUB.read_text()).body if isinstance(c, ast.ClassDef)}
    members = {
        node.target.id if isinstance(node, ast.AnnAssign) else node.name
        for node in classes["_KernelArray"].body
        if isinstance(node, (ast.AnnAssign, ast.FunctionDef))
    }
    mine = {name for name in members if not name.startswith("__")}
    assert mine == {*attributes._ARRAY, *attributes.ARRAY_METHODS, "real", "imag"}
