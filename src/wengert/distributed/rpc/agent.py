"""The agent: sends calls to other processes and answers theirs, by messages of MPI.

One thread asks MPI for messages. What takes no time it does itself; functions run in the threads of a pool. A message
is one MPI message of bytes; tensors above ``_INLINE`` bytes follow it, each as a message of its own.
"""

from __future__ import annotations

import itertools
import os
import pickle
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import dtypes as dt
from ...futures import Future
from ..stores import at_exit
from .constants import UNSET_RPC_TIMEOUT
from .internal import CallFuture, RemoteException
from .options import WorkerInfo
from .pool import Pool
from .wire import described, made, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..mpi.world import Processes
    from .options import RpcBackendOptions

_HEAD, _DATA = 1, 2  # tags
_INLINE = 1 << 14  # bytes of a tensor that travel with the message
_SPINS, _LONGEST, _LIFE = 20, 0.001, 0.25  # questions without a pause; seconds between questions, and looks at peers
UNINITIALIZED = "RPC has not been initialized. Call torch.distributed.rpc.init_rpc first."


@dataclass
class Handler:
    """What answers a kind of message: ``function(agent, source, meta, value)``, whose result, or the result of the
    future that it gives, goes back.

    ``inline``: it takes no time. ``first``: what the receiving thread does before ``function`` runs in another.
    """

    function: Callable[..., Any]
    inline: bool = False
    first: Callable[..., None] | None = None


HANDLERS: dict[str, Handler] = {}


def handles(name: str, inline: bool = False, first: Callable[..., None] | None = None) -> Any:
    """A decorator: the function answers messages of this name."""
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        HANDLERS[name] = Handler(function, inline, first)
        return function

    return enter


class Context:
    """What tells which distributed backward a call belongs to; ``distributed.autograd`` puts in one that knows."""

    def current(self) -> Any:
        """The context of this thread."""
        return None

    def outgoing(self, context: Any, tensors: Sequence[Any], to: int) -> Any:
        """What to send about tensors that leave for a worker."""
        return None

    def incoming(self, note: Any, tensors: Sequence[Any], source: int) -> Any:
        """The context of tensors that have come with such a note."""
        return None

    def enter(self, context: Any) -> Any:
        """Make a context that of this thread; the one before."""
        return None


context: Context = Context()


@dataclass
class _Call:
    future: Future[Any]
    to: int
    end: float
    seconds: float
    named: bool  # whether errors are raised as those of functions are


