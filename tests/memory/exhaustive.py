"""The fastest schedule found by trying everything that a schedule may do next: Dijkstra over what is held."""

from __future__ import annotations

import heapq
import itertools


def fastest(chain, budget, persistent=True):
    """The seconds of the fastest schedule within a budget; None where there is none.

    ``persistent``: a plain output is dropped at once when the next block has taken it, or stays until that block's
    backward has run.
    """
    blocks, n = chain.blocks, len(chain)

    def held(plain, saved, after):
        """Bytes, after the backwards of all blocks beyond ``after``."""
        count = sum(blocks[i].output for i in plain) + sum(blocks[i].options[o].saved for i, o in saved)
        count += sum(b.gradients for b in blocks[after + 1 :])
        return count + (blocks[after].gradient if -1 < after < n - 1 else 0)

    order = itertools.count()
    # made: the block whose plain output was made last; taken: the one whose output that operation alone has used
    queue = [(0, 0, frozenset(), frozenset(), n - 1, None, None)]
    done = set()
    while queue:
        time, _, *state = heapq.heappop(queue)
        plain, saved, after, made, taken = state
        if after < 0:
            return time
        if tuple(state) in done:
            continue
        done.add(tuple(state))
        now, ways = held(plain, saved, after), dict(saved)

        def go(more, plain=plain, saved=saved, after=after, made=None, taken=None, time=time):
            heapq.heappush(queue, (time + more, next(order), plain, saved, after, made, taken))

        for i in plain:
            if not persistent or after <= i or taken == i:
                go(0, plain - {i}, made=made)
        for i in range(after + 1):
            if i and i - 1 not in plain and i - 1 not in ways:
                continue
            b, used = blocks[i], i - 1 if i and made == i - 1 else None
            if i not in plain and now + b.output + b.forward_temp <= budget:
                go(b.forward_time, plain | {i}, made=i, taken=used)
            for o, option in enumerate(b.options) if i not in ways else ():
                if now + option.saved + option.forward_temp > budget:
                    continue
                go(option.forward_time, saved=saved | {(i, o)}, taken=used)
                most = now + option.saved + (blocks[i - 1].gradient if i else 0) + b.gradients + option.backward_temp
                if i == after != n - 1 and most <= budget:
                    go(option.again + option.backward_time, after=i - 1)
        if after in ways and (after == 0 or after - 1 in plain or after - 1 in ways):
            b, option = blocks[after], blocks[after].options[ways[after]]
            more = (blocks[after - 1].gradient if after else 0) + b.gradients + (b.gradient if after == n - 1 else 0)
            if now + more + option.backward_temp <= budget:
                go(option.backward_time, saved=saved - {(after, ways[after])}, after=after - 1)
    return None
