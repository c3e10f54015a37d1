"""``RRef``: a reference to a value that stays in the process which owns it.

The owner keeps the value as long as there are references. Each has a number; the owner counts them. Who hands one on
keeps his own until the owner knows the new one, so the count never comes to zero while one is on its way.
"""

from __future__ import annotations

import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

from ...futures import Future
from ...tensor.tensor import Tensor
from . import agent as agents
from .agent import Agent, handles
from .constants import UNSET_RPC_TIMEOUT
from .functions import Plain, call
from .internal import NoSuchMethod, RemoteException
from .wire import REDUCERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from .options import WorkerInfo

__all__ = ["RRef"]

Number = tuple[int, int]


def _shown(number: Number) -> str:
    return f"GloballyUniqueId(created_on={number[0]}, local_id={number[1]})"


class _Owned:
    """A value that this process owns: a future of it, and the references of others."""

    def __init__(self, number: Number) -> None:
        self.number, self.forks = number, set[Number]()
        self.value: Future[Any] = Future()


class _Table:
    """What an agent knows of references: what others refer to here, what is handed on, which refer to others."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.owned: dict[Number, _Owned] = {}
        self.children: dict[Number, RRef] = {}
        self.users: weakref.WeakSet[RRef] = weakref.WeakSet()


def _table(agent: Agent) -> _Table:
    found = agent.tables.get("references")
    if found is None:
        with agent.lock:
            found = agent.tables.setdefault("references", _Table())
    return found  # type: ignore[no-any-return]


class RRef:
    """A reference to ``value``, which stays here; ``remote`` gives references to values elsewhere.

    It can be an argument or a result of calls, and nothing else can pickle it.
    """

    def __init__(self, value: Any, type_hint: Any = None) -> None:
        agent = agents.current()
        owned = _Owned(agent.unique())
        owned.value.set_result(value)
        self._become(agent, agent.me, owned.number, None, owned)

    def _become(self, agent: Agent, owner: WorkerInfo, number: Number, fork: Number | None,
            owned: _Owned | None) -> RRef:
        self._agent, self._owner, self._number, self._fork, self._owned = agent, owner, number, fork, owned
        self._made: Future[Any] | None = None  # of the call that makes the value
        if owned is None:
            _table(agent).users.add(self)
        return self

    # -- who ----------------------------------------------------------------------------------------------------------

    def owner(self) -> WorkerInfo:
        """The worker that has the value."""
        return self._owner

    def owner_name(self) -> str:
        """Its name."""
        return self._owner.name

    def is_owner(self) -> bool:
        """Whether that is this process."""
        return self._owned is not None

    def confirmed_by_owner(self) -> bool:
        """Whether the owner knows of this reference."""
        return self._made is None or self._made.done()

    # -- the value ----------------------------------------------------------------------------------------------------

    def local_value(self) -> Any:
        """The value, in the process that owns it."""
        if self._owned is None:
            names = f"rref_id={_shown(self._number)}, fork_id={_shown(self._fork or (-1, -1))}"
            raise RuntimeError(f"For UserRRef({names}), can't call localValue() on user {self._agent.me}. Call it on "
                f"owner {self._owner}")
        return self._value(self._owned.value)

    def to_here(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """A copy of the value; in the owner's process, the value."""
        if self._owned is not None:
            return self.local_value()
        if self._made is not None and self._made.done():
            self._made.value()  # it may have failed
        return self._agent.call(self._owner.id, "rref.fetch", self._number, None, timeout).wait()

    @staticmethod
    def _value(future: Future[Any]) -> Any:
        try:
            return future.wait()
        except RemoteException as error:
            raise error.local() from None

    def _get_future(self) -> Future[Any] | None:
        return self._made

    def _get_type(self, timeout: float = UNSET_RPC_TIMEOUT, blocking: bool = True) -> Any:
        if self._owned is not None:
            return type(self.local_value())
        future = self._agent.call(self._owner.id, "rref.type", self._number, None, timeout)
        return future.wait() if blocking else future

    # -- calls of its methods -----------------------------------------------------------------------------------------

    def rpc_sync(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """Something whose methods run on the value where it is: ``rref.rpc_sync().size()``."""
        return RRefProxy(self, "sync", timeout)

    def rpc_async(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """The same, and they give futures."""
        return RRefProxy(self, "async", timeout)

    def remote(self, timeout: float = UNSET_RPC_TIMEOUT) -> Any:
        """The same, and they give references to their results."""
        return RRefProxy(self, "remote", timeout)

    def backward(self, dist_autograd_ctx_id: int = -1, retain_graph: bool = False) -> None:
        """Run a backward from the value, a scalar; with the number of a context, one across processes."""
        if self._owned is None:
            call: Any = (_backward, (self, dist_autograd_ctx_id, retain_graph), {})
            self._agent.call(self._owner.id, "run", None, call).wait()
        else:
            _backward(self, dist_autograd_ctx_id, retain_graph)

    # -- its life -----------------------------------------------------------------------------------------------------

    def _drop(self) -> None:
        if self._owned is None and self._fork is not None and self._agent.running:
            self._agent.call_later(self._owner.id, "rref.drop", (self._number, self._fork))
        self._fork = None

    def __del__(self) -> None:
        if getattr(self, "_fork", None) is not None:
            self._drop()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError("Can not pickle rref in python pickler, rref can only be pickled when using RPC")

    def __repr__(self) -> str:
        if self._owned is not None:
            return f"OwnerRRef({_shown(self._number)})"
        return f"UserRRef(RRefId = {_shown(self._number)}, ForkId = {_shown(self._fork or (-1, -1))})"


def _new(agent: Agent, owner: WorkerInfo, number: Number, fork: Number | None, owned: _Owned | None) -> RRef:
    return RRef.__new__(RRef)._become(agent, owner, number, fork, owned)


def _backward(rref: RRef, context_id: int, retain_graph: bool) -> None:
    value = rref.local_value()
    if context_id == -1:
        if not isinstance(value, Tensor):
            raise RuntimeError("RRef should contain a tensor for .backward()")
        value.backward(retain_graph=retain_graph)
        return
    from importlib import import_module

    import_module("..autograd", __package__).backward(context_id, [value], retain_graph)


class RRefProxy:
    """The methods of the value of a reference."""

    def __init__(self, rref: RRef, how: str, timeout: float) -> None:
        self._rref, self._how, self._timeout = rref, how, timeout

    def __getattr__(self, name: str) -> Any:
        return partial(_call_method, self._rref, self._how, self._timeout, name)


def _call_method(rref: RRef, how: str, timeout: float, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of the value from here; a function of the module, so that it can be sent to another process."""
    agent = rref._agent
    call: Any = (invoke_method, (rref, name, args, kwargs), {})
    if how == "remote":
        return remote_value(agent, rref._owner, call, timeout, _run)
    future = agent.call(rref._owner.id, "run", None, call, timeout, how == "async", True)
    return future.wait() if how == "sync" else future


def invoke_method(rref: RRef, name: str, args: Any, kwargs: Any) -> Any:
    """The result of a method of the value; a future if it was marked with ``async_execution``."""
    value = rref.local_value()
    if not hasattr(value, name):
        raise NoSuchMethod(f"type object {type(value).__name__!r} has no attribute {name!r}")
    return call(getattr(value, name), args, kwargs)


def _run(function: Any, args: Any, kwargs: Any) -> Any:
    return function(*args, **kwargs)


# -- making one elsewhere ----------------------------------------------------------------------------------------------


def remote_value(agent: Agent, to: WorkerInfo, call: Any, timeout: float, run: Callable[..., Any]) -> RRef:
    """A reference to the result of a call, which runs in the process ``to``."""
    number = agent.unique()
    if to.id == agent.rank:
        owned = _Owned(number)
        context = agents.context.current()
        agent.pool.submit(_make_here, agent, context, owned, run, call)
        return _new(agent, to, number, None, owned)
    rref = _new(agent, to, number, agent.unique(), None)
    try:
        rref._made = agent.call(to.id, "rref.make", (number, rref._fork), call, timeout)
    except BaseException:
        rref._fork = None
        raise
    return rref


def _make_here(agent: Agent, context: Any, owned: _Owned, run: Callable[..., Any], call: Any) -> None:
    before = agents.context.enter(context)
    try:
        _make(agent, owned, run, call)
    finally:
        agents.context.enter(before)


def _make(agent: Agent, owned: _Owned, run: Callable[..., Any], call: Any) -> None:
    try:
        result = run(*call)
    except BaseException as error:
        owned.value.set_exception(RemoteException.of(error, agent.me))
        return
    if isinstance(result, Future):
        result.add_done_callback(lambda done: _finish(agent, owned, done))
    else:
        owned.value.set_result(result.future if isinstance(result, Plain) else result)


def _finish(agent: Agent, owned: _Owned, done: Future[Any]) -> None:
    try:
        owned.value.set_result(done.value())
    except BaseException as error:
        owned.value.set_exception(RemoteException.of(error, agent.me))


def _expect(agent: Agent, source: int, meta: tuple[Number, Number]) -> None:
    number, fork = meta
    owned = _Owned(number)
    owned.forks.add(fork)
    with _table(agent).lock:
        _table(agent).owned[number] = owned


@handles("rref.make", first=_expect)
def _make_for_another(agent: Agent, source: int, meta: tuple[Number, Number], call: Any) -> None:
    from importlib import import_module

    owned = _table(agent).owned.get(meta[0])
    if owned is not None:
        _make(agent, owned, import_module(".api", __package__).run, call)


@handles("rref.fetch", inline=True)
def _fetch(agent: Agent, source: int, number: Number, _: Any) -> Future[Any]:
    return _table(agent).owned[number].value


@handles("rref.type")
def _type(agent: Agent, source: int, number: Number, _: Any) -> Any:
    return type(RRef._value(_table(agent).owned[number].value))


# -- handing on --------------------------------------------------------------------------------------------------------


def _reduce(rref: RRef) -> Any:
    agent, fork = rref._agent, rref._agent.unique()
    table = _table(agent)
    with table.lock:
        if rref._owned is not None:
            rref._owned.forks.add(fork)
            table.owned[rref._number] = rref._owned
        else:
            table.children[fork] = rref
    return _arrived, (rref._owner.id, rref._number, fork, agent.rank)


def _arrived(owner: int, number: Number, fork: Number, parent: int) -> RRef:
    agent = agents.current()
    if owner != agent.rank:
        rref = _new(agent, agent.workers[owner], number, fork, None)
        if parent != owner:
            asked = agent.call(owner, "rref.fork", (number, fork))
            asked.add_done_callback(lambda _: agent.call_later(parent, "rref.known", fork))
        return rref
    owned = _table(agent).owned[number]
    if parent == agent.rank:
        _forget(agent, parent, (number, fork), None)
    else:
        agent.call_later(parent, "rref.known", fork)
    return _new(agent, agent.me, number, None, owned)


REDUCERS[RRef] = _reduce


@handles("rref.fork", inline=True)
def _fork(agent: Agent, source: int, meta: tuple[Number, Number], _: Any) -> None:
    _table(agent).owned[meta[0]].forks.add(meta[1])


@handles("rref.known", inline=True)
def _known(agent: Agent, source: int, fork: Number, _: Any) -> None:
    with _table(agent).lock:
        _table(agent).children.pop(fork, None)


@handles("rref.drop", inline=True)
def _forget(agent: Agent, source: int, meta: tuple[Number, Number], _: Any) -> None:
    number, fork = meta
    table = _table(agent)
    with table.lock:
        owned = table.owned.get(number)
        if owned is not None:
            owned.forks.discard(fork)
            if not owned.forks:
                del table.owned[number]


def settle_references(agent: Agent) -> None:
    """Give up the references to what others own: the program is about to leave."""
    for rref in list(_table(agent).users):
        rref._drop()
