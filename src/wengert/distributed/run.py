"""``torchrun``: starts the workers of a node, watches them, and starts them again when one fails.

Used as ``wengert torchrun`` and ``wengert run -m torch.distributed.run``.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .elastic.multiprocessing.errors import ChildFailedError, record
from .elastic.workers import LOCAL_RANK, Streams, Workers
from .mpi.world import joins_processes
from .tcp_store import TCPStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["get_args_parser", "main", "parse_args", "run"]

_GRACE = 10.0  # seconds which the node that serves the store waits for the others to leave
_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")  # that end a job
_ASK = 0.5  # seconds between two looks at the other nodes


class _BothSpellings(argparse.ArgumentParser):
    """Accepts ``--nproc-per-node`` and ``--nproc_per_node``, and what the environment has as ``PET_NPROC_PER_NODE``."""

    def option(self, *names: str, **more: Any) -> None:
        """Add an option by its names with hyphens."""
        spelled = [s for name in names for s in dict.fromkeys((name, "--" + name[2:].replace("-", "_")
            if name.startswith("--") else name))]
        variable = "PET_" + names[-1].lstrip("-").replace("-", "_").upper()
        if variable in os.environ:
            more["default"] = os.environ[variable]
            if more.get("action") == "store_true":
                more["default"] = os.environ[variable] == "1"
        self.add_argument(*spelled, **more)


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of the command's arguments."""
    parser = _BothSpellings(prog="torchrun", description="Start a program in several processes, joined by MPI.")
    parser.option("--nnodes", default="1", help="number of nodes, or MIN:MAX")
    parser.option("--nproc-per-node", default="1", help="processes on this node: a number, auto, cpu or gpu")
    parser.option("--rdzv-backend", default="static", help="how nodes find each other: static or c10d")
    parser.option("--rdzv-endpoint", default="", help="host:port at which they do")
    parser.option("--rdzv-id", default="none", help="name of the job")
    parser.option("--rdzv-conf", default="", help="key=value,...; timeout=SECONDS is read")
    parser.option("--standalone", action="store_true", help="one node, with a free port")
    parser.option("--max-restarts", type=int, default=0, help="how often the workers are started again")
    parser.option("--monitor-interval", type=float, default=0.1, help="accepted")
    parser.option("--start-method", default="spawn", choices=["spawn", "fork", "forkserver"], help="accepted")
    parser.option("--event-log-handler", default="null", help="accepted")
    parser.option("--role", default="default", help="role of the workers")
    parser.option("-m", "--module", action="store_true", help="the program is a module, as with python -m")
    parser.option("--no-python", action="store_true", help="the program is a command, not a Python script")
    parser.option("--run-path", action="store_true", help="accepted")
    parser.option("--log-dir", default=None, help="where output goes with --redirects and --tee")
    parser.option("-r", "--redirects", default="0", help="0 none, 1 stdout, 2 stderr, 3 both; or RANK:N,...")
    parser.option("-t", "--tee", default="0", help="the same, with a copy on the terminal")
    parser.option("--local-ranks-filter", default="", help="local ranks whose output is shown")
    parser.option("--node-rank", type=int, default=0, help="number of this node")
    parser.option("--master-addr", default="127.0.0.1", help="host of node 0")
    parser.option("--master-port", type=int, default=29500, help="port on it")
    parser.option("--local-addr", default=None, help="address of this node")
    for name in ("--logs-specs", "--numa-binding", "--signals-to-handle", "--virtual-local-rank",
            "--duplicate-stdout-filters", "--duplicate-stderr-filters", "--shutdown-timeout"):
        parser.option(name, nargs="?", default=None, help=argparse.SUPPRESS)
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """The arguments of the command."""
    return get_args_parser().parse_args(args)


def _processes(text: str) -> int:
    with suppress(ValueError):
        return int(text)
    if text in ("auto", "cpu"):
        return os.cpu_count() or 1
    if text in ("gpu", "xpu"):
        raise ValueError("there is no GPU that processes could share out: name a number of processes, or cpu")
    raise ValueError(f"Unsupported nproc_per_node value: {text}")


def _streams(args: argparse.Namespace) -> Streams:
    def bits(text: str) -> int | dict[int, int]:
        if ":" in text:
            return {int(rank): int(b) for rank, b in (part.split(":") for part in text.split(","))}
        return int(text)

    shown = {int(rank) for rank in args.local_ranks_filter.split(",") if rank}
    return Streams(args.log_dir, bits(args.redirects), bits(args.tee), shown or None)


