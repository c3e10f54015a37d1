"""Remote calls between all ranks: results, errors, timeouts, references. Asserts what PyTorch does."""

import os
import pickle
import threading
import time
from functools import partial

import torch
from torch.distributed import rpc
from torch.futures import Future


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a)


class Store:
    def __init__(self, start):
        self.value = torch.full((3,), float(start))
        self.lock, self.future, self.count = threading.Lock(), Future(), 0

    def add(self, other):
        self.value += other
        return self.value.clone()

    def total(self):
        return self.value.sum().item()

    @rpc.functions.async_execution
    def scaled(self, to, factor):
        return rpc.rpc_async(to, torch.mul, args=(self.value, factor))

    @staticmethod
    @rpc.functions.async_execution
    def add_together(store_rref, other, wanted):
        """The sum of all workers' tensors, when all have come."""
        self = store_rref.local_value()
        with self.lock:
            self.value += other
            self.count += 1
            future = self.future
            if self.count == wanted:
                self.count, self.future = 0, Future()
                future.set_result(self.value.clone())
        return future


def info(t):
    return type(t).__name__, t.requires_grad, t.is_leaf


def kinds(a, b, c):
    return a.dtype == torch.bfloat16, b.shape == (0, 3), c.tolist(), {"x": [a, (b, c)]}


def bad():
    raise ValueError("bad value")


def missing():
    return {}["key"]


def odd():
    raise Odd(1, 2)


def slow(seconds):
    time.sleep(seconds)
    return seconds


def nested(to, depth):
    return [to] if depth == 0 else [to, *rpc.rpc_sync(to, nested, (rpc.get_worker_info().name, depth - 1))]


@rpc.functions.async_execution
def through(to, x):
    return rpc.rpc_async(to, torch.add, args=(x, 1)).then(lambda done: done.wait() * 2)


@rpc.functions.async_execution
def no_future():
    return 3


def read(rref):
    return rref.to_here() * 2


def hand_on(rref, to):
    return rpc.rpc_sync(to, read, (rref,))


def give_back(rref):
    return rref


