"""Read IR of a user's text."""

from __future__ import annotations

from gridlane.core.errors import VerifyError
from gridlane.ir.parser import parse_module
from gridlane.ir.stages import KERNEL
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify


def read_module(
    text: str, file: str, legal: frozenset[str] = KERNEL, recursion: bool = False
) -> Module:
    """The valid module that a text describes; of errors the place in the text is known.

    Args:
        legal, recursion: as in ``verify``.

    Raises:
        ParseError: the text is not IR.
        VerifyError: it is invalid.
    """
    module = parse_module(text)
    try:
        verify(module, legal, recursion)
    except VerifyError:
        verify(parse_module(text, file), legal, recursion)
        raise
    return module
