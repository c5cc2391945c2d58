"""Take rows of the table apart."""

from __future__ import annotations


def split_outside(text: str) -> list[str]:
    """Split at the commas that are outside parentheses.

    >>> split_outside("int (*f)(int, int), void *p")
    ['int (*f)(int, int)', 'void *p']
    """
    parts: list[str] = []
    depth = start = 0
    for place, char in enumerate(text):
        if char in "()":
            depth += 1 if char == "(" else -1
        elif char == "," and not depth:
            parts.append(text[start:place].strip())
            start = place + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def declared(text: str) -> tuple[str, str]:
    """The type and the name of a declaration; "" for no name.

    >>> declared("const void *src"), declared("int size[3]"), declared("size_t")
    (('const void *', 'src'), ('int[3]', 'size'), ('size_t', ''))
    >>> declared("size_t (*of)(int)")
    ('size_t (*)(int)', 'of')
    """
    if "(*" in text:
        before, _, rest = text.partition("(*")
        name, _, after = rest.partition(")")
        return f"{before}(*){after}", name
    text, bracket, dims = text.partition("[")
    cut = len(text)
    while cut and (text[cut - 1].isalnum() or text[cut - 1] == "_"):
        cut -= 1
    kind, name = text[:cut].strip(), text[cut:]
    if not kind or name in ("int", "char", "long", "short"):
        kind, name = text.strip(), ""
    return kind + bracket + dims, name