@dataclass
class Job:
    """What this node contributes to a job, and what it knows of it."""

    command: list[str]
    nproc: int
    nodes: int
    role: str
    run_id: str
    restarts: int
    streams: Streams
    timeout: timedelta
    store: TCPStore
    node: int = 0
    counts: list[int] = field(default_factory=list)  # processes of each node
    stopped: int = 0  # the signal by which this launcher was asked to end

    @property
    def first(self) -> int:
        """The first rank of this node."""
        return sum(self.counts[: self.node])

    @property
    def size(self) -> int:
        """The number of ranks."""
        return sum(self.counts)

    def environment(self, attempt: int) -> Callable[[int], dict[str, str]]:
        """The variables of a worker, by its local rank."""
        def of(local_rank: int) -> dict[str, str]:
            rank, size = str(self.first + local_rank), str(self.size)
            values = {
                "LOCAL_RANK": str(local_rank), "RANK": rank, "GROUP_RANK": str(self.node), "ROLE_RANK": rank,
                "ROLE_NAME": self.role, "LOCAL_WORLD_SIZE": str(self.nproc), "WORLD_SIZE": size,
                "GROUP_WORLD_SIZE": str(self.nodes), "ROLE_WORLD_SIZE": size, "MASTER_ADDR": self.store.host,
                "MASTER_PORT": str(self.store.port), "TORCHELASTIC_RESTART_COUNT": str(attempt),
                "TORCHELASTIC_MAX_RESTARTS": str(self.restarts), "TORCHELASTIC_RUN_ID": self.run_id,
                "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_SIGNALS_TO_HANDLE": ",".join(_SIGNALS),
                "TORCH_NCCL_ASYNC_ERROR_HANDLING": os.environ.get("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"),
            }
            if "OMP_NUM_THREADS" not in os.environ:
                values["OMP_NUM_THREADS"] = "1"
            return values

        return of


def _endpoint(args: argparse.Namespace) -> tuple[str, int, bool]:
    """Host and port of the store, and whether this node might serve it."""
    if args.standalone:
        return "localhost", 0, True
    if args.rdzv_endpoint:
        host, _, port = args.rdzv_endpoint.rpartition(":") if ":" in args.rdzv_endpoint else (
            args.rdzv_endpoint, "", "29400")
        number = int(port or 29400)
        if args.rdzv_backend == "static":
            return host, number, args.node_rank == 0
        return host, number, _is_here(host)
    return args.master_addr, args.master_port, args.node_rank == 0


def _is_here(host: str) -> bool:
    with suppress(OSError):
        address = socket.gethostbyname(host)
        if address.startswith("127.") or address in socket.gethostbyname_ex(socket.gethostname())[2]:
            return True
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
            return True
    return False


def _store(args: argparse.Namespace, timeout: timedelta) -> TCPStore:
    host, port, here = _endpoint(args)
    if here:
        try:
            return TCPStore(host, port, None, True, timeout, wait_for_workers=False)
        except RuntimeError:
            if args.standalone or args.rdzv_backend == "static":
                raise
    return TCPStore(host, port, None, False, timeout)


def _job(args: argparse.Namespace) -> Job:
    low, _, high = args.nnodes.partition(":")
    if args.nproc_per_node == "gpu":
        _processes("gpu")
    nodes = 1 if args.standalone else int(high or low)
    settings = dict(part.split("=", 1) for part in args.rdzv_conf.split(",") if "=" in part)
    timeout = timedelta(seconds=float(settings.get("timeout") or settings.get("join_timeout") or 600))
    if args.no_python:
        command = [args.training_script]
    else:
        command = [sys.executable, "-m", "wengert", "run"]
        command += ["-m", args.training_script] if args.module else [args.training_script]
    store = _store(args, timeout)
    run_id = args.rdzv_id if args.rdzv_id != "none" else str(uuid.uuid4()) if args.standalone else "none"
    if getattr(args, "tells_local_rank", False):
        command.append(f"--local-rank={LOCAL_RANK}")
    job = Job([*command, *args.training_script_args], _processes(args.nproc_per_node), nodes, args.role, run_id,
        args.max_restarts, _streams(args), timeout, store)
    _meet(job, args)
    return job


