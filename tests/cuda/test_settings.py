"""numba's variables of the environment, in programs that import numba."""

from __future__ import annotations

import os
import subprocess
import sys


def run(text: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program that imports numba."""
    start = "from gridlane.cuda import install_as_numba\ninstall_as_numba()\n"
    return subprocess.run(
        [sys.executable, "-c", start + text],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_variables_with_an_effect():
    done = run(
        "from numba import config, cuda\n"
        "print(config.CUDA_DEFAULT_PTX_CC, config.FULL_TRACEBACKS)\n"
        "print(cuda.jit(lambda x: None).options.debug)\n"
        "print(cuda.jit(debug=False)(lambda x: None).options.debug)\n"
        "print('.target sm_90' in cuda.compile_ptx(lambda x: None, 'void(float32[:])')[0])\n",
        NUMBA_CUDA_DEFAULT_PTX_CC="9.0",
        NUMBA_FULL_TRACEBACKS="1",
        NUMBA_CUDA_DEBUGINFO="1",
    )
    assert done.stdout.splitlines() == ["(9, 0) 1", "True", "False", "True"], done.stderr
    assert "no effect" not in done.stderr


def test_others_are_named_once():
    done = run(
        "install_as_numba()\nimport numba", NUMBA_ENABLE_CUDASIM="1", NUMBA_CUDA_LOG_LEVEL="DEBUG"
    )
    assert done.returncode == 0
    assert done.stderr.count("NUMBA_CUDA_LOG_LEVEL, NUMBA_ENABLE_CUDASIM: numba reads these") == 1


def test_a_value_that_cannot_be_read():
    done = run("", NUMBA_CUDA_DEFAULT_PTX_CC="ninety")
    assert "ValueError: NUMBA_CUDA_DEFAULT_PTX_CC='ninety' cannot be read" in done.stderr


def test_numbers_of_threads():
    done = run(
        "import numba, threading\n"
        "from numba import config, get_num_threads, set_num_threads\n"
        "print(config.NUMBA_NUM_THREADS, get_num_threads(), config.NUMBA_DEFAULT_NUM_THREADS > 0)\n"
        "set_num_threads(2)\n"
        "other = threading.Thread(target=lambda: print(get_num_threads()))\n"
        "other.start(), other.join(), print(get_num_threads())\n"
        "for wrong in (0, 4, 1.5):\n"
        "    try:\n"
        "        set_num_threads(wrong)\n"
        "    except (TypeError, ValueError) as error:\n"
        "        print(error)\n",
        NUMBA_NUM_THREADS="3",
    )
    assert done.stdout.splitlines() == [
        *("3 3 True", "3", "2"),
        "The number of threads must be between 1 and 3, not 0; NUMBA_NUM_THREADS sets the bound",
        "The number of threads must be between 1 and 3, not 4; NUMBA_NUM_THREADS sets the bound",
        "The number of threads specified must be an integer, not 1.5",
    ], done.stderr
    assert "no effect" not in done.stderr
