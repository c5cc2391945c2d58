"""``gridlane cc``: CUDA programs without a toolkit."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

from gridlane.abi.toolchain.building import build
from gridlane.abi.toolchain.option_names import (
    IGNORED,
    IGNORED_LIBRARIES,
    IGNORED_WITH_VALUE,
    REFUSED,
)
from gridlane.abi.toolchain.options import parse

_HELP = f"""Usage: gridlane cc [options] file...

Compile .cu, .c and .cpp files, and link them with .o, .a and .so files and gridlane's CUDA runtime.
The options are nvcc's; no CUDA toolkit takes part.

  -o FILE                 the result
  -c, -dc, -E, -ptx, -fatbin, -cuda, -M
                          an object, preprocessed text, PTX, a fatbin, a rule for make
  -shared                 a shared library
  -I -isystem -D -U -include -std -x
                          as everywhere; -x cu: every file is CUDA C++
  -L -l -Xlinker -Xcompiler -fPIC -O -g -G -w
                          the host's part and the link
  --host g++|zig|PATH     the host's compiler and C++ library [the g++ that is here, else zig]
  -arch -gencode          the architectures of the PTX [compute_80]
  -rdc=true               kernels use what other files define
  -cudart static|shared|none
                          gridlane's runtime: inside [static], by the library path, or not at all
  --default-stream legacy|per-thread
  --check                 kernels check each access to memory as GRIDLANE_CHECK=1 does
  -use_fast_math -fmad -ftz -prec-div -prec-sqrt -lineinfo
  -MD -MMD -MP -MF -MT    a rule for make beside the object
  -v, -dryrun             show the host's commands; and do not execute them
  -odir DIR               where what has no -o goes
  -optf FILE, @FILE       options of a file
  -forward-unknown-to-host-compiler
                          an option that is not known is the host compiler's
  -ftemplate-depth -ftemplate-backtrace-limit -Wno-deprecated-declarations
                          the compiler of both sides
  -V, --version           the versions of gridlane and of CUDA's interface

Ignored, as they tune: {" ".join((*IGNORED_WITH_VALUE, *IGNORED))}
{" ".join(f"-l{name}" for name in IGNORED_LIBRARIES)}
Refused: {" ".join(REFUSED)}, and every option that is not named here."""


def run(arguments: Sequence[str]) -> None:
    """Compile and link by a command line."""
    if arguments and arguments[0] in ("-h", "--help"):
        print(_HELP)
    elif arguments and arguments[0] in ("-V", "--version"):
        # In nvcc's words, which Makefiles look for; the release is that of the API.
        print(f"gridlane cc {version('gridlane')}\nCUDA C++, release 13.0, V13.0")
    else:
        build(parse(arguments))
