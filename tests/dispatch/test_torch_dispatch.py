"""What runs below the tape: tensors with a ``__torch_dispatch__``, and modes that see every operator."""

from __future__ import annotations

import copy
import importlib

import pytest

from tests.subclasses import load


def part(torch, name):
    return importlib.import_module(f"{torch.__name__}.{name}")


def wrapping(torch):
    """A class of tensors around others, and the list of the operators that its tensors have met."""
    tree_map = part(torch, "utils._pytree").tree_map
    log = []

    class Wrapped(torch.Tensor):
        @staticmethod
        def __new__(cls, elem):
            made = torch.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype,
                layout=elem.layout, device=elem.device, requires_grad=elem.requires_grad,
            )
            made.elem = elem.detach() if elem.requires_grad else elem
            return made

        def __repr__(self):
            return f"Wrapped({self.elem})"

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            assert types == (cls,)
            answer = func(*tree_map(unwrap, args), **tree_map(unwrap, kwargs or {}))
            return tree_map(lambda e: cls(e) if isinstance(e, torch.Tensor) else e, answer)

    def unwrap(e):
        return e.elem if isinstance(e, Wrapped) else e

    return Wrapped, log


def logging_mode(torch):
    class Names(part(torch, "utils._python_dispatch").TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names, self.calls = [], []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func).removeprefix("aten."))
            self.calls.append((args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    return Names()


def test_operators_reach_the_class(torch):
    cls, log = wrapping(torch)
    x = cls(torch.tensor([1.0, 2.0, 3.0]))
    assert (x.shape == (3,) and x.stride() == (1,) and x.dtype == torch.float32 and not x.requires_grad
        and x.numel() == 3)
    y = x + 1
    assert type(y) is cls and y.elem.tolist() == [2, 3, 4] and type(torch.ones(3) * x) is cls
    assert (x.max(0).indices.elem.item() == 2 and torch.cat([x, x]).elem.shape == (6,)
        and [p.elem.item() for p in x.unbind()] == [1, 2, 3])
    assert log == ["aten.add.Tensor", "aten.mul.Tensor", "aten.max.dim", "aten.cat.default", "aten.unbind.int"]
    log.clear()
    assert x.sum().item() == 6 and float(x.sum()) == 6 and bool(x.sum())
    assert log == ["aten.sum.default", "aten._local_scalar_dense.default"] * 3
    log.clear()
    torch.ones_like(x), x.new_zeros(2), x.detach(), x.clone(), copy.deepcopy(x)
    assert (log == ["aten.ones_like.default", "aten.new_zeros.default", "aten.detach.default", "aten.clone.default",
        "aten.clone.default"])


def test_views_and_writes(torch):
    cls, log = wrapping(torch)
    x = cls(torch.tensor([1.0, 2.0, 3.0]))
    v = x.view(3, 1)
    assert (v._is_view() and v._base is x and x.add_(1) is x and x.elem.tolist() == [2, 3, 4]
        and x._version == v._version == 1)
    assert log == ["aten.view.default", "aten.add_.Tensor"]
    h = cls(torch.tensor([1.0, 2.0], requires_grad=True)) * 2
    h[0].mul_(3)
    assert type(h) is cls and h.elem.tolist() == [6, 4] and h.grad_fn.name() == "torch::autograd::CopySlices"


def test_gradients(torch):
    cls, _ = wrapping(torch)
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = cls(a)
    y = (w * w).sum()
    assert w.is_leaf and type(y) is cls and y.grad_fn.name() == "SumBackward0"
    y.backward()
    assert type(w.grad) is cls and w.grad.elem.tolist() == [2, 4, 6] and a.grad is None
    w = cls(torch.tensor([0.5], requires_grad=True))
    (g,) = torch.autograd.grad((w.exp() * w).sigmoid().sum(), w, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), w)
    x = torch.tensor([0.5], requires_grad=True)
    (h,) = torch.autograd.grad((x.exp() * x).sigmoid().sum(), x, create_graph=True)
    assert torch.allclose(g.elem, h) and torch.allclose(second.elem, torch.autograd.grad(h.sum(), x)[0])


def test_gradients_of_a_model(torch):
    cls, _ = wrapping(torch)
    f = torch.nn.functional
    rows, bias = [[1.0, 2.0], [3.0, 4.0]], torch.ones(2, requires_grad=True)

    def loss(w, b):
        return f.nll_loss(torch.relu(f.linear(w, w, b)).log_softmax(1), torch.tensor([0, 1]))

    w = cls(torch.tensor(rows, requires_grad=True))
    loss(w, bias).backward()
    x, b = torch.tensor(rows, requires_grad=True), torch.ones(2, requires_grad=True)
    loss(x, b).backward()
    assert type(bias.grad) is cls and torch.allclose(bias.grad.elem, b.grad) and torch.allclose(w.grad.elem, x.grad)
    plain = torch.tensor([1.0], requires_grad=True)
    (plain * 3).sum().backward()  # and others are as before
    assert type(plain.grad) is torch.Tensor and plain.grad.tolist() == [3]


def test_hooks_functions_and_saved_tensors(torch):
    cls, _ = wrapping(torch)
    w = cls(torch.tensor([1.0, 2.0], requires_grad=True))
    seen = []
    w.register_hook(lambda g: seen.append(type(g)))
    h = w * 2
    h.retain_grad()
    h.sum().backward()
    assert seen == [cls] and type(h.grad) is cls and h.grad.elem.tolist() == [1, 1] and w.grad.elem.tolist() == [2, 2]

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * 2

        @staticmethod
        def backward(ctx, g):
            assert type(ctx.saved_tensors[0]) is cls
            return g * 2

    w.grad = None
    y = Double.apply(w)
    y.sum().backward()
    assert type(y) is cls and w.grad.elem.tolist() == [2, 2]
    w.grad = None
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (type(t), t), lambda p: p[1]):
        y = (w * w).exp()
    y.sum().backward()
    assert torch.allclose(w.grad.elem, 2 * w.elem * (w.elem**2).exp())


