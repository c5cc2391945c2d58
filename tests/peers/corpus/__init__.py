"""Programs that other compilers turn into PTX, with what they compute."""

from tests.peers.corpus import (
    cpp_algorithms,
    cpp_language,
    cpp_mathematics,
    cpp_memory,
    tinygrad_programs,
    triton_programs,
    warp_programs,
)
from tests.peers.corpus.programs import Program

_FILES = (
    triton_programs,
    tinygrad_programs,
    warp_programs,
    cpp_language,
    cpp_memory,
    cpp_mathematics,
    cpp_algorithms,
)

PROGRAMS: list[Program] = [each for file in _FILES for each in file.PROGRAMS]

VARIANTS = {
    "triton": ("sm_80", "sm_90"),
    "tinygrad": ("sm_80", "sm_90"),
    "warp": ("sm_80", "sm_90"),
    "nvrtc": ("sm_80", "sm_90", "sm_80 -G"),
}
"""How each package compiles."""
