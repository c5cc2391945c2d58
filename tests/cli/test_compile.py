"""``gridlane compile``: each stage as text, and wrong command lines in words."""

from __future__ import annotations

import re

import pytest

from gridlane.cli.signature_text import argument_types
from gridlane.compiler.cuda import find_ptxas
from gridlane.core import argtypes as t

FILE = """
from numba import cuda, float32

@cuda.jit
def scale(a, b, n):
    i = cuda.grid(1)
    if i < n:
        b[i] = a[i] * float32(2)

@cuda.jit(device=True)
def helper(x):
    return x

@cuda.jit
def wrong(a):
    a.foo = 3

@cuda.jit
def empty():
    pass

def plain():
    pass

LIMIT = 3

if __name__ == "__main__":
    raise SystemExit("this is not to be run")
"""
SIG = "f32[:], float32[::1], i32"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    return path


STAGES = {"ir": "kernel @scale(", "llvm": "define ", "asm": ".text"}


@pytest.mark.parametrize("stage", STAGES)
def test_stages(file, gridlane, stage):
    done = gridlane("compile", "kernels.py:scale", "--sig", SIG, "--target", stage)
    assert done.returncode == 0, done.stderr
    assert STAGES[stage] in done.stdout and "scale" in done.stdout
    assert done.stderr == ""


SHADERS = {
    "wgsl": "@workgroup_size(64, 1, 1)",
    "glsl": "layout(local_size_x = 64",
    "msl": "kernel void",
}


@pytest.mark.parametrize("stage", SHADERS)
def test_shaders(file, gridlane, stage):
    block = () if stage == "msl" else ("--block", "64")
    done = gridlane("compile", "kernels.py:scale", "--sig", SIG, "--target", stage, *block)
    assert done.returncode == 0, done.stderr
    assert SHADERS[stage] in done.stdout and done.stderr == ""


def test_spirv(file, tmp_path, gridlane):
    words = ("compile", "kernels.py:scale", "--sig", SIG, "--target", "spirv")
    done = gridlane(*words, "-o", "k.spv", "--variant", "compact")
    assert done.returncode == 0, done.stderr
    code = (tmp_path / "k.spv").read_bytes()
    assert code[:4] == b"\x03\x02\x23\x07" and b"scale" in code
    assert "is no text" in gridlane(*words).stderr


def test_ir_parses(file, gridlane):
    from gridlane.ir.parser import parse_module

    text = gridlane("compile", "kernels.py:scale", "--sig", SIG).stdout
    assert parse_module(text).kernel.name == "scale"


def test_output_and_block(file, tmp_path, gridlane):
    words = ("compile", f"{file}:scale", "--sig", SIG, "--target", "llvm", "-o", "out.ll")
    done = gridlane(*words, "--block", "16,4,2")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "define " in (tmp_path / "out.ll").read_text()


def test_what_the_program_prints_is_not_in_the_code(file, tmp_path, gridlane):
    (tmp_path / "prints.py").write_text(f'print("of the program")\n{FILE}')
    done = gridlane("compile", "prints.py:scale", "--sig", SIG)
    assert done.stdout == gridlane("compile", f"{file}:scale", "--sig", SIG).stdout
    assert done.stderr == "of the program\n"


def test_a_kernel_without_arguments(file, gridlane):
    for sig in ("", "()", "void()"):
        assert "kernel @empty()" in gridlane("compile", "kernels.py:empty", "--sig", sig).stdout


def test_a_file_called_like_a_module(tmp_path, gridlane):
    (tmp_path / "inspect.py").write_text(FILE)
    done = gridlane("compile", "inspect.py:scale", "--sig", SIG)
    # `python -m` has this folder in front of the library's, so only its end can tell.
    assert "kernel @scale(" in done.stdout or "inspect" in done.stderr