def refused(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
        return error
    raise AssertionError(f"{text!r} was not raised")


def calls(other):
    me = rpc.get_worker_info()
    assert rpc.get_worker_info(other).name == other and str(me) == f"WorkerInfo(id={me.id}, name={me.name})"
    t = torch.arange(3.0)
    assert rpc.rpc_sync(other, torch.add, args=(t, 1)).tolist() == [1, 2, 3]
    id = rpc.get_worker_info(other).id
    assert rpc.rpc_sync(id, torch.add, args=(t,), kwargs={"other": 2, "alpha": 2}).sum() == 15
    assert rpc.rpc_async(rpc.get_worker_info(other), torch.mul, args=(t, 2)).wait().tolist() == [0, 2, 4]
    assert rpc.rpc_sync(me.name, torch.neg, args=(t,)).tolist() == [0, -1, -2]
    large = torch.arange(200_000.0)
    assert torch.equal(rpc.rpc_sync(other, torch.neg, args=(large,)), -large)
    assert torch.equal(rpc.rpc_async(other, torch.neg, args=(large[::2],)).wait(), -large[::2])
    assert rpc.rpc_sync(other, info, args=(torch.ones(2, requires_grad=True) * 2,)) == ("Tensor", True, True)
    assert rpc.rpc_sync(other, info, args=(torch.nn.Parameter(t),)) == ("Parameter", True, True)
    assert not t.requires_grad and not rpc.rpc_sync(other, torch.neg, args=(t,)).requires_grad
    found = rpc.rpc_sync(other, kinds, args=(torch.ones(2, dtype=torch.bfloat16), torch.ones(0, 3), t.t()))
    assert found[:3] == (True, True, [0, 1, 2]) and found[3]["x"][0].dtype == torch.bfloat16
    assert rpc.rpc_sync(other, nested, args=(me.name, 4)) == [me.name, other] * 2 + [me.name]
    assert rpc.rpc_sync(other, through, args=(me.name, t)).tolist() == [2, 4, 6]
    futures = [rpc.rpc_async(other, torch.add, args=(t, i)) for i in range(40)]
    assert [f.wait()[0].item() for f in futures] == list(range(40))
    assert rpc.rpc_async(other, torch.add, args=(t, 1)).then(lambda done: done.wait().sum()).wait() == 6


def errors(other):
    id = rpc.get_worker_info(other).id
    error = refused(ValueError, f"On WorkerInfo(id={id}, name={other}):\nValueError('bad value')\nTraceback",
        lambda: rpc.rpc_sync(other, bad))
    assert "in bad" in str(error)
    refused(ValueError, "bad value", lambda: rpc.rpc_async(other, bad).wait())
    error = refused(RuntimeError, "KeyError: 'On WorkerInfo", lambda: rpc.rpc_sync(other, missing))
    assert type(error) is RuntimeError, error  # only ValueError and TypeError stay what they are
    refused(KeyError, "On WorkerInfo", lambda: rpc.remote(other, missing).to_here())
    refused(AttributeError, "has no attribute 'nothing'", lambda: rpc.remote(other, Store, (1,)).rpc_sync().nothing())
    refused(RuntimeError, "Failed to create original exception type", lambda: rpc.rpc_sync(other, odd))
    refused(RuntimeError, "RPC ran for more than set timeout (200 ms)",
        lambda: rpc.rpc_sync(other, slow, (1,), timeout=0.2))
    assert rpc.rpc_sync(other, slow, (0.3,), timeout=0) == 0.3
    refused(RuntimeError, "could not find destination", lambda: rpc.rpc_sync("nobody", bad))
    refused(RuntimeError, "Functions decorated with @rpc.async_function must return",
        lambda: rpc.rpc_sync(other, no_future))
    refused(ValueError, "bad value", lambda: rpc.remote(other, bad).to_here())
    refused(Exception, "pickle", lambda: rpc.rpc_sync(other, lambda: 1))


def references(other, third):
    me = rpc.get_worker_info()
    rref = rpc.remote(other, torch.add, args=(torch.ones(2), 1))
    assert (rref.is_owner(), rref.owner_name(), rref.to_here().tolist()) == (False, other, [2, 2])
    assert "UserRRef(RRefId = GloballyUniqueId(created_on=" in repr(rref)
    refused(RuntimeError, "can't call localValue() on user", rref.local_value)
    refused(RuntimeError, "rref can only be pickled when using RPC", partial(pickle.dumps, rref))
    mine = rpc.RRef(torch.ones(2))
    assert mine.is_owner() and mine.local_value() is mine.to_here() and "OwnerRRef" in repr(mine)
    assert rpc.rpc_sync(other, read, (mine,)).tolist() == [2, 2]
    assert rpc.rpc_sync(third, read, (rref,)).tolist() == [4, 4]
    assert rpc.rpc_sync(third, hand_on, (rref, other)).tolist() == [4, 4]
    assert rpc.rpc_sync(other, hand_on, (rref, third)).tolist() == [4, 4]
    back = rpc.rpc_sync(other, give_back, (mine,))
    assert back.is_owner() and back.local_value() is mine.local_value()
    again = rpc.rpc_sync(third, give_back, (rref,))
    del rref
    assert again.to_here().tolist() == [2, 2] and again.owner_name() == other
    store = rpc.remote(other, Store, args=(1,))
    assert store.rpc_sync().add(torch.ones(3)).tolist() == [2, 2, 2]
    ask = (store.rpc_sync().scaled, lambda *a: store.rpc_async().scaled(*a).wait(),
        lambda *a: store.remote().scaled(*a).to_here())
    assert [f(third, 2).tolist() for f in ask] == [[4, 4, 4]] * 3
    assert rpc.rpc_sync(third, store.rpc_sync().total) == 6  # a call is sent as a function
    assert store.rpc_async().total().wait() == 6 and store.remote().total().to_here() == 6
    sums = [rpc.rpc_async(other, Store.add_together, args=(store, torch.ones(3) * i, 3)) for i in range(3)]
    assert [s.wait().tolist() for s in sums] == [[5, 5, 5]] * 3
    assert rpc.remote(me.name, torch.add, args=(torch.ones(1), 4)).to_here().tolist() == [5]
    refused(ValueError, "bad value", lambda: rpc.remote(me.name, bad).to_here())
    for _ in range(20):
        rpc.remote(other, torch.ones, args=(2,))


def together(rank, size):
    names = [f"worker{r}" for r in range(size)]
    rpc.api._barrier({})  # of no names: all
    assert rpc.api._all_gather(torch.tensor(rank)) == {name: r for r, name in enumerate(names)}
    for turn in range(3):
        assert rpc.api._all_gather((turn, rank), set(names)) == {name: (turn, r) for r, name in enumerate(names)}
    if rank < 2:
        assert rpc.api._all_gather(rank, names[:2]) == {"worker0": 0, "worker1": 1}
    refused(AssertionError, "is not expected by leader", lambda: rpc.api._all_gather(1, {"somebody"}))
    rpc.api._barrier(names)
    rpc.api._wait_all_workers()


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size,
        rpc_backend_options=rpc.TensorPipeRpcBackendOptions(num_worker_threads=8))
    other, third = f"worker{(rank + 1) % size}", f"worker{(rank + 2) % size}"
    calls(other)
    errors(other)
    references(other, third)
    together(rank, size)
    rpc.shutdown()
    refused(RuntimeError, "RPC has not been initialized", lambda: rpc.rpc_sync(other, bad))
    print(f"rank {rank} of {size} is done", flush=True)


if __name__ == "__main__":
    main()
