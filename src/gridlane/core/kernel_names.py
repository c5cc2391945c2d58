"""Names of kernels as programs write them, for messages."""

from __future__ import annotations

import re

_NAME = re.compile(r"_Z(?P<nested>N[rVK]*)?(?P<rest>L?\d.*)", re.DOTALL)
_LENGTH = re.compile(r"L?(\d{1,4})")
_INNER = "_GLOBAL__N_"
"""How the name of a namespace without a name begins."""


def readable(name: str) -> str:
    """The name in C++ of a kernel, without its parameters and the arguments of templates.

    >>> readable("_Z5scaleIfEvPT_i"), readable("_ZN4mine3addEPi"), readable("scale")
    ('scale', 'mine::add', 'scale')
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return name
    rest, parts = match["rest"], list[str]()
    while length := _LENGTH.match(rest):
        end = length.end() + int(length[1])
        parts.append(rest[length.end() : end])
        rest = rest[end:]
        if not match["nested"]:
            break
    shown = [part for part in parts if not part.startswith(_INNER)]
    return "::".join(shown) or name