TYPES = {
    "f32": (t.float32,),
    "f32,": (t.float32,),
    "(f32, i64)": (t.float32, t.int64),
    "void(float32[:, ::1], f4[:], i32)": (t.float32[:, ::1], t.float32[:], t.int32),
    "i16, i32, i64, u16, u32, u64": (t.int16, t.int32, t.int64, t.uint16, t.uint32, t.uint64),
    "i8, u8": (t.int8, t.uint8),
    "i4, u4, f8, c8, c16": (t.int32, t.uint32, t.float64, t.complex64, t.complex128),
    "f16[::1, :], bf16, b1[:], bool, boolean": (
        *(t.float16[::1, :], t.bfloat16, t.boolean[:], t.boolean, t.boolean),
    ),
    "numba.float32[:], types.int8": (t.float32[:], t.int8),
    "UniTuple(f32, 2), Tuple((i32, f64))": (
        t.TupleType((t.float32, t.float32)),
        t.TupleType((t.int32, t.float64)),
    ),
    "Tuple((i32, f64))": (t.TupleType((t.int32, t.float64)),),
    "none, f32": (t.none, t.float32),
}


@pytest.mark.parametrize("text", TYPES)
def test_types(text, capsys):
    assert argument_types(text) == TYPES[text]
    err = capsys.readouterr().err
    assert ("i8 in --sig is int8; numba's i8 is int64" in err) == ("i8," in text)


WRONG_TYPES = {
    "f32[:": ("was never closed", "["),
    "f32[:], flot32": ("there is no type 'flot32' (did you mean 'float32'?)", "flot32"),
    "f32[:], float64[3], i32": ("not a type", "float64[3]"),
    "f32[:], 3+4": ("not a type", "3+4"),
    "f32, 'é', i33": ("not a type", "'é'"),
    "f32, x.y": ("not a type", "x.y"),
    "i32(f32)": ("a kernel returns nothing", "i32"),
    "f32, void(i32)": ("not a type", "void(i32)"),
    "f32 i32": ("invalid syntax", None),
    "Tuple(3)": ("not a type", "Tuple(3)"),
    "float32[:](2)": ("not a type", "float32[:](2)"),
}


@pytest.mark.parametrize("text", WRONG_TYPES)
def test_wrong_types_have_a_caret(text, capsys):
    with pytest.raises(SystemExit) as left:
        argument_types(text)
    assert left.value.code == 2
    message, shown, carets = capsys.readouterr().err.splitlines()
    said, marked = WRONG_TYPES[text]
    assert message.startswith("gridlane: --sig: ") and said in message
    assert shown == f"  {text}"
    if marked is not None:
        place = re.search(r"\^+", carets)
        assert shown[place.start() : place.end()] == marked


WRONG = {
    "nowhere.py:scale": "compile: there is no file 'nowhere.py'\n",
    "kernels.py": "which kernel? name it as in kernels.py:kernel. It has: scale, wrong, empty\n",
    "kernels.py:": "which kernel?",
    "kernels.py:scal": "kernels.py has no kernel 'scal' (did you mean 'scale'?). It has: scale, ",
    "kernels.py:helper": "'helper' is a device function",
    "kernels.py:plain": "no kernel but a plain function: write @cuda.jit above it. It has: scale",
    "kernels.py:LIMIT": "no kernel but of type int",
}


@pytest.mark.parametrize("place", WRONG)
def test_wrong_kernels(file, fails, place):
    assert WRONG[place] in fails("compile", place, "--sig", SIG)


def test_other_wrong_words(file, fails, gridlane):
    words = ("compile", "kernels.py:scale", "--sig", SIG)
    said = fails(*words, "--target", "llvn")
    assert said == (
        "there is no target 'llvn' (did you mean 'llvm'?); there are: ir, llvm, asm, ptx, cubin, "
        "spirv, wgsl, glsl, msl\n"
    )
    assert "has 3 parameters, and --sig has 1 type\n" in fails(*words[:3], "f32")
    assert "scale(a, b, n) has 3 parameters" in fails(*words[:3], "")
    asm = (*words, "--target", "asm", "--block")
    for block in ("a", "1,1,1,1", "-1", "1.5", ""):
        assert "one to three numbers" in fails(*asm, block)
    assert "4096 threads, and the most is 1024" in fails(*asm, "64,64")
    assert "every axis needs at least 1" in fails(*asm, "0")
    assert "cannot write 'no/out'" in fails(*words, "-o", "no/out")


# --- code for GPUs; none needs one ---


