"""``gridlane run`` is Python with numba.cuda: all but the import is as without it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
import zipfile

import pytest

KERNEL = """
import sys
import numpy as np
from numba import cuda, float32

@cuda.jit
def double(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= 2

values = np.arange(10, dtype=np.float32)
double[1, 32](values)
print(values.sum(), sys.argv[1:])
"""

# Each must do the same under `python` and under `gridlane run`: output, errors, status.
PROGRAMS = {
    "argv": "import sys; print(sys.argv)",
    "names": "print(__name__, __file__, __spec__, __package__, __cached__, __doc__)",
    "globals": "print(sorted({*globals()} - {'__annotations__'}))",
    "loader": "print(type(__loader__), __loader__.get_filename('__main__'))",
    "main module": "import __main__; x = 3; print(__main__.x, __main__.__dict__ is globals())",
    "path": "import sys; print(sys.path[0])",
    "sibling": "import sibling; print(sibling.VALUE)",
    "annotations": "def f(x: int): ...\nprint(f.__annotations__)",
    "stdin": "print(input())",
    "exit": "import sys; sys.exit(7)",
    "exit text": "raise SystemExit('no more')",
    "exit none": "raise SystemExit",
    "os exit": "import os; os._exit(9)",
    "error": "def f():\n    return 1 / 0\n\nf()",
    "syntax error": "x = (1,\ny = 2",
    "indentation": "def f():\nreturn 1",
    "encoding": "# coding: latin-1\nprint('é'.encode())",
    "chained": "try:\n    {}['a']\nexcept KeyError as e:\n    raise ValueError('no') from e",
    "context": "try:\n    {}['a']\nexcept KeyError:\n    raise ValueError('no')",
    "group": "raise ExceptionGroup('two', [ValueError(1), KeyError(2)])",
    "import error": "import no_such_module",
    "error in sibling": "import broken",
    "own hook": "import sys\nsys.excepthook = lambda t, v, tb: print(t, v, tb.tb_lineno)\n1 / 0",
    "interrupt": "raise KeyboardInterrupt",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "at exit": "import atexit\nx = 5\natexit.register(lambda: print('bye', x))\n1 / 0",
    "thread": (
        "import threading\n"
        "def f():\n    threading.main_thread().join()\n    import __main__\n    print(__main__.x)\n"
        "x = 6\nthreading.Thread(target=f).start()"
    ),
    "error in thread": (
        "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='T')\nt.start()"
    ),
    "pickle": "import pickle\nclass C: ...\nprint(type(pickle.loads(pickle.dumps(C()))) is C)",
    "fork": (
        "import multiprocessing as m\ndef f(x):\n    return x * x\n"
        "if __name__ == '__main__':\n    with m.get_context('fork').Pool(1) as p:\n"
        "        print(p.map(f, [1, 2]))"
    ),
    "spawn": (
        "import multiprocessing as m\ndef f(x):\n    return x * x\n"
        "if __name__ == '__main__':\n    with m.get_context('spawn').Pool(1) as p:\n"
        "        print(p.map(f, [1, 2]))"
    ),
    "forkserver": (  # the default from Python 3.14 on
        "import multiprocessing as m\ndef f(x):\n    return x * x\n"
        "if __name__ == '__main__':\n    with m.get_context('forkserver').Pool(1) as p:\n"
        "        print(p.map(f, [1, 2]))"
    ),
    "source": "import inspect\ndef f():\n    pass\nprint(inspect.getsource(f))",
    "warning": "import warnings\nwarnings.warn('careful')",
    "dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: 'int'\nprint(P(1))"
    ),
}


def same(theirs, ours):
    assert ours.stdout == theirs.stdout
    assert ours.stderr == theirs.stderr
    assert ours.returncode == theirs.returncode


@pytest.fixture
def gridlane(python):
    """Run the command in a new process: how one begins and ends is what is tested here."""
    return lambda *words, **rest: python("-m", "gridlane", *words, **rest)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sibling.py").write_text("VALUE = 11\n")
    (tmp_path / "broken.py").write_text("def f():\n    raise OSError('broken')\n\nf()\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("print('package', __name__)\n")
    (tmp_path / "package" / "__main__.py").write_text(
        "import sys\nfrom . import inner\nprint(__name__, __package__, __file__, sys.argv, "
        "sys.path[0], __spec__.name)\n"
    )
    (tmp_path / "package" / "inner.py").write_text(
        "if __name__ == '__main__':\n    raise ValueError('inner')\n"
    )
    (tmp_path / "failing").mkdir()
    (tmp_path / "failing" / "__init__.py").write_text("1 / 0\n")
    return tmp_path


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_does_what_it_does_under_python(folder, python, gridlane, program):
    encoding = "latin-1" if "latin-1" in program else "utf-8"
    (folder / "program.py").write_text(program, encoding=encoding)
    words = ("program.py", "-v", "--device", "none", "--", "x y")
    same(python(*words, stdin="line\n"), gridlane("run", *words, stdin="line\n"))


def test_a_program_in_another_folder(folder, python, gridlane):
    (folder / "deep").mkdir()
    (folder / "deep" / "program.py").write_text(
        "import sys; print(sys.argv, sys.path[0], __file__)"
    )
    (folder / "link.py").symlink_to(folder / "deep" / "program.py")
    for path in ("deep/program.py", "link.py", folder / "deep" / "program.py"):
        same(python(path), gridlane("run", path))


@pytest.mark.parametrize(
    "module", ["package", "package.inner", "failing", "failing.deeper", "sibling"]
)
def test_a_module_does_what_it_does_under_python(folder, python, gridlane, module):
    theirs, ours = python("-m", module, "-x"), gridlane("run", "-m", module, "-x")
    if module in ("package.inner", "failing", "failing.deeper"):
        # Python's own tracebacks begin with runpy's frames.
        assert ours.stderr.splitlines()[-3:] == theirs.stderr.splitlines()[-3:]
        assert "runpy" not in ours.stderr and "cli" not in ours.stderr
        assert (ours.stdout, ours.returncode) == (theirs.stdout, theirs.returncode)
    else:
        same(theirs, ours)


def test_unittest_as_a_module(folder, gridlane):
    (folder / "test_it.py").write_text(
        "import unittest\nfrom numba import cuda\n"
        "class T(unittest.TestCase):\n    def test(self):\n        self.assertTrue(cuda.jit)\n"
    )
    done = gridlane("run", "-m", "unittest", "-v", "test_it")
    assert done.returncode == 0, done.stderr
    assert "Ran 1 test" in done.stderr
    # The interpreter goes by several names in a virtual environment.
    usage = gridlane("run", "-m", "unittest", "-h").stdout
    assert re.match(r"usage: python[\d.]* -m unittest", usage), usage


def test_folders_and_zip_files(folder, python, gridlane):
    (folder / "app").mkdir()
    (folder / "app" / "__main__.py").write_text(
        "import sys, helper; print(__name__, __package__, sys.argv, sys.path[0], helper.X)\n"
    )
    (folder / "app" / "helper.py").write_text("X = 1\n")
    with zipfile.ZipFile(folder / "app.zip", "w") as file:
        for name in ("__main__.py", "helper.py"):
            file.write(folder / "app" / name, name)
    for path in ("app", "app.zip"):
        same(python(path, "-a"), gridlane("run", path, "-a"))


# --- numba.cuda ---


def test_a_numba_program(folder, gridlane):
    (folder / "kernel.py").write_text(KERNEL)
    done = gridlane("run", "kernel.py", "--trace", "-m", "x")
    assert done.stdout == "90.0 ['--trace', '-m', 'x']\n", done.stderr
    assert done.stderr == ""
    assert gridlane("run", "-m", "kernel", "y").stdout == "90.0 ['y']\n"


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("form", ["--device {}", "--device={}"])
def test_the_device_and_the_trace(folder, gridlane, device, form):
    (folder / "kernel.py").write_text(KERNEL)
    done = gridlane("run", "--trace", *form.format(device).split(), "kernel.py")
    assert done.stdout == "90.0 []\n", done.stderr
    assert f"launch kernel=double device={device} grid=(1, 1, 1) block=(32, 1, 1)" in done.stderr


def test_checks_name_the_index(folder, gridlane):
    """Also in a process that the program starts."""
    guard = "if i < values.size:"
    assert guard in KERNEL
    (folder / "kernel.py").write_text(KERNEL.replace(guard, "if i < 31:"))
    child = "import subprocess, sys\nsubprocess.run([sys.executable, 'kernel.py'])"
    (folder / "child.py").write_text(child)
    for words in (("--check", "kernel.py"), ("--check", "child.py")):
        told = gridlane("run", *words).stderr
        assert "tid=[10, 0, 0] ctaid=[0, 0, 0]: index is out of bounds: 10 on axis 0 of val" in told
        assert "values[i] *= 2" in told


def test_the_best_device_is_the_one_in_use(folder, python):
    """Whatever the environment says. The other options hold as well."""
    (folder / "p.py").write_text(
        "from numba import cuda\nfrom gridlane.core.config import config\n"
        "print(cuda.get_current_device().name, config().floats)\n"
    )
    (folder / "command.py").write_text(
        "from gridlane.cli import choosing, run\nchoosing.preferred = lambda: ['cpu']\n"
        "run.run(run.Request('p.py', (), device='auto', floats='float32'))\n"
    )
    done = python("command.py", GRIDLANE_DEVICE="interp")
    assert done.stderr.startswith("gridlane: --device auto: cpu: ")
    assert done.stdout.split() == ["b'cpu'", "float32"]


def test_what_python_floats_are(folder, gridlane):
    (folder / "third.py").write_text(
        "import numpy as np\nfrom numba import cuda\n\n@cuda.jit\ndef third(out, n):\n"
        "    out[0] = n / 3\n\nout = np.zeros(1)\nthird[1, 1](out, 1)\nprint(out[0] == 1 / 3)\n"
    )
    assert gridlane("run", "third.py").stdout == "True\n"
    done = gridlane("run", "--floats", "float32", "--trace", "third.py")
    assert done.stdout == "False\n" and " floats=float32 " in done.stderr
    assert gridlane("run", "--floats=float64", "third.py", GRIDLANE_FLOATS="float32").stdout == (
        "True\n"
    )
    wrong = gridlane("run", "--floats", "float23", "third.py")
    assert wrong.returncode == 2 and wrong.stderr == (
        "gridlane: there is no type of Python's floats 'float23' (did you mean 'float32'?); there "
        "are: float64, float32\n"
    )


def test_the_option_wins_over_the_environment_and_reaches_child_processes(folder, gridlane):
    (folder / "child.py").write_text(
        "import os; print(os.environ['GRIDLANE_DEVICE'], os.environ['GRIDLANE_TRACE'])"
    )
    done = gridlane("run", "--device", "interp", "--trace", "child.py", GRIDLANE_DEVICE="none")
    assert done.stdout == "interp 1\n"


def test_running_loads_no_command_line_library(folder, gridlane):
    (folder / "loaded.py").write_text(
        "import sys; print([m for m in ('typer', 'rich', 'click', 'llvmlite') if m in sys.modules])"
    )
    assert gridlane("run", "loaded.py").stdout == "[]\n"


def frames(stderr):
    return [line.strip() for line in stderr.splitlines() if line.startswith('  File "')]


FAILING = {
    "compile": ("values[i] = yield_nothing", "NameLookupError"),
    "unsupported": ("import os", "UnsupportedError"),
}


@pytest.mark.parametrize("line, error", FAILING.values(), ids=FAILING)
def test_a_compile_error_shows_the_program_and_no_compiler(folder, gridlane, line, error):
    source = KERNEL.replace("values[i] *= 2", line)
    (folder / "kernel.py").write_text(source)
    done = gridlane("run", "kernel.py")
    assert done.returncode == 1
    assert error in done.stderr
    assert "gridlane/" not in done.stderr, "no frame of the compiler"
    assert "During handling" not in done.stderr and "direct cause" not in done.stderr
    shown = source.splitlines().index("        " + line) + 1
    launch = source.splitlines().index("double[1, 32](values)") + 1
    assert frames(done.stderr)[0].startswith(f'File "{folder}/kernel.py", line {launch}')
    assert f'File "{folder}/kernel.py", line {shown}' in done.stderr
    assert "^" in done.stderr.splitlines()[-1]


def test_an_error_of_a_launch_shows_the_program_only(folder, gridlane):
    (folder / "kernel.py").write_text(KERNEL.replace("double[1, 32]", "double[1, 4096]"))
    done = gridlane("run", "kernel.py")
    assert done.returncode == 1
    assert "LaunchError" in done.stderr and "4096" in done.stderr
    assert len(frames(done.stderr)) == 1 and "gridlane/" not in done.stderr


def test_an_error_on_the_way_is_dropped_and_the_programs_own_is_kept(folder, gridlane):
    program = """
        import gridlane.core.errors as e
        try:
            {}["mine"]
        except KeyError:
            raise e.LaunchError("said")
    """
    (folder / "program.py").write_text(textwrap.dedent(program))
    done = gridlane("run", "program.py")
    assert "KeyError: 'mine'" in done.stderr and "During handling" in done.stderr
    assert done.stderr.endswith("LaunchError: said\n")


def test_ctrl_c(folder):
    (folder / "program.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "gridlane", "run", str(folder / "program.py")]
    # Shells start what they put in the background with the signal ignored, and children inherit it.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert err.endswith("KeyboardInterrupt\n") and "gridlane" not in err
    assert process.returncode == -signal.SIGINT


# --- a wrong command line ---


def test_wrong_command_lines(folder, fails):
    (folder / "fine.py").write_text("")
    usage = "gridlane run [--device D] [--floats F] [--timeout S] [--trace] [--check] [--profile]"
    assert fails("run").startswith(f"run: which program? {usage}")
    assert fails("run", "none.py") == "run: cannot read 'none.py': No such file or directory\n"
    assert "cannot read 'none.zip'" in fails("run", "none.zip")
    (folder / "empty").mkdir()
    assert "there is no __main__.py in 'empty'" in fails("run", "empty")
    assert "there is no module 'no.such' to run" in fails("run", "-m", "no.such")
    assert fails("run", "-m") == "run: -m needs the name of a module\n"
    assert fails("run", "--device") == "run: --device needs a value\n"
    said = fails("run", "--devise", "cpu", "fine.py")
    assert "no option '--devise' (did you mean '--device'?)" in said
    said = fails("run", "--device", "interpp", "fine.py")
    assert said == (
        "there is no device 'interpp' (did you mean 'interp'?); there are: cpu, interp, cuda, "
        "vulkan, metal, webgpu, opengl\n"
    )
    assert "there is no device 'quda'" in fails("run", "fine.py", GRIDLANE_DEVICE="quda")
    assert "GRIDLANE_THREADS='many'" in fails("run", "fine.py", GRIDLANE_THREADS="many")


@pytest.mark.parametrize("words", ["--help", "-h", "--device cpu --help"])
def test_help(gridlane, words):
    done = gridlane("run", *words.split())
    assert done.returncode == 0, done.stderr
    assert "[--device D] [--floats F] [--trace] [--check]" in done.stdout
