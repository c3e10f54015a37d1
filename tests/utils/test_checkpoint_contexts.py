"""Checkpointing: the contexts around both runs, what can be set, odd arguments, and the texts of refusals."""

from __future__ import annotations

import contextlib
import importlib
import warnings

import pytest


@pytest.fixture
def module(torch):
    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


class Noted:
    """A context that writes down when it is entered and left."""

    def __init__(self, name, notes, suppress=False):
        self.name, self.notes, self.suppress = name, notes, suppress

    def __enter__(self):
        self.notes.append(f"{self.name} in")

    def __exit__(self, kind, *rest):
        self.notes.append(f"{self.name} out" + (f" by {kind.__name__}" if kind else ""))
        return self.suppress


def pair(notes, **options):
    def make():
        notes.append("made")
        return Noted("first", notes, **options), Noted("second", notes)

    return make


def leaf(torch, *shape):
    return torch.ones(*shape or (2,), requires_grad=True)


@pytest.mark.parametrize("stop", [True, False])
def test_each_run_has_its_context(torch, module, stop):
    notes = []
    f = lambda a: notes.append("run") or a.sin().exp()  # noqa: E731
    out = module.checkpoint(f, leaf(torch), use_reentrant=False, context_fn=pair(notes), early_stop=stop)
    assert notes == ["made", "first in", "run", "first out"]
    again = ["second in", "run", "second out by _StopRecomputationError" if stop else "second out"]
    out.sum().backward(retain_graph=True)
    assert notes[4:] == again
    out.sum().backward()
    assert notes[7:] == again


def test_contexts_are_not_entered_where_nothing_is_recorded(torch, module):
    notes = []
    with torch.no_grad():
        module.checkpoint(lambda a: notes.append("run") or a, leaf(torch), use_reentrant=False, context_fn=pair(notes))
    assert notes == ["made", "run"]


def test_a_context_may_not_swallow_errors(torch, module):
    def fail(a):
        raise ValueError("hm")

    with pytest.raises(RuntimeError, match="the forward context provided by context_fn suppressed an exception"):
        module.checkpoint(fail, leaf(torch), use_reentrant=False, context_fn=pair([], suppress=True))
    notes = []
    with pytest.raises(ValueError, match="hm"):
        module.checkpoint(fail, leaf(torch), use_reentrant=False, context_fn=pair(notes))
    assert notes == ["made", "first in", "first out by ValueError"]


def test_an_error_of_the_second_run_leaves_the_graph_usable(torch, module):
    runs, a = [], leaf(torch)

    def f(a):
        runs.append(1)
        if len(runs) in (2, 3):
            raise ValueError("again")
        return a.sin().exp()

    out = module.checkpoint(f, a, use_reentrant=False).sum()
    for _ in range(2):
        with pytest.raises(ValueError, match="again"):
            out.backward()
    assert a.grad is None
    out.backward()
    torch.testing.assert_close(a.grad, a.sin().exp() * a.cos())


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("wrong", [None, "none of these"])
def test_refusals_come_in_order(torch, module, count, wrong):
    with pytest.raises(ValueError, match=r"determinism_check should be one of \['default', 'none'\], but got"):
        module.checkpoint(torch.sin, leaf(torch), use_reentrant=False, determinism_check=wrong)
    with pytest.raises(ValueError, match="debug=True is incompatible with non-default context_fn"):
        module.checkpoint(torch.sin, leaf(torch), use_reentrant=False, determinism_check=wrong, debug=True,
            context_fn=pair([]))
    with pytest.raises((TypeError, ValueError), match="cannot unpack|too many values|not enough values"):
        module.checkpoint(torch.sin, leaf(torch), use_reentrant=False,
            context_fn=lambda: None if count == 1 else (1, 2, 3))
    assert module.checkpoint(torch.sin, leaf(torch), use_reentrant=True, determinism_check=wrong).requires_grad


def test_what_is_set_for_a_while_is_a_context_and_a_decorator(torch, module):
    runs = []

    def f(a):
        runs.append("begun")
        out = a.sin().exp()
        runs.append("ended")
        return out

    @module.set_checkpoint_early_stop(False)
    def to_the_end():
        return module.checkpoint(f, leaf(torch), use_reentrant=False)

    for _ in range(2):
        to_the_end().sum().backward()
        assert runs == ["begun", "ended"] * 2
        runs.clear()
    with module.set_checkpoint_early_stop(False), module.set_checkpoint_early_stop(True):
        out = module.checkpoint(f, leaf(torch), use_reentrant=False, early_stop=False)
    out.sum().backward()
    assert runs == ["begun", "ended", "begun"]

    once = module.set_checkpoint_debug_enabled(True)
    with once, pytest.raises(ValueError, match="debug=True is incompatible"):
        module.checkpoint(f, leaf(torch), use_reentrant=False, context_fn=pair([]))
    with pytest.raises(AttributeError), once:
        pass
    with module.set_checkpoint_debug_enabled(False):
        module.checkpoint(f, leaf(torch), use_reentrant=False, debug=True, context_fn=pair([]))