@pytest.mark.parametrize("name", ["--sig", "--signature"])
def test_ptx(file, gridlane, name):
    words = ("compile", "kernels.py:scale", name, SIG, "--target", "ptx")
    done = gridlane(*words)
    assert done.returncode == 0 and done.stderr == ""
    assert ".target sm_75" in done.stdout and ".visible .entry scale(" in done.stdout
    assert ".target sm_120" in gridlane(*words, "--arch", "sm_120").stdout
    assert "nvptx" in gridlane(*words[:-1], "llvm", "--arch", "sm_90").stdout


def test_variants(file, gridlane):
    words = ("compile", "kernels.py:scale", "--sig", SIG, "--target", "ptx", "--variant")
    made = {name: gridlane(*words, name) for name in ("any", "compact", "coarse")}
    assert len({done.stdout for done in made.values()}) == 3
    assert made["any"].stderr == made["compact"].stderr == ""
    assert "a grid has 1/4 of the blocks along x" in made["coarse"].stderr
    file.write_text(FILE.replace("@cuda.jit", "@cuda.jit(debug=True, opt=False)", 1))
    done = gridlane(*words, "compact")
    assert "scale has the same code for all launches" in done.stderr
    assert done.stdout == gridlane(*words, "any").stdout
    assert (
        "there is no variant 'x'; there are: any, compact, coarse" in gridlane(*words, "x").stderr
    )


@pytest.mark.skipif(find_ptxas() is None, reason="no CUDA toolkit on this machine")
def test_cubin(file, gridlane, fails, tmp_path):
    words = ("compile", "kernels.py:scale", "--sig", SIG, "--target", "cubin", "--arch")
    done = gridlane(*words, "sm_90", "-o", "scale.cubin")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "scale.cubin").read_bytes().startswith(b"\x7fELF")
    said = fails(*words, "sm_70", "-o", "old.cubin", status=1)
    assert said.startswith("ptxas refuses the PTX of scale: ") and "sm_70" in said
    assert not (tmp_path / "old.cubin").exists()


def test_a_cubin_without_ptxas(file, capsys, monkeypatch):
    from gridlane.cli.compiling import Request, compile_file
    from gridlane.compiler import cuda as target

    monkeypatch.setattr(target, "find_ptxas", lambda: None)
    with pytest.raises(SystemExit):
        compile_file(Request(f"{file}:scale", SIG, "cubin", output="x.cubin"))
    assert "install a CUDA toolkit" in capsys.readouterr().err


WRONG_OPTIONS = {
    ("ptx", "--arch", "sm_60"): "code is made for compute capability 7.0 and later",
    ("ptx", "--arch", "foo"): "'foo' is no NVIDIA processor; they are named like sm_90. There are",
    ("ptx", "--arch", "sm_99"): "there is no NVIDIA processor sm_99. There are sm_70, sm_72",
    ("ptx", "--arch", "sm_999"): "sm_999 is not known here; PTX for sm_121, the newest, runs on it",
    ("ptx", "--arch", ""): "name a processor, as in sm_75",
    ("asm", "--arch", "sm_90"): "--target asm has none",
    ("ir", "--arch", "sm_90"): "--arch is for --target llvm, --target ptx and --target cubin",
    ("ptx", "--block", "32"): "one block shape: --target llvm without --arch, --target asm",
    ("ir", "--block", "32"): "--target asm, --target wgsl and --target glsl",
    ("llvm", "--variant", "compact"): "--variant is for GPUs: --target llvm with --arch, "
    "--target ptx, --target cubin, --target spirv, --target wgsl and --target glsl",
    ("cubin",): "a cubin is no text: -o FILE or -o DIR says where to write it",
}


@pytest.mark.parametrize("words", WRONG_OPTIONS, ids=" ".join)
def test_options_that_do_not_fit(file, fails, words):
    said = fails("compile", "kernels.py:scale", "--sig", SIG, "--target", *words)
    assert said.startswith("compile: ") and WRONG_OPTIONS[words] in said


# --- all kernels of a file, and types that the file has ---