def _meet(job: Job, args: argparse.Namespace) -> None:
    """Find the other nodes of the job, and what each contributes."""
    fixed = args.rdzv_backend == "static" or job.nodes == 1
    job.node = (args.node_rank if fixed and not args.standalone else job.store.add("agents/count", 1) - 1)
    if job.nodes == 1:
        job.node = 0
    job.store.set(f"agents/{job.node}", str(job.nproc))
    keys = [f"agents/{i}" for i in range(job.nodes)]
    job.store.wait(keys, job.timeout)
    job.counts = [int(value) for value in job.store.multi_get(keys)]


def _watch(job: Job, workers: Workers, attempt: int) -> str:
    looked = time.monotonic()

    def stop() -> bool:
        nonlocal looked
        if job.stopped:
            return True
        if job.nodes == 1 or time.monotonic() - looked < _ASK:
            return False
        looked = time.monotonic()
        return job.store.check([f"failed/{attempt}"])

    return workers.wait(stop)


def _workers(job: Job, attempt: int) -> Workers:
    if job.size == 1 or joins_processes():
        return Workers(job.command, job.nproc, job.environment(attempt), job.first, job.streams, attempt)
    if job.nodes > 1:
        raise SystemExit("torchrun: this MPI starts processes on several nodes itself: mpiexec -n N --host A,B wengert "
            "run PROGRAM")
    counts = {"TORCHELASTIC_RESTART_COUNT": str(attempt), "TORCHELASTIC_MAX_RESTARTS": str(job.restarts),
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = str(beside) if beside.exists() else "mpiexec"
    return Workers([mpiexec, "--oversubscribe", "-n", str(job.nproc), *job.command], 1, lambda _: counts, 0,
        job.streams, attempt)


def _attempt(job: Job, attempt: int) -> tuple[str, dict[int, Any]]:
    """Run the workers once; how it ended, and the failures on this node."""
    workers = _workers(job, attempt)
    outcome = "stopped"
    try:
        outcome = _watch(job, workers, attempt)
        if outcome == "failed":
            with suppress(RuntimeError):
                job.store.set(f"failed/{attempt}", str(job.node))
    finally:
        workers.end(job.stopped or signal.SIGTERM)
        failures = workers.failures()
        workers.clean()
    if outcome == "done" and job.nodes > 1:
        outcome = _all_nodes_done(job, attempt)
    return outcome, failures


def _all_nodes_done(job: Job, attempt: int) -> str:
    job.store.set(f"done/{attempt}/{job.node}", "1")
    keys = [f"done/{attempt}/{i}" for i in range(job.nodes)]
    while not job.store.check(keys):
        if job.store.check([f"failed/{attempt}"]):
            return "stopped"
        time.sleep(_ASK)
    return "done"


def _leave(job: Job) -> None:
    """The node that serves the store leaves last: the others have read there how the job ended."""
    if job.nodes == 1:
        return
    with suppress(RuntimeError):
        if not job.store.is_server:
            job.store.add("left", 1)
            return
        end = time.monotonic() + _GRACE
        while job.store.add("left", 0) < job.nodes - 1 and time.monotonic() < end:
            time.sleep(_ASK / 10)


def run(args: argparse.Namespace) -> None:
    """Run a job; ``ChildFailedError`` if workers have failed once more than ``--max-restarts`` allows."""
    job = _job(args)

    def asked_to_end(number: int, frame: Any) -> None:
        job.stopped = number

    before = {number: signal.signal(number, asked_to_end) for number in map(signal.Signals.__getitem__, _SIGNALS)}
    try:
        for attempt in range(job.restarts + 1):
            outcome, failures = _attempt(job, attempt)
            if job.stopped:
                raise SystemExit(128 + job.stopped)
            if outcome == "done":
                return
            if attempt < job.restarts:
                ranks = ", ".join(map(str, failures)) or "another node's"
                print(f"torchrun: rank {ranks} has failed; restart {attempt + 1} of {job.restarts}", file=sys.stderr)
        if failures:
            raise ChildFailedError(args.training_script, failures)
        raise SystemExit("torchrun: workers of another node have failed")
    finally:
        _leave(job)
        for number, handler in before.items():
            signal.signal(number, handler)


@record
def main(args: Sequence[str] | None = None) -> None:
    """The command ``torchrun``."""
    run(parse_args(args))


if __name__ == "__main__":
    main()
