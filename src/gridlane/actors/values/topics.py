"""Topics: names of words with dots between them, and patterns of such names.

``*`` in a pattern stands for one word, ``#`` for any number of words, none among them, as in AMQP
0-9-1, section 3.1.3.3.
"""

from __future__ import annotations

import re
from functools import cache

_WORD = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def verify_topic(name: str) -> str:
    """Return a topic's name; ValueError where it is none.

    >>> verify_topic("fills.eur")
    'fills.eur'
    """
    if not all(_WORD.fullmatch(word) for word in name.split(".")):
        raise ValueError(
            f"{name!r} is no topic: words of ASCII letters, digits, _ and -, with dots between them"
        )
    return name


def matches(pattern: str, topic: str) -> bool:
    """Whether a pattern matches a topic.

    >>> [matches(each, "fills.eur.spot") for each in ("fills.*.spot", "fills.#", "#", "fills.*")]
    [True, True, True, False]

    Raises:
        ValueError: the pattern has something else than words, ``*`` and ``#``.
    """
    return _form(pattern).fullmatch(f".{topic}") is not None


@cache
def _form(pattern: str) -> re.Pattern[str]:
    parts: list[str] = []
    for word in pattern.split("."):
        if word == "#":
            parts.append(r"(?:\.[^.]+)*")
        elif word == "*":
            parts.append(r"\.[^.]+")
        elif _WORD.fullmatch(word):
            parts.append(rf"\.{re.escape(word)}")
        else:
            raise ValueError(
                f"{pattern!r} is no pattern of topics: words, * for one of them, # for any number"
            )
    return re.compile("".join(parts))