DECLARED = """
import numpy as np
from numba import cuda, float32
from kernels import empty as other

@cuda.jit(["void(float32[:], float32)", "void(float64[:], float64)"])
def fill(a, x):
    a[cuda.grid(1)] = x

@cuda.jit
def launched(a):
    a[0] = 1

launched[1, 1](np.zeros(1, np.int16))
again = launched

@cuda.jit
def empty():
    pass
"""


@pytest.fixture
def declared(file, tmp_path):
    (tmp_path / "declared.py").write_text(DECLARED)


def test_types_of_the_file(declared, gridlane):
    done = gridlane("compile", "declared.py:fill")
    assert done.returncode == 0 and done.stderr == ""
    assert re.findall("^// .*", done.stdout, re.M) == [
        "// fill(array(float32, 1d, A), float32)",
        "// fill(array(float64, 1d, A), float64)",
    ]
    done = gridlane("compile", "declared.py:launched")
    assert "ptr<i16, global>" in done.stdout and "//" not in done.stdout
    assert "kernel @empty()" in gridlane("compile", "declared.py:other").stdout


def test_all_kernels(declared, gridlane, tmp_path):
    done = gridlane("compile", "declared.py")
    assert done.stdout.count("kernel @") == 4 and done.stdout.count("// ") == 4
    for folder in ("new/folder", "new/folder", "slash.ptx/"):
        done = gridlane("compile", "declared.py", "--target", "ptx", "-o", folder)
        assert done.returncode == 0 and done.stderr == ""
        names = ["fill.1.ptx", "fill.2.ptx", "launched.ptx", "empty.ptx"]
        said = [line.partition(": ")[0] for line in done.stdout.splitlines()]
        assert said == [str(tmp_path.relative_to(tmp_path) / folder / name) for name in names]
        assert all(".entry" in (tmp_path / name).read_text() for name in said)
    gridlane("compile", "declared.py:empty", "-o", "new")
    assert "kernel @empty()" in (tmp_path / "new" / "empty.ir").read_text()


def test_all_kernels_in_one_file(declared, fails, tmp_path):
    said = fails("compile", "declared.py", "-o", "all.ir")
    assert "'all.ir' is one file, and there are 4 results" in said and "-o DIR" in said
    (tmp_path / "there").write_text("")
    assert "is one file" in fails("compile", "declared.py", "-o", "there")
    assert "cannot make the folder 'there/x'" in fails("compile", "declared.py", "-o", "there/x")
    assert (tmp_path / "there").read_text() == "" and not (tmp_path / "all.ir").exists()


def test_a_kernel_whose_types_are_unknown(file, fails):
    said = fails("compile", "kernels.py:scale")
    assert "what types the arguments of scale(a, b, n) have" in said
    assert '  gridlane compile kernels.py:scale --sig "f32[:], f32[:], f32[:]"\n' in said
    said = fails("compile", "kernels.py")
    assert "the arguments of scale(a, b, n), wrong(a) have" in said


def test_the_only_kernel_needs_no_name(tmp_path, gridlane):
    (tmp_path / "one.py").write_text(FILE[: FILE.index("@cuda.jit(device")])
    done = gridlane("compile", "one.py", "--sig", SIG)
    assert "kernel @scale(" in done.stdout


def test_a_compile_error_is_the_kernels_and_no_usage(file, fails):
    said = fails("compile", "kernels.py:wrong", "--sig", "f32[:]", status=1)
    assert "kernels.py" in said and "a.foo = 3" in said and "^" in said


def test_a_file_that_fails(tmp_path, gridlane):
    (tmp_path / "bad.py").write_text("def f():\n    1 / 0\n\nf()\n")
    done = gridlane("compile", "bad.py:x", "--sig", "f32")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "gridlane: compile: bad.py failed while it was loaded:\nTraceback"
    )
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "gridlane/" not in done.stderr and "importlib" not in done.stderr
    (tmp_path / "bad.py").write_text("def f(:\n")
    done = gridlane("compile", "bad.py:x", "--sig", "f32")
    assert "SyntaxError" in done.stderr and "Traceback" not in done.stderr
    (tmp_path / "none.py").write_text("")
    assert "It has none at its top level" in gridlane("compile", "none.py:x", "--sig", "").stderr
    (tmp_path / "text").write_text("")
    assert "its name should end in .py" in gridlane("compile", "text:x", "--sig", "").stderr