def test_overwritten(torch):
    cls, _ = wrapping(torch)
    h = cls(torch.tensor([1.0], requires_grad=True)) * 1
    y = h * h
    h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_parameters(torch):
    cls, _ = wrapping(torch)
    p = torch.nn.Parameter(cls(torch.ones(2)))
    assert type(p) is cls and isinstance(p, torch.nn.Parameter) and p.requires_grad
    (p * p).sum().backward()
    torch.optim.SGD([p], 0.25).step()
    assert p.elem.tolist() == [0.5, 0.5]


def test_declined_and_misused(torch):
    class Declining(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    x = torch.Tensor._make_subclass(Declining, torch.ones(2))
    with pytest.raises(TypeError,
            match=r"Multiple dispatch failed for 'torch._ops.aten.exp.default'; all __torch_dispatch__"):
        x.exp()
    with pytest.raises(TypeError, match="must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(torch.Tensor, (2,))


def test_through_the_base_class_and_switched_off(torch):
    log = []

    class Seen(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    x = torch.Tensor._make_subclass(Seen, torch.ones(2))
    assert type(x + 1) is torch.Tensor and (x + 1).tolist() == [2, 2] and log == ["aten.add.Tensor"] * 2
    with part(torch, "_C")._DisableTorchDispatch():
        assert (x * 2).tolist() == [2, 2]
    assert log == ["aten.add.Tensor"] * 2


def test_modes_before_classes(torch):
    cls, log = wrapping(torch)
    x = cls(torch.ones(2))
    with logging_mode(torch) as mode:
        x * 2
    assert mode.names[0] == "mul.Tensor" and log == ["aten.mul.Tensor"]


@pytest.mark.parametrize(
    ("call", "names"),
    [
        ("torch.ones(2)", ["ones.default"]), ("torch.zeros((2,))", ["zeros.default"]),
        ("torch.empty(2)", ["empty.memory_format"]), ("torch.full((2,), 1.0)", ["full.default"]),
        ("torch.rand(2)", ["rand.default"]), ("torch.randn(2, 3)", ["randn.default"]),
        ("torch.randint(0, 3, (2,))", ["randint.low"]), ("torch.randint(3, (2,))", ["randint.default"]),
        ("torch.arange(3)", ["arange.default"]), ("torch.arange(0, 3)", ["arange.start"]),
        ("torch.arange(0, 3, 1)", ["arange.start_step"]), ("torch.linspace(0, 1, 3)", ["linspace.default"]),
        ("torch.eye(2)", ["eye.default"]), ("torch.randperm(3)", ["randperm.default"]),
        ("torch.tensor([1.0])", ["lift_fresh.default"]), ("torch.zeros_like(x)", ["zeros_like.default"]),
        ("torch.randn_like(x)", ["randn_like.default"]), ("x.new_ones(2)", ["new_ones.default"]),
        ("torch.bernoulli(x)", ["bernoulli.default"]), ("x.clone().uniform_()", ["clone.default", "uniform_.default"]),
        ("x.sum().item()", ["sum.default", "_local_scalar_dense.default"]), ("x.squeeze()", ["squeeze.default"]),
        ("x[0:1]", ["slice.Tensor"]), ("x.narrow(0, 0, 1)", ["slice.Tensor"]),
        ("x[0:1, 1]", ["slice.Tensor", "select.int"]), ("x[:, None]", ["unsqueeze.default"]),
        ("x.t().reshape(6)", ["t.default", "clone.default", "_unsafe_view.default"]),
        ("torch.square(x)", ["pow.Tensor_Scalar"]), ("x[:, 1:]", ["slice.Tensor"]),
        ("x.masked_fill(x > 0, 1.0)", ["gt.Scalar", "masked_fill.Scalar"]), ("x.lerp(x, 0.5)", ["lerp.Scalar"]),
        ("torch.unique(x)", ["_unique2.default"]), ("torch.fft.rfft(x)", ["_fft_r2c.default"]),
        ("z.conj()", ["_conj.default"]), ("z.imag", ["view_as_real.default", "select.int"]),
        ("torch.linalg.svd(x)", ["_linalg_svd.default"]), ("x.expand(2, 2, 3)", ["expand.default"]),
        ("x @ x.t()", ["t.default", "mm.default"]),
    ],
)
def test_names_that_modes_see(torch, call, names):
    x, z = torch.full((2, 3), 0.5), torch.ones(2, dtype=torch.complex64)
    with logging_mode(torch) as mode:
        eval(call, {"torch": torch, "x": x, "z": z})
    assert mode.names == names


def test_names_in_a_backward(torch):
    p, w = torch.ones(2, 3, requires_grad=True), torch.ones(3, 2)
    with logging_mode(torch) as mode:
        (p @ w).relu().sum().backward()
    assert mode.names[:4] == ["mm.default", "relu.default", "detach.default", "sum.default"]
    assert ("threshold_backward.default" in mode.names and "ones_like.default" in mode.names
        and mode.names.count("mm.default") == 2)
    assert p.grad.tolist() == [[2.0] * 3] * 2


def test_a_mode_gives_other_results(torch):
    class Zeros(part(torch, "utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is torch.ops.aten.ones.default:
                return torch.zeros(*args, **(kwargs or {}))
            return func(*args, **(kwargs or {}))

    with Zeros():
        made = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    assert made.tolist() == [[0] * 3] * 2 and made.dtype == torch.float64 and made.requires_grad
    with logging_mode(torch) as mode:
        torch.ones(2, 3)
        with part(torch, "utils._python_dispatch")._disable_current_modes():
            torch.ones(2)
        torch.rand((2,))
    (size,), options = mode.calls[0]
    assert size == [2, 3] and options["device"] == torch.device("cpu") and options["pin_memory"] is False
    assert mode.names == ["ones.default", "rand.default"] and mode.calls[1][0] == ([2],)


def test_inner_modes_reach_the_outer_ones(torch):
    with logging_mode(torch) as outer, logging_mode(torch) as inner:
        torch.ones(2) + 1
    assert outer.names == inner.names == ["ones.default", "add.Tensor"]


def test_operators_by_name(torch):
    add = torch.ops.aten.add.Tensor
    assert (add.name() == "aten::add.Tensor" and add.overloadpacket is torch.ops.aten.add
        and add._overloadname == "Tensor" and add.namespace == "aten")
    schema = add._schema
    assert schema.name == "aten::add" and schema.overload_name == "Tensor" and not schema.is_mutable
    assert [a.name for a in schema.arguments] == ["self", "other", "alpha"] and str(schema) == (
        "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    )
    assert torch.ops.aten.add_.Tensor._schema.is_mutable and torch.ops.aten.view.default.is_view and not add.is_view
    assert (torch.ops.aten.add_.Tensor._schema.arguments[0].alias_info.is_write
        and add._schema.arguments[0].alias_info is None)
    assert torch.ops.aten.ones.default([2], device="cpu", pin_memory=False).tolist() == [1, 1]


def test_two_tensors_in_one(torch):
    two = load(torch, "two_tensor").TwoTensor
    w = two(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])).requires_grad_()
    (w * w).sum().backward()
    assert w.grad.a.tolist() == [2, 4] and w.grad.b.tolist() == [6, 8]
    with torch.no_grad():
        assert w.mul_(2) is w and w.a.tolist() == [2, 4]
    layer = torch.nn.Linear(2, 2)
    layer(two(torch.ones(1, 2), torch.zeros(1, 2))).sum().backward()
    assert (type(layer.weight.grad) is two and layer.weight.grad.a.tolist() == [[1, 1], [1, 1]]
        and not layer.weight.grad.b.any())
    python_dispatch = part(torch, "utils._python_dispatch")
    assert (python_dispatch.is_traceable_wrapper_subclass(w)
        and not python_dispatch.is_traceable_wrapper_subclass(torch.ones(1)))
    again = python_dispatch.transform_subclass(w.detach(), lambda name, t: t + 1)
    assert again.a.tolist() == [3, 5] and again.b.tolist() == [7, 9]
    p = torch.nn.Parameter(two(torch.ones(2), torch.zeros(2)))
    optimizer = torch.optim.Adam([p], 0.1)
    (p * p).sum().backward()
    optimizer.step()
    assert torch.allclose(p.a, torch.full((2,), 0.9)) and p.b.tolist() == [0, 0]


def test_logging_tensors(torch):
    logs = load(torch, "logging_tensor")
    with logs.capture_logs() as lines:
        x = logs.LoggingTensor(torch.tensor([3.0]), requires_grad=True)
        logs.log("input", ("x",), {}, x)
        y = x * x
        seed = logs.LoggingTensor(torch.tensor([1.0]))
        logs.log("input", ("seed",), {}, seed)
        torch.autograd.grad((y,), (x,), (seed,))
    assert lines == [
        "$0: float32[1] = input('x')",
        "$1: float32[1] = aten.mul.Tensor($0, $0)",
        "$2: float32[1] = input('seed')",
        "$3: float32[1] = aten.mul.Tensor($2, $0)",
        "$4: float32[1] = aten.mul.Tensor($2, $0)",
        "$5: float32[1] = aten.add.Tensor($4, $3)",
    ]
    with logs.LoggingMode(), logs.capture_logs(torch.Tensor) as lines:
        torch.ones(2).view(1, 2)
    assert lines[1] == "$1: float32[1, 2] = aten.view.default($0, [1, 2])"


def test_tensors_of_a_class_are_compared_by_their_numbers(torch):
    logs = load(torch, "logging_tensor")
    x, y = (logs.LoggingTensor(torch.tensor(v)) for v in ([1.0, 2.0], [0.0, 0.0]))
    assert torch.allclose(x, x) and not torch.allclose(x, y)
    torch.testing.assert_close(x, torch.tensor([1.0, 2.0]))
    with pytest.raises(AssertionError, match="Tensor-likes are not close"):
        torch.testing.assert_close(x, y)


def test_networks_below_a_dispatch_mode(torch):
    class Mode(importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), *(a for a in args if isinstance(a, (int, list)))))
            return func(*args, **(kwargs or {}))

    seen, x = [], torch.randn(2, 1, 3)
    with Mode():
        for name in ("softmax", "log_softmax"):
            y = getattr(torch, name)(x, 2, dtype=torch.float64)
            assert y.dtype == torch.float64
        assert x.squeeze(()).shape == x.shape
        torch.nansum(x, 0), torch.linalg.vector_norm(x, 2, 1)
    assert ([row[0] for row in seen[:4]] == ["aten._to_copy.default", "aten._softmax.default", "aten._to_copy.default",
        "aten._log_softmax.default"])
    assert (seen[4:] == [("aten.squeeze.dims", []), ("aten.nansum.default", [0]),
        ("aten.linalg_vector_norm.default", 2, [1])])


@pytest.fixture
def dispatch(torch):
    return importlib.import_module(f"{torch.__name__}.utils._python_dispatch")


def wrapper(torch, answer=None, **options):
    """A class of wrappers whose ``__torch_dispatch__`` is ``answer``, of which one is made with these options."""

    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, elem):
            made = torch.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype, **options)
            made.elem = elem
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented if answer is None else answer(func, args, kwargs or {})

    return Wrapper(torch.randn(3, 2))


