"""Print the jumps of curand_xorwow.h: x^(2^k) modulo the characteristic polynomial of a step.

A step is linear over the field of two elements, so n steps are a polynomial of the step of degree
below 160: x^n modulo the characteristic polynomial. Berlekamp and Massey's algorithm finds that
polynomial from the sequence of one bit.
"""

from __future__ import annotations

BITS = 160
WORD = 2**32 - 1


def step(v: list[int]) -> list[int]:
    """The five words after a step (Marsaglia, "Xorshift RNGs", 2003)."""
    t = v[0] ^ v[0] >> 2
    return [*v[1:], (v[4] ^ v[4] << 4 ^ t ^ t << 1) & WORD]


def characteristic() -> int:
    """The polynomial, bit n for x^n."""
    v, bits = [1, 2, 3, 4, 5], list[int]()
    for _ in range(2 * BITS):
        bits.append(v[4] & 1)
        v = step(v)
    current, before, length, since = 1, 1, 0, 1
    for n, _ in enumerate(bits):
        odd = sum(bits[n - i] for i in range(length + 1) if current >> i & 1) & 1
        if not odd:
            since += 1
        elif 2 * length <= n:
            current, before = current ^ before << since, current
            length, since = n + 1 - length, 1
        else:
            current ^= before << since
            since += 1
    assert length == BITS
    return int(f"{current:0{BITS + 1}b}"[::-1], 2)


def squared(p: int, modulus: int) -> int:
    """The square of a polynomial."""
    made = sum(1 << 2 * n for n in range(BITS) if p >> n & 1)
    for n in range(2 * BITS, BITS - 1, -1):
        if made >> n & 1:
            made ^= modulus << n - BITS
    return made


def main() -> None:
    """Print the rows."""
    modulus, jump = characteristic(), 2
    for _ in range(67 + 64):
        words = ", ".join(f"0x{jump >> 32 * n & WORD:08x}" for n in range(5))
        print(f"    {{{words}}},")
        jump = squared(jump, modulus)


if __name__ == "__main__":
    main()
