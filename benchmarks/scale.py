"""What data parallel training costs on many processes: a measured transport, a cost model, a simulation.

    wengert torchrun --standalone --nproc-per-node 2 -m benchmarks.scale --measure      latency and bandwidth here
    python -m benchmarks --scale                                                        the predictions of docs/scale.md
    python -m benchmarks --scale --latency 2e-6 --bandwidth 12.5e9 --gradient 500e6 --backward 0.5

The model. A message of n bytes takes ``latency + n / bandwidth``. An all-reduce of n bytes among p processes is the
better of two algorithms (Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in
MPICH", 2005; a = latency, b = seconds for a byte, c = seconds to add a byte):

    ring                2 (p - 1) a + 2 (p - 1) / p n b + (p - 1) / p n c
    halving, doubling   2 log2(p) a + 2 (p - 1) / p n b + (p - 1) / p n c

and for short messages recursive doubling, log2(p) (a + n b + n c). The simulation fills buckets as the backward goes
on, sends one after the other, and lets the optimizer begin when the last has come.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, replace

# Hooks of ``wengert.distributed.compression``: the part of the bytes that is sent, and bytes packed and unpacked in a
# second by one core.
COMPRESSED = (("eight bits", 0.266, 1.1e9), ("one bit", 0.063, 0.5e9))
RANKS = (2, 4, 8, 16, 64, 256, 1024, 4096)


@dataclass(frozen=True)
class Transport:
    """Seconds before a message arrives, bytes in a second, and bytes added in a second."""

    latency: float
    bandwidth: float
    adding: float = 4e9

    def all_reduce(self, size: float, ranks: int) -> float:
        """Seconds for an all-reduce of ``size`` bytes.

        >>> round(Transport(1e-5, 1e9, 1e12).all_reduce(1e6, 2) * 1e3, 3)
        1.011
        """
        if ranks == 1:
            return 0.0
        rounds, part = math.ceil(math.log2(ranks)), (ranks - 1) / ranks
        spread = 2 * part * size / self.bandwidth + part * size / self.adding
        short = rounds * (self.latency + size / self.bandwidth + size / self.adding)
        return min(2 * (ranks - 1) * self.latency + spread, 2 * rounds * self.latency + spread, short)


@dataclass(frozen=True)
class Step:
    """One step of training in one process: seconds of its parts, bytes of gradients, bytes of a bucket.

    ``kept``: the part of the bytes that a compression leaves; ``packing``: bytes that it handles in a second.
    """

    forward: float
    backward: float
    optimizer: float
    gradient: float
    bucket: float = 25 * 2**20
    first_bucket: float = 2**20
    kept: float = 1.0
    packing: float = 1e9

    def buckets(self) -> list[float]:
        """Their sizes, in the order in which they are full."""
        sizes, left = [], self.gradient
        while left > 0:
            sizes.append(min(left, self.bucket if sizes else self.first_bucket))
            left -= sizes[-1]
        return sizes

    def alone(self) -> float:
        """Seconds without other processes."""
        return self.forward + self.backward + self.optimizer


def simulate(step: Step, transport: Transport, ranks: int, overlap: bool = True) -> float:
    """Seconds of a step among ``ranks`` processes.

    Gradients get ready evenly over the backward. With ``overlap`` a bucket is sent as soon as it is full and the one
    before it has arrived, else all are sent after the backward.

    >>> step = Step(1.0, 2.0, 0.0, 100.0, bucket=50.0, first_bucket=50.0)
    >>> transport = Transport(0.0, 100.0, math.inf)
    >>> simulate(step, transport, 2, overlap=False), simulate(step, transport, 2)
    (4.0, 3.5)
    """
    now, free, filled = step.forward, 0.0, 0.0
    for size in step.buckets():
        filled += size
        full = now + step.backward * (filled / step.gradient if overlap else 1.0)
        packed = size / step.packing if step.kept < 1 else 0.0
        free = max(free, full) + transport.all_reduce(size * step.kept, ranks) + packed
    return max(free, now + step.backward) + step.optimizer


def table(step: Step, transport: Transport) -> list[str]:
    """Rows of Markdown: efficiency, the time of one process over that of many, for each number of ranks."""
    ways = [("one after the other", step, False), ("overlapped", step, True)]
    ways += [(f"overlapped, {name}", replace(step, kept=kept, packing=packing), True)
        for name, kept, packing in COMPRESSED]
    rows = ["| ranks | " + " | ".join(name for name, _, _ in ways) + " |", "|---" * (len(ways) + 1) + "|"]
    for ranks in RANKS:
        shares = [step.alone() / simulate(variant, transport, ranks, overlap) for _, variant, overlap in ways]
        rows.append(f"| {ranks} | " + " | ".join(f"{share:.0%}" for share in shares) + " |")
    return rows


def measure() -> None:
    """Print latency and bandwidth of this group of processes, and what all-reduces take beside the model."""
    import wengert as torch
    from wengert import distributed as dist

    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()

    def least(call, times=30):
        found = []
        for _ in range(times):
            dist.barrier()
            begin = time.perf_counter()
            call()
            found.append(time.perf_counter() - begin)
        return min(found)

    def there_and_back(tensor):
        if rank == 0:
            dist.send(tensor, 1)
            dist.recv(tensor, 1)
        elif rank == 1:
            dist.recv(tensor, 0)
            dist.send(tensor, 0)

    latency = least(lambda: there_and_back(torch.zeros(1)), 200) / 2
    size = 16 * 2**20
    bandwidth = size / (least(lambda: there_and_back(torch.zeros(size // 4)), 10) / 2 - latency)
    a, b = torch.zeros(2**24), torch.zeros(2**24)
    adding = a.numel() * 4 / least(lambda: a.add_(b))
    here = Transport(latency, bandwidth, adding)
    if rank == 0:
        print(f"{ranks} ranks: latency {latency * 1e6:.1f} µs, bandwidth {bandwidth / 1e9:.2f} GB in a second, "
            f"adding {adding / 1e9:.1f} GB in a second")
    for size in (2**10, 2**14, 2**18, 2**20, 2**22, 2**24, 2**26):
        tensor = torch.zeros(size // 4)
        took = least(lambda t=tensor: dist.all_reduce(t), 20 if size < 2**22 else 6)
        if rank == 0:
            model = here.all_reduce(size, ranks)
            print(f"all_reduce of {size:>10,} bytes: {took * 1e6:9.1f} µs, model {model * 1e6:9.1f}")
    dist.destroy_process_group()


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="python -m benchmarks --scale")
    parser.add_argument("--measure", action="store_true", help="measure this group of processes (under torchrun)")
    parser.add_argument("--latency", type=float, default=20e-6, help="seconds of a message (20e-6, Ethernet)")
    parser.add_argument("--bandwidth", type=float, default=3e9, help="bytes in a second (3e9, 25 Gbit/s)")
    parser.add_argument("--forward", type=float, default=0.08, help="seconds")
    parser.add_argument("--backward", type=float, default=0.16, help="seconds")
    parser.add_argument("--optimizer", type=float, default=0.01, help="seconds")
    parser.add_argument("--gradient", type=float, default=100e6, help="bytes of gradients")
    args = parser.parse_args(argv)
    if args.measure:
        measure()
        return
    step = Step(args.forward, args.backward, args.optimizer, args.gradient)
    print("\n".join(table(step, Transport(args.latency, args.bandwidth))))


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