def test_a_mode_that_declines_sees_what_classes_do(torch, dispatch):
    counts = {"asked": 0, "done": 0}

    class Polite(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            counts["asked"] += 1
            if any(t is not torch.Tensor for t in types):
                return NotImplemented
            counts["done"] += 1
            return func(*args, **(kwargs or {}))

    x = wrapper(torch, lambda func, args, kwargs: func(*[getattr(a, "elem", a) for a in args], **kwargs))
    with Polite():
        x.abs()
    assert counts == {"asked": 2, "done": 1}


def test_results_that_are_no_tensors(torch):
    class Odd(torch.Tensor):
        @staticmethod
        def __new__(cls, elem):
            return torch.Tensor._make_subclass(cls, elem)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return "arf"

    for call in (lambda x: x.neg(), lambda x: x.detach()):
        with pytest.raises(RuntimeError, match="Unable to cast"):
            call(Odd(torch.zeros(1)))


def test_recorded_again_within_a_handler(torch):
    overrides = importlib.import_module(f"{torch.__name__}.overrides")
    elem = torch.rand(2, requires_grad=True)

    class Through(torch.Tensor):
        @staticmethod
        def __new__(cls, elem):
            made = torch.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype)
            made.elem = elem
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            with overrides.enable_reentrant_dispatch():
                return cls(func(*[getattr(a, "elem", a) for a in args], **(kwargs or {})))

    y = (Through(elem) * 3).sum()
    assert not y.requires_grad and y.elem.requires_grad
    y.elem.backward()
    assert elem.grad.tolist() == [3.0, 3.0]


def test_looking_at_other_memory(torch):
    calls = []

    class Sub(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            calls.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    x = Sub(torch.empty(2))
    calls.clear()
    assert x.set_(torch.ones(2)) is x and type(x) is Sub
    x.set_(torch.ones(3).untyped_storage())
    assert calls == ["aten.set_.source_Tensor", "aten.set_.source_Storage"] and x.shape == (3,)
