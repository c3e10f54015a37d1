"""``jit`` and ``futures``: scripted and traced functions compute what they say; futures are completed once."""

from __future__ import annotations

import importlib
import pickle
import threading

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit")


@pytest.fixture
def futures(torch):
    return importlib.import_module(f"{torch.__name__}.futures")


@pytest.fixture
def jit(torch):
    return importlib.import_module(f"{torch.__name__}.jit")


def test_results(futures):
    future = futures.Future()
    assert not future.done()
    later = future.then(lambda done: done.value() + 1)
    seen = []
    future.add_done_callback(lambda done: seen.append(done.value()))
    future.set_result(3)
    future.add_done_callback(lambda done: seen.append(done.wait() * 2))
    assert future.done() and future.wait() == future.value() == 3 and later.wait() == 4 and seen == [3, 6]
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        future.set_result(4)


def test_exceptions(futures):
    future = futures.Future()
    future.set_exception(ValueError("bad"))
    assert future.done()
    for ask in (future.wait, future.value):
        with pytest.raises(ValueError, match="bad"):
            ask()
    with pytest.raises(RuntimeError, match="error when running the callback: ValueError: bad"):
        future.then(lambda done: done.value()).wait()
    with pytest.raises(AssertionError, match="not an Exception"):
        futures.Future().set_exception(3)
    with pytest.raises(RuntimeError):
        futures.Future().value()


def test_several(futures):
    one, two = futures.Future(), futures.Future()
    every = futures.collect_all([one, two])
    two.set_result(2)
    assert not every.done()
    one.set_result(1)
    assert [f.wait() for f in every.wait()] == futures.wait_all([one, two]) == [1, 2]


def test_the_first_exception_of_several(futures):
    one, two = futures.Future(), futures.Future()
    every = futures.collect_all((one, two))
    two.set_exception(ValueError("second"))
    assert not every.done()
    one.set_exception(KeyError("first"))
    for ask in (every.wait, lambda: futures.wait_all([one, two])):
        with pytest.raises(KeyError, match="first"):
            ask()
    assert futures.collect_all([]).wait() == futures.wait_all([]) == []


def test_callbacks_that_raise_leave_the_others_alone(futures, capfd):
    future, seen = futures.Future(), []
    future.add_done_callback(lambda done: seen.append(1))
    future.add_done_callback(lambda done: 1 / 0)
    after = future.then(lambda done: seen.append(2))
    future.add_done_callback(lambda done: seen.append(3))
    future.set_result(None)
    assert seen == [1, 2, 3] and after.wait() is None and "ZeroDivisionError" in capfd.readouterr().err
    failed = future.then(lambda done: 1 / 0).then(lambda done: done.wait())
    with pytest.raises(RuntimeError, match="when running the callback: RuntimeError: Got the following error"):
        failed.wait()


def test_what_futures_refuse(futures):
    future = futures.Future()
    for call in (lambda: future.then(None), lambda: future.add_done_callback(3), lambda: futures.collect_all([1])):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(RuntimeError, match="Can not pickle torch.futures.Future"):
        pickle.dumps(future)
    with pytest.raises(ValueError, match="Expected devices to have indices, got cpu"):
        futures.Future(devices=["cpu"])
    with pytest.raises(RuntimeError):
        futures.Future(devices=["cuda:0"])


def test_many_threads_complete_and_wait(futures):
    every = [futures.Future() for _ in range(50)]
    sums = [future.then(lambda done: done.value() + 1) for future in every]
    threads = [threading.Thread(target=future.set_result, args=(i,)) for i, future in enumerate(every)]
    for thread in threads:
        thread.start()
    assert futures.wait_all(sums) == [i + 1 for i in range(50)]
    for thread in threads:
        thread.join()


def test_other_threads(futures):
    future = futures.Future()
    thread = threading.Timer(0.02, lambda: future.set_result("there"))
    thread.start()
    assert future.wait() == "there"
    thread.join()


