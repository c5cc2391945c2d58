"""Check the first line of a commit's message: a hook of git, and of pre-commit.

    python scripts/commit_title.py .git/COMMIT_EDITMSG

The rules are those of docs/contributing/style.md.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONGEST = 72
_VAGUE = (
    "let",
    "give",
    "tell",
    "say",
    "have",
    "take",
    "know",
    "look",
    "ask",
    "leave",
    "hold",
    "keep",
    "wait",
    "expect",
    "do",
    "count",
    "go",
)
"""Verbs from which a stranger does not learn what kind of change it is."""
_ARTICLES = ("the", "a", "an", "what", "where", "when", "one", "no", "some", "each")
_UNCLEAR = frozenset(
    (*_VAGUE, *_ARTICLES, *(f"{verb}s" for verb in _VAGUE), "does", "goes", "has", "letting")
)
_BY_GIT = re.compile(
    r"""(Merge\ (branch|branches|remote-tracking|tag|commit|pull\ request)\b
    |Revert\ "|Reapply\ "|fixup!|squash!|amend!)""",
    re.VERBOSE,
)


def complaints(title: str) -> list[str]:
    """What is wrong with a title; nothing of those that git writes."""
    if _BY_GIT.match(title):
        return []
    wrong: list[str] = []
    first = title.partition(" ")[0]
    if len(title) > LONGEST:
        wrong.append(f"{len(title)} characters are more than {LONGEST}")
    if not first[:1].isupper() or " " not in title:
        wrong.append("it does not begin with a verb in the imperative: Add, Fix, Speed up ...")
    elif re.split(r"\W", first.lower())[0] in _UNCLEAR:
        wrong.append(f'"{first}" does not say what kind of change it is: Add, Fix, Remove ...')
    if title.endswith("."):
        wrong.append("a title has no full stop")
    return wrong


def main() -> int:
    """Check the file that git names."""
    lines = Path(sys.argv[1]).read_text("utf-8", "replace").splitlines()
    # As git, which drops these.
    title = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    if not title:
        return 0  # git refuses it
    wrong = complaints(title)
    for each in wrong:
        print(f"{title!r}: {each}", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
