"""PageRank by messages. Each actor has a part of the pages; in each round it sends every other one
what its pages give to theirs, and goes on as soon as it has heard from all."""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np

from gridlane import actors, cuda
from gridlane.cuda import float32, int32
from measure import milliseconds

PAGES = 64  # of an actor
DAMPING = 0.85


@actors.message
class Shares:
    round: int32
    part: int32  # the sender's
    given: float32[PAGES]  # to each page of the receiver


@actors.state
class Progress:
    round: int32
    last: int32
    part: int32
    heard: int32[2]  # by the parity of the round


@actors.kernel(state=Progress)
def part(ctx, state, shares: Shares, ranks, given, starts, targets, counts, parts):
    """ranks: float32 (PAGES,); given: float32 (2, parts, PAGES), what each part has given, by the
    parity of the round; starts, targets: the links of page i are targets[starts[i]:starts[i + 1]],
    by pages of all parts; counts: links of a page; parts: the numbers of the actors."""
    first = shares.round < 0  # the host's: begin
    if not first:
        for page in range(PAGES):
            given[shares.round & 1, shares.part, page] = shares.given[page]
        state.heard[shares.round & 1] += 1
    now = state.round & 1
    if not first and state.heard[now] < parts.size:
        return
    if not first:
        state.heard[now] = 0
        state.round += 1
        for page in range(PAGES):
            whole = float32(0)
            for sender in range(parts.size):  # in the same order in every run
                whole += given[now, sender, page]
            ranks[page] = (1 - DAMPING) / (parts.size * PAGES) + DAMPING * whole
    if state.round == state.last:
        return
    message = cuda.local.array(1, Shares)
    message[0].round = state.round
    message[0].part = state.part
    for receiver in range(parts.size):
        for page in range(PAGES):
            message[0].given[page] = 0
        for page in range(PAGES):
            for link in range(starts[page], starts[page + 1]):
                target = targets[link] - receiver * PAGES
                if 0 <= target < PAGES:
                    message[0].given[target] += ranks[page] / counts[page]
        ctx.send_to(parts[receiver], message[0])


def reference(links: np.ndarray, rounds: int) -> np.ndarray:
    """links: bool (pages, pages), from the first to the second."""
    count = len(links)
    give = links.T / links.sum(1)
    ranks = np.full(count, 1 / count)
    for _ in range(rounds):
        ranks = (1 - DAMPING) / count + DAMPING * (give @ ranks)
    return ranks


def random_links(pages: int) -> np.ndarray:
    """Few pages that many link to, as pages have it; every page has a link."""
    rng = np.random.default_rng(3)
    wanted = rng.pareto(1.5, pages)
    links = rng.random((pages, pages)) < np.minimum(0.5, 4 * wanted / wanted.sum())
    links[np.arange(pages), (np.arange(pages) + 1) % pages] = True
    return links


def rank(runtime: actors.Runtime, links: np.ndarray, rounds: int) -> np.ndarray:
    """The ranks of all pages after some rounds."""
    pages = len(links)
    count = pages // PAGES
    refs = []
    for n in range(count):
        own = links[n * PAGES : (n + 1) * PAGES]
        targets = own.nonzero()[1]
        counts = own.sum(1).astype(np.int32)
        arrays = (
            np.full(PAGES, 1 / pages, np.float32),
            np.zeros((2, count, PAGES), np.float32),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            targets.astype(np.int32),
            counts,
            np.zeros(count, np.uint64),
        )
        state = Progress(0, rounds, n, np.zeros(2, np.int32))
        options = {"tier": 1024, "capacity": 64, "emits": count}
        refs.append(runtime.launch(part, name=f"part{n}", args=arrays, state=state, **options))
    numbers = np.array([ref.id for ref in refs], np.uint64)
    for ref in refs:
        ref.arrays[-1].copy_to_device(numbers)
        ref.activate()
    for ref in refs:
        ref.send(Shares(-1, 0, np.zeros(PAGES, np.float32)), replies=False)
    for ref in refs:
        while ref.read_state().round < rounds:
            time.sleep(0.0002)
    result = np.concatenate([ref.arrays[0].copy_to_host() for ref in refs])
    for ref in refs:
        ref.terminate()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default=os.environ.get("GRIDLANE_DEVICE", "cpu"))
    parser.add_argument("--parts", type=int, default=8, help=f"actors, of {PAGES} pages each")
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()

    links = random_links(args.parts * PAGES)
    found = [np.zeros(0, np.float32)]
    with actors.Runtime(device=args.device) as runtime:

        def run() -> None:
            found[0] = rank(runtime, links, args.rounds)

        time_ms = milliseconds(run)
        dead = runtime.dead_letters()
    expected = reference(links, args.rounds)
    error = float(np.max(np.abs(found[0] - expected) / expected))
    if not error < 1e-4 or dead:
        sys.exit(f"actors_pagerank: wrong, {error:.2g} off numpy, {len(dead)} dead letters")
    print(
        f"actors_pagerank: {len(links)} pages, {int(links.sum())} links, {args.rounds} rounds, "
        f"sum {found[0].sum():.4f}, {time_ms:.1f} ms"
    )


if __name__ == "__main__":
    main()