def test_devices_that_are_taken_for_granted(torch, module):
    default = module.DefaultDeviceType
    before = default._default_device_type
    meta = torch.ones(2, device="meta")
    try:
        default._default_device_type = None
        if not torch.cuda.is_available():
            assert default.get_device_type() == "cpu" == module._infer_device_type(torch.ones(2), 3)
        default.set_device_type("meta")
        assert default.get_device_type() == "meta" == module._infer_device_type()
        default.set_device_type()
        assert default.get_device_type() == "cuda"
        assert module._infer_device_type(torch.ones(2), [{"a": (meta,)}]) == "meta"
        assert module.get_device_states(torch.ones(2), 3, [meta]) == ([], [])
        assert module.set_device_states([0], ["anything"], device_type="meta") is None
        assert module.set_device_states([], []) is None
        with pytest.raises(AttributeError, match="has no attribute 'device'"):
            module.set_device_states([0], [torch.get_rng_state()], device_type="cpu")
    finally:
        default._default_device_type = before
    assert module._get_device_module("cpu") is torch.cpu
    assert module._get_device_module("meta") == torch.device("meta")


def test_autocast_in_arguments(torch, module):
    with torch.autocast("cpu", torch.float16, cache_enabled=False):
        now = {"enabled": True, "dtype": torch.float16, "cache_enabled": False}
        assert module._get_autocast_kwargs("cpu") == (now, now)
    assert module._get_autocast_kwargs("meta")[0] is None
    assert module._get_autocast_kwargs()[1]["enabled"] is False


def test_new_tensors_go_where_they_went(torch, module):
    devices = []

    def f(a):
        devices.append(str(torch.empty(1).device))
        return a.sin().exp()

    for reentrant in (False, True):
        a = leaf(torch)
        with torch.device("meta"):
            out = module.checkpoint(f, a, use_reentrant=reentrant)
        out.backward(torch.ones(2, device="cpu"))
        assert str(torch.empty(1).device) == "cpu"
    assert devices == ["meta", "meta", "meta", "cpu"]


