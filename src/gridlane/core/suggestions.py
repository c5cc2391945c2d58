"""What a misspelt name may have meant."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A question with the name of ``names`` that is nearest, or "".

    >>> did_you_mean("gird", ["grid", "gridsize", "atomic"])
    '; did you mean grid?'
    >>> did_you_mean("x", ["grid", "gridsize"])
    ''
    """
    from difflib import get_close_matches  # errors alone need it

    close = get_close_matches(name, list(dict.fromkeys(names)), n=1, cutoff=0.7)
    return f"; did you mean {close[0]}?" if close and close[0] != name else ""