class Agent:
    """This process, as one that calls and is called."""

    def __init__(self, world: Processes, comm: Any, names: Sequence[str], world_ranks: Sequence[int],
            options: RpcBackendOptions) -> None:
        self.world, self.comm, self.barrier_comm = world, comm, comm.Dup()
        self.rank: int = comm.Get_rank()
        self.workers = [WorkerInfo(name, i) for i, name in enumerate(names)]
        self.me = self.workers[self.rank]
        self.world_ranks, self.timeout, self.pid = world_ranks, options.rpc_timeout, os.getpid()
        self.pool = Pool(options.num_worker_threads)
        self.numbers = itertools.count()
        self.calls: dict[int, _Call] = {}
        self.sending: list[tuple[list[Any], Any]] = []
        self.later: deque[tuple[Any, ...]] = deque()  # arguments of calls that finalizers have asked for
        self.lock = threading.RLock()
        self.sent = self.answered = 0
        self.tables: dict[str, Any] = {}  # what others keep in the agent
        self.running = True
        self.looked = 0.0
        self.thread = threading.Thread(target=self._serve, name="wengert-rpc-messages", daemon=True)
        self.thread.start()
        at_exit(self.stop)

    # -- who ----------------------------------------------------------------------------------------------------------

    def find(self, to: Any) -> WorkerInfo:
        """The worker of a name, a number or an info."""
        if isinstance(to, WorkerInfo):
            return to
        me = f"name:{self.me.name},rank:{self.rank}"
        if isinstance(to, int):
            if 0 <= to < len(self.workers):
                return self.workers[to]
            raise RuntimeError(f"{me} could not find destination id {to}")
        if isinstance(to, str):
            for worker in self.workers:
                if worker.name == to:
                    return worker
            raise RuntimeError(f"{me} could not find destination name {to}")
        raise ValueError(f"Cannot get WorkerInfo from name {to}")

    def unique(self) -> tuple[int, int]:
        """A number that no other process draws: of this worker, and its count."""
        return self.rank, next(self.numbers)

    # -- calls --------------------------------------------------------------------------------------------------------

    def call(self, to: int, name: str, meta: Any = None, value: Any = None, timeout: float = UNSET_RPC_TIMEOUT,
            copy: bool = True, named: bool = False) -> Future[Any]:
        """Have the handler ``name`` of a worker answer; a future. ``copy``: the tensors may be written to before they
        are sent. ``named``: errors bear the name of their type, as PyTorch's of functions.
        """
        data, tensors = pack(value)
        if timeout < 0:
            timeout = self.timeout
        future = CallFuture(self.pool)
        number = next(self.numbers)
        with self.lock:
            if not self.running:
                raise RuntimeError(UNINITIALIZED)
            end = time.monotonic() + timeout if timeout else float("inf")
            self.calls[number] = _Call(future, to, end, timeout, named)
            self.sent += 1
        try:
            self._post(to, (number, name, meta), data, tensors, context.current(), copy)
        except BaseException:
            with self.lock:
                self.calls.pop(number, None)
                self.sent -= 1
            raise
        return future

    def call_later(self, to: int, name: str, meta: Any) -> None:
        """The same for a finalizer, which may interrupt anything; nobody waits for it."""
        self.later.append((to, name, meta))

    def _post(self, to: int, what: Any, data: bytes, tensors: Sequence[Any], ctx: Any, copy: bool = True) -> None:
        note = context.outgoing(ctx, tensors, to)
        pairs = [described(t) for t in tensors]
        head = pickle.dumps((*what, note, [kind for kind, _ in pairs]), 5)
        small = [elements.tobytes() for _, elements in pairs if elements.nbytes <= _INLINE]
        large = [elements.copy() if copy else elements for _, elements in pairs if elements.nbytes > _INLINE]
        message = np.frombuffer(b"".join((struct.pack("<QQ", len(head), len(data)), head, data, *small)), np.uint8)
        byte = self.world.MPI.BYTE
        with self.lock:  # what follows a message comes behind it
            requests = [self.comm.Isend([message, byte], to, _HEAD)]
            requests += [self.comm.Isend([elements, byte], to, _DATA) for elements in large]
            self.sending.append((requests, (message, large)))

    # -- messages -----------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        MPI, idle = self.world.MPI, 0
        status = MPI.Status()
        while self.running:
            try:
                while self.later:
                    self.call(*self.later.popleft())
                message = self.comm.Improbe(MPI.ANY_SOURCE, _HEAD, status)
                if message is not None:
                    idle = 0
                    self._receive(message, status.Get_source(), status.Get_count(MPI.BYTE))
                    continue
                if self.sending:
                    self._forget_sent()
                self._look(time.monotonic())
            except Exception as error:
                self._fail_all(error)
            idle += 1
            if idle < _SPINS:
                os.sched_yield()
            else:
                time.sleep(min(_LONGEST, 2e-5 * (idle - _SPINS)))

    def _forget_sent(self) -> None:
        with self.lock:
            test = self.world.MPI.Request.Testall
            self.sending = [pair for pair in self.sending if not test(pair[0])]

    def _look(self, now: float) -> None:
        """Give up calls whose time is over, or whose worker has ended."""
        if not self.calls or now - self.looked < 0.01:
            return
        lives = now - self.looked > _LIFE
        if lives or any(call.end < now for call in list(self.calls.values())):
            for number, call in list(self.calls.items()):
                if call.end < now:
                    self._give_up(number, f"RPCErr:1:RPC ran for more than set timeout ({round(call.seconds * 1000)} "
                        "ms) and will now be marked with an error")
                elif lives and self.world.ended(self.world_ranks[call.to]):
                    self._give_up(number, f"RPCErr:2:the process of {self.workers[call.to]} has ended")
            self.looked = now

    def _give_up(self, number: int, text: str) -> None:
        call = self.calls.pop(number, None)
        if call is not None:
            call.future.set_exception(RuntimeError(text))

    def _fail_all(self, error: BaseException) -> None:
        while self.calls:
            call = self.calls.popitem()[1]
            call.future.set_exception(error)

    def _receive(self, message: Any, source: int, size: int) -> None:
        byte = self.world.MPI.BYTE
        buffer: Any = np.empty(size, np.uint8)
        message.Recv([buffer, byte])
        head_size, data_size = struct.unpack_from("<QQ", buffer)
        number, name, meta, note, kinds = pickle.loads(memoryview(buffer)[16 : 16 + head_size])
        data = memoryview(buffer)[16 + head_size : 16 + head_size + data_size]
        place = 16 + head_size + data_size
        elements: list[Any] = []
        requests: list[Any] = []
        for kind in kinds:
            length = _nbytes(kind)
            if length <= _INLINE:
                part = buffer[place : place + length].copy()
                place += length
            else:
                part = np.empty(length, np.uint8)
                requests.append(self.comm.Irecv([part, byte], source, _DATA))
            elements.append(part)
        while requests and not self.world.MPI.Request.Testall(requests):
            os.sched_yield()
        tensors = [made(kind, part) for kind, part in zip(kinds, elements, strict=True)]
        if name in ("=", "!"):
            self._take(number, name == "=", note, data, tensors, source)
            return
        handler = HANDLERS[name]
        if handler.first is not None:
            handler.first(self, source, meta)
        if handler.inline:
            self._answer(handler, source, number, meta, note, data, tensors)
        else:
            self.pool.submit(self._answer, handler, source, number, meta, note, data, tensors)

    def _take(self, number: int, well: bool, note: Any, data: Any, tensors: Sequence[Any], source: int) -> None:
        context.incoming(note, tensors, source)
        call = self.calls.pop(number, None)
        if call is None:
            return  # its time is over
        try:
            value = unpack(data, tensors)
        except Exception as error:
            call.future.set_exception(error)
            return
        if well:
            call.future.set_result(value)
        else:
            call.future.set_exception(value.local(call.named))

    def _answer(self, handler: Handler, source: int, number: int, meta: Any, note: Any, data: Any,
            tensors: Sequence[Any]) -> None:
        ctx = context.incoming(note, tensors, source)
        before = context.enter(ctx)
        try:
            result = handler.function(self, source, meta, unpack(data, tensors))
            if isinstance(result, Future):
                result.add_done_callback(lambda done: self._reply(source, number, ctx, done))
            else:
                self._send_reply(source, number, ctx, True, result)
        except BaseException as error:
            self._send_reply(source, number, ctx, False, RemoteException.of(error, self.me))
        finally:
            context.enter(before)

    def _reply(self, to: int, number: int, ctx: Any, done: Future[Any]) -> None:
        try:
            result = done.value()
        except BaseException as error:
            self._send_reply(to, number, ctx, False, RemoteException.of(error, self.me))
        else:
            self._send_reply(to, number, ctx, True, result)

    def _send_reply(self, to: int, number: int, ctx: Any, well: bool, value: Any) -> None:
        try:
            data, tensors = pack(value)
        except Exception as error:
            well, (data, tensors) = False, pack(RemoteException.of(error, self.me))
        self._post(to, (number, "=" if well else "!", None), data, tensors, ctx)
        with self.lock:
            self.answered += 1

    # -- the end ------------------------------------------------------------------------------------------------------

    def settle(self, timeout: float = 0.0) -> None:
        """Wait until no call is under way anywhere. All workers come here, none of them calls from its main thread."""
        end = time.monotonic() + timeout if timeout else float("inf")
        while True:
            while self.calls or self.later or self.pool.active:
                time.sleep(0.0005)
                if time.monotonic() > end:
                    raise RuntimeError(f"shutdown has waited {timeout} seconds for calls that are under way")
            if not self._sum_of_open(end):
                return

    def _sum_of_open(self, end: float) -> int:
        open_calls = np.array([self.sent - self.answered, len(self.calls) + self.pool.active], np.int64)
        total = np.zeros(2, np.int64)
        request = self.barrier_comm.Iallreduce(open_calls, total)
        turns = 0
        while not request.Test():
            turns += 1
            time.sleep(0.0002 if turns < 100 else 0.002)
            if turns % 100 == 0:
                self._check_peers(end)
        return int(np.abs(total).sum())

    def _check_peers(self, end: float) -> None:
        gone = [worker for worker, rank in zip(self.workers, self.world_ranks, strict=True) if self.world.ended(rank)]
        if gone or time.monotonic() > end:
            self.world.stick()
            raise RuntimeError(f"shutdown: the process of {gone[0]} has ended" if gone else
                "shutdown: not all workers have called it in time")

    def stop(self) -> None:
        """Serve no more."""
        if not self.running or os.getpid() != self.pid:
            return
        with self.lock:
            self.running = False
        if threading.current_thread() is not self.thread:
            self.thread.join()
        self._fail_all(RuntimeError(UNINITIALIZED))
        self.pool.close()


def _nbytes(kind: tuple[str, tuple[int, ...], bool]) -> int:
    size: int = dt.by_name(kind[0]).np.itemsize
    for n in kind[1]:
        size *= n
    return size


_agent: Agent | None = None


def current() -> Agent:
    """The agent; ``RuntimeError`` before ``init_rpc`` and after ``shutdown``."""
    if _agent is None:
        raise RuntimeError(UNINITIALIZED)
    return _agent


def is_set() -> bool:
    """Whether there is one."""
    return _agent is not None


def set_current(agent: Agent | None) -> None:
    """Put one in its place."""
    global _agent
    _agent = agent