def test_inputs_that_need_nothing_or_are_no_tuple(torch, module):
    for inputs in ([torch.ones(2), 3], [], iter(())):
        with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True. Gradients will be None"):
            module.check_backward_validity(inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module.check_backward_validity(iter([3, leaf(torch)]))
    a = leaf(torch)
    b, c, three = module.detach_variable((a, torch.ones(1), 3))
    assert b.requires_grad and b.is_leaf and b is not a and not c.requires_grad and three == 3
    with pytest.raises(RuntimeError, match="Only tuple of tensors is supported. Got Unsupported input type: list"):
        module.detach_variable([a])


def test_sequences(torch, module):
    one = leaf(torch)
    layers = torch.nn.ModuleList([torch.nn.Sigmoid(), torch.nn.Tanh(), torch.nn.ReLU()])
    for functions in (layers, tuple(layers), torch.nn.Sequential(*layers)):
        torch.testing.assert_close(module.checkpoint_sequential(functions, 2, one, use_reentrant=False),
            one.sigmoid().tanh().relu())
    for functions in (iter([torch.sin]), torch.nn.Linear(2, 2)):
        with pytest.raises(TypeError, match=r"has no len\(\)"):
            module.checkpoint_sequential(functions, 2, one, use_reentrant=False)
    with pytest.raises(ZeroDivisionError):
        module.checkpoint_sequential([torch.sin], 0, one, use_reentrant=False)
    with pytest.raises(ValueError, match="must not be zero"):
        module.checkpoint_sequential([torch.sin], 2, one, use_reentrant=False)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo,bar"):
        module.checkpoint_sequential([torch.sin], 1, one, use_reentrant=False, foo=1, bar=2)


def mismatched(torch, module, second, **options):
    runs, a = [], torch.ones(2, 4, requires_grad=True)

    def f(a):
        runs.append(1)
        return (a if len(runs) == 1 else second(torch, a)).sin().sigmoid()

    module.checkpoint(f, a, use_reentrant=False, **options).sum().backward()
    return a


@pytest.mark.parametrize(
    ("second", "text"),
    [
        (lambda torch, a: a[:, :3],
            r"The size of tensor a \(4\) must match the size of tensor b \(3\) at non-singleton dimension 1"),
        (lambda torch, a: torch.cat([a, a]),
            r"The size of tensor a \(2\) must match the size of tensor b \(4\) at non-singleton dimension 0"),
    ],
)
def test_unchecked_runs_of_other_shapes_fail_where_they_are_used(torch, module, second, text):
    with pytest.raises(RuntimeError, match=text):
        mismatched(torch, module, second, determinism_check="none")
    with pytest.raises(module.CheckpointError, match="have different metadata"):
        mismatched(torch, module, second)


def test_unchecked_runs_may_fit_by_broadcasting(torch, module):
    a = mismatched(torch, module, lambda torch, a: a[:1], determinism_check="none")
    s = a.sin().sigmoid()
    torch.testing.assert_close(a.grad, s * (1 - s) * a.cos())


def policy_of(policy, calls):
    def ask(context, op, *args, **kwargs):
        calls.append((str(op), context.is_recompute))
        return policy

    return ask


@pytest.mark.parametrize("name",
    ["MUST_SAVE", "PREFER_SAVE", "MUST_RECOMPUTE", "PREFER_RECOMPUTE", "MUST_CPU_OFFLOAD", "PREFER_CPU_OFFLOAD"])
def test_what_each_policy_keeps(torch, module, name):
    calls, a = [], torch.full((2, 2), 0.5, requires_grad=True)
    policy = getattr(module.CheckpointPolicy, name)
    make = lambda: module.create_selective_checkpoint_contexts(policy_of(policy, calls))  # noqa: E731
    out = module.checkpoint(lambda a: (a @ a).sin().exp(), a, use_reentrant=False, context_fn=make).sum()
    out.backward(retain_graph=True)
    torch.testing.assert_close(a.grad, torch.autograd.grad((a @ a).sin().exp().sum(), a)[0])
    assert calls == [("aten.mm.default", False), ("aten.sin.default", False), ("aten.exp.default", False)]
    if name.endswith("SAVE"):
        with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
            out.backward()
    else:
        out.backward()


def test_a_second_run_with_other_operators(torch, module):
    def run(first, second):
        runs = []

        def f(a):
            runs.append(1)
            return first(a) if len(runs) == 1 else second(a)

        make = lambda: module.create_selective_checkpoint_contexts(policy_of(True, []))  # noqa: E731
        module.checkpoint(f, leaf(torch), use_reentrant=False, context_fn=make, early_stop=False).sum().backward()

    with pytest.raises(RuntimeError,
            match=r"aten.cos.default encountered during backward but not found in storage. This can happen if"):
        run(lambda a: a.sin().exp(), lambda a: a.cos().exp())
    with pytest.raises(RuntimeError,
            match=r"aten.sin.default invocation index 1 encountered during backward but not found in storage"):
        run(lambda a: a.sin().exp(), lambda a: a.sin().sin().exp())


def test_the_modes_of_policies(torch, module):
    first, second = module.create_selective_checkpoint_contexts([torch.ops.aten.mm.default])
    assert first.storage is second.storage and second.allow_cache_entry_mutation is False
    with first:
        product = torch.eye(2) @ torch.eye(2)
        torch.ones(2).sin()
    stored = first.storage[torch.ops.aten.mm.default]
    assert list(stored) == [0] and torch.equal(stored[0].get_val(False), product)
    product.add_(1)
    with pytest.raises(RuntimeError, match="has been mutated"):
        stored[0].get_val(False)
    first = module._CachingTorchDispatchMode(lambda *args, **kwargs: True,
        module.create_selective_checkpoint_contexts([])[0].storage)
    second = module._CachedTorchDispatchMode(None, first.storage)
    with first:
        made = torch.ones(2).sin()
    with second:
        again = torch.ones(2).sin()
    assert torch.equal(again, made)
    assert type(first).ignore_compile_internals()
    assert torch.ops.prim.device.default in module.SAC_IGNORED_OPS
    assert module._policy_from_bool(True) is module.CheckpointPolicy.MUST_SAVE
    with pytest.raises(TypeError, match="policy_fn_or_list must be either a function or a list of ops."):
        module.create_selective_checkpoint_contexts((torch.ops.aten.mm.default,))


def test_states_of_cards(torch, module):
    device = torch.cuda.device
    assert (
        [device(d).idx for d in (None, "cuda", "cuda:1", torch.device("cuda", 2), 3, -1)] == [None, None, 1, 2, 3, -1])
    with pytest.raises(ValueError, match="Expected a cuda device, but got: meta"):
        device("meta")
    with torch.cuda.device_of(torch.ones(1)) as nothing, device(-1):
        assert nothing is None
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="PyTorch was compiled without CUDA support"):
            module.set_device_states([0], [torch.get_rng_state()], device_type="cuda")


def test_a_context_of_a_checkpoint_swallows_nothing(torch):
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint

    def fails(x):
        raise ValueError("of the function")

    with pytest.raises(RuntimeError,
            match="the forward context provided by context_fn suppressed an exception raised during the checkpointed"):
        checkpoint(fails, torch.ones(2, requires_grad=True), use_reentrant=False,
                   context_fn=lambda: (contextlib.suppress(ValueError), contextlib.nullcontext()))