def test_script_and_trace(torch, jit):
    def double(x):
        return x * 2

    for compiled in (jit.trace(double, torch.ones(2)), jit.trace(double, (torch.ones(2),)),
            jit.script(torch.nn.Linear(2, 2))):
        x = torch.ones(2, requires_grad=True)
        compiled(x).sum().backward()
        assert x.grad is not None
    assert not jit.is_scripting() and not jit.is_tracing() and jit.annotate(int, 3) == 3
    assert jit.ignore(double) is double and jit.unused(double) is double and jit.export(double) is double
    with pytest.raises(TypeError):
        jit.script(3)
    with pytest.raises(RuntimeError):
        jit.trace(3, torch.ones(1))


def test_fork_and_wait(torch, jit):
    assert jit._wait(jit._fork(lambda x: x + 1, 2)) == 3

    def fails():
        raise ValueError("in the fork")

    with pytest.raises(ValueError, match="in the fork"):
        jit.wait(jit.fork(fails))


def test_two_backwards_through_one_graph(torch, jit):
    def gradient(middle, x, retain):
        return torch.autograd.grad([(middle + middle**2).sum()], [x], retain_graph=retain)

    x = torch.randn(5, 5, requires_grad=True)
    y = (x + 3) * (x + 4) * 0.5
    first, second = jit._fork(gradient, y, x, True), gradient(y, x, True)
    assert torch.equal(jit._wait(first)[0], second[0])
    y = (x + 3) * (x + 4) * 0.5
    with pytest.raises(RuntimeError, match="Specify retain_graph=True"):
        first, second = jit._fork(gradient, y, x, False), gradient(y, x, False)


def test_profiles_follow_a_fork(torch, jit):
    profiler = importlib.import_module(f"{torch.__name__}.autograd.profiler")

    def inner(x):
        with profiler.record_function("in_inner"):
            return x * 2

    x = torch.rand(3, 4)
    traced = jit.trace(inner, x)

    def outer(x):
        with profiler.record_function("in_outer"):
            y = jit._wait(jit._fork(traced, x))
            with profiler.record_function("after_wait"):
                return y * 2

    with profiler.profile() as prof:
        outer(x)
    assert {"in_outer", "after_wait", "aten::mul"} <= {e.name for e in prof.function_events}


def test_isinstance(jit):
    assert (jit.isinstance([1, 2], list[int]) and not jit.isinstance([1.5], list[int])
        and jit.isinstance({"a": 1}, dict[str, int]))


def test_labels_that_end_with_a_future(torch, futures):
    import wengert
    from wengert.autograd import profiler
    from wengert.futures import Future

    future = Future()
    with profiler.profile() as prof:
        with profiler.record_function("waiting") as label:
            later = label._call_end_callbacks_on_future(future)
        wengert.ones(2)
        future.set_result(5)
    assert later.wait() == 5
    waiting = next(e for e in prof.function_events if e.name == "waiting")
    assert "aten::ones" in [e.name for e in waiting.cpu_children]
    with pytest.raises(RuntimeError, match="only be called once"):
        label._call_end_callbacks_on_future(future)


def test_names_of_compiled_programs(torch, jit):
    """Libraries ask whether something is compiled; a module is not."""
    module = torch.nn.Linear(2, 2)
    assert not isinstance(module, jit.ScriptModule) and not isinstance(module, torch.ScriptModule)
    assert not isinstance(module.forward, torch.ScriptFunction)
    assert issubclass(jit.TracerWarning, Warning)
    assert jit.script_if_tracing(len)([1, 2]) == 2
    x = torch.ones(1, 2)
    assert torch.equal(jit.trace_module(module, {"forward": x})(x), module(x))
    save = jit.save
    with pytest.raises((TypeError, AttributeError, RuntimeError)):
        save(module, "nowhere.pt")
    assert torch._C._get_tracing_state() is None
