"""Modes that see every call: function modes above the tape, dispatch modes below it, and the counter of operations."""

from __future__ import annotations

import importlib

import pytest


@pytest.fixture
def dispatch(torch):
    return importlib.import_module(f"{torch.__name__}.utils._python_dispatch")


@pytest.fixture
def overrides(torch):
    return importlib.import_module(f"{torch.__name__}.overrides")


@pytest.fixture
def log(dispatch):
    class Log(dispatch.TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func).removeprefix("aten."))
            return func(*args, **(kwargs or {}))

    return Log


@pytest.fixture
def watch(overrides):
    class Watch(overrides.TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    return Watch


# -- below the tape ---------------------------------------------------------------------------------------------------


def test_operators_have_pytorchs_names(torch, log):
    functional = torch.nn.functional
    x, y, b = torch.randn(3, 3), torch.randn(3, 3), torch.randn(3)
    batch, image = torch.randn(2, 3, 3), torch.randn(1, 3, 5, 5)
    for call, expected in (
        (lambda: x * y, "mul.Tensor"), (lambda: x * 2, "mul.Tensor"), (lambda: x + 1, "add.Tensor"),
        (lambda: 1 - x, "rsub.Scalar"), (lambda: x / 2, "div.Tensor"), (lambda: x**2, "pow.Tensor_Scalar"),
        (lambda: x**y, "pow.Tensor_Tensor"), (lambda: x > 0, "gt.Scalar"), (lambda: x > y, "gt.Tensor"),
        (lambda: x.sin(), "sin.default"), (lambda: x.sum(), "sum.default"), (lambda: x.sum(1), "sum.dim_IntList"),
        (lambda: x.mean(), "mean.default"), (lambda: x.max(1), "max.dim"), (lambda: x.max(), "max.default"),
        (lambda: x.var(), "var.correction"), (lambda: torch.mm(x, y), "mm.default"), (lambda: x @ y, "mm.default"),
        (lambda: x @ b, "mv.default"), (lambda: b @ b, "dot.default"), (lambda: torch.bmm(batch, batch), "bmm.default"),
        (lambda: torch.addmm(b, x, y), "addmm.default"), (lambda: x.t(), "t.default"),
        (lambda: torch.baddbmm(batch, batch, batch), "baddbmm.default"), (lambda: x.view(9), "view.default"),
        (lambda: x[0], "select.int"), (lambda: x.transpose(0, 1), "transpose.int"),
        (lambda: x.permute(1, 0), "permute.default"), (lambda: b.expand(3, 3), "expand.default"),
        (lambda: torch.cat([x, y]), "cat.default"), (lambda: torch.stack([x, y]), "stack.default"),
        (lambda: x.unbind(), "unbind.int"), (lambda: x.softmax(1), "_softmax.default"),
        (lambda: functional.gelu(x), "gelu.default"), (lambda: torch.where(x > 0, x, y), "where.self"),
        (lambda: functional.layer_norm(x, (3,)), "native_layer_norm.default"), (lambda: x.clone(), "clone.default"),
        (lambda: functional.conv2d(image, image), "convolution.default"), (lambda: x.clone().mul_(2), "mul_.Tensor"),
        (lambda: x.clone().add_(y), "add_.Tensor"), (lambda: x.cumsum(0), "cumsum.default"),
        (lambda: x.to(torch.float64), "_to_copy.default"), (lambda: functional.linear(x, y), "t.default mm.default"),
        (lambda: functional.linear(x, y, b), "t.default addmm.default"),
    ):
        with log() as mode:
            call()
        found = [n for n in mode.names
            if n not in ("detach.default", "gt.Scalar" if "where" in expected else "", "clone.default")]
        assert (found or ["clone.default"]) == expected.split(), expected


def test_one_object_for_each_operator(torch, dispatch):
    aten, seen = torch.ops.aten, []

    class Keep(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    with Keep():
        torch.ones(2, requires_grad=True).sin()
    op = next(f for f in seen if "sin" in str(f))
    assert (op is aten.sin.default and op == aten.sin.default and op is not aten.cos.default
        and op.overloadpacket is aten.sin)
    assert (str(op), op.__name__, op.name(), repr(op)) == (
        "aten.sin.default", "sin.default", "aten::sin", "<OpOverload(op='aten.sin', overload='default')>",
    )
    assert (aten.mul.Tensor.name() == "aten::mul.Tensor" and str(aten.sin) == "aten.sin"
        and len({op, aten.sin.default}) == 1)
    assert (aten.mul.Tensor(torch.ones(2), 3).tolist() == [3, 3]
        and aten.sum.dim_IntList(torch.ones(2, 2), [1]).tolist() == [2, 2])
    assert aten._softmax.default(torch.zeros(1, 2), 1, False).tolist() == [[0.5, 0.5]]
    assert isinstance(op, importlib.import_module(f"{torch.__name__}._ops").OpOverload)


def test_dispatch_stands_below_the_tape(torch, dispatch):
    seen = []

    class Look(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor):
                seen.append((str(func), out.requires_grad))
            return out

    x = torch.ones(2, requires_grad=True)
    with Look():
        y = (x.exp() * 3).sum()
    assert y.requires_grad and y.grad_fn.name() == "SumBackward0"
    assert ([s for s in seen if "detach" not in s[0]] == [("aten.exp.default", False), ("aten.mul.Tensor", False),
        ("aten.sum.default", False)])
    y.backward()
    assert x.grad.tolist() == (3 * x.exp()).tolist()


def test_a_mode_gives_the_result(torch, dispatch):
    class Cosine(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is torch.ops.aten.sin.default:
                func = torch.ops.aten.cos.default
            return func(*args, **(kwargs or {}))

    x = torch.zeros(2, requires_grad=True)
    with Cosine():
        y = x.sin()
    assert y.tolist() == [1, 1] and y.grad_fn.name() == "SinBackward0"

    class Refuse(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ValueError("mine")

    with Refuse(), pytest.raises(ValueError, match="mine"):
        x.sin()
    assert x.sin().tolist() == [0, 0]


def test_modes_nest_and_end(torch, dispatch, log):
    current = dispatch._get_current_dispatch_mode
    assert current() is None
    outer, inner = log(), log()
    x = torch.ones(2)
    with outer:
        x.exp()
        with inner:
            assert current() is inner
            x.sin()
            with importlib.import_module(f"{torch.__name__}.utils._mode_utils").no_dispatch():
                x.cos()
        assert current() is outer
    assert current() is None
    assert outer.names == ["exp.default", "sin.default"] and inner.names == ["sin.default"]

    class Twice(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert current() is not self
            return func(*args, **(kwargs or {})) + 1  # not seen by this mode

    with Twice():
        assert x.mul(2).tolist() == [3, 3]


def test_backward_is_seen(torch, log):
    w = torch.randn(3, 4, requires_grad=True)
    x = torch.randn(2, 3, requires_grad=True)
    with log() as mode:
        y = (x @ w).sin().sum()
        forward = len(mode.names)
        y.backward()
    names = mode.names[forward:]
    assert names.count("mm.default") == 2 and names.count("cos.default") == 1 and "mul.Tensor" in names
    plain = (x.grad.clone(), w.grad.clone())
    x.grad = w.grad = None
    (x @ w).sin().sum().backward()
    assert torch.allclose(plain[0], x.grad) and torch.allclose(plain[1], w.grad)
    with log() as mode:
        (g,) = torch.autograd.grad((x @ w).sin().sum(), x)
    assert torch.allclose(g, x.grad) and not g.requires_grad and mode.names.count("mm.default") == 2


def test_in_place_and_views(torch, log):
    x = torch.tensor([0.3, 0.7], requires_grad=True)

    def run():
        y = x * 1
        y[:1].mul_(y[1:].clone())
        y.exp_()
        return y

    with log() as mode:
        y = run()
    assert "mul_.Tensor" in mode.names and "exp_.default" in mode.names
    y.sum().backward()
    first, x.grad = x.grad.tolist(), None
    z = run()
    assert z.tolist() == y.tolist() and z._version == y._version
    z.sum().backward()
    assert first == x.grad.tolist()


def test_checkpoints_under_a_mode(torch, dispatch, log):
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    from contextlib import nullcontext

    class Count(log):
        def names_of(self, name):
            return self.names.count(name)

    for first, second in ((Count(), nullcontext()), (nullcontext(), Count())):
        x = torch.tensor(1.0, requires_grad=True)
        checkpoint(lambda x: x.exp(), x, use_reentrant=False,
            context_fn=lambda first=first, second=second: (first, second)).backward()
        mode = first if isinstance(first, Count) else second
        assert mode.names_of("exp.default") == 1
    # the second run stops when it has what was saved: in PyTorch before it computes the last step
    x = torch.tensor(1.0, requires_grad=True)
    with Count() as mode:
        checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False).backward()
    assert mode.names_of("sin.default") == 2
    with Count() as mode:
        checkpoint(lambda x: x.sin(), x, use_reentrant=False, early_stop=False).backward()
    assert mode.names_of("sin.default") == 2


# -- above the tape ---------------------------------------------------------------------------------------------------


def test_function_modes_see_calls(torch, watch):
    x = torch.randn(3, 3, requires_grad=True)
    with watch() as mode:
        torch.add(x, x)
        x * 2
        x.sum()
        torch.sum(x, 1)
        torch.nn.functional.gelu(x)
        torch.nn.functional.linear(x, x)
        torch.cat([x, x])
        x @ x
        x[0]
        y = torch.exp(x)
    assert ([n.strip("_") for n in mode.names] == ["add", "mul", "sum", "sum", "gelu", "linear", "cat", "matmul",
        "getitem", "exp"])
    assert y.requires_grad and y.grad_fn.name() == "ExpBackward0"


def test_function_modes_can_answer(torch, overrides, watch):
    class Swap(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return torch.cos(*args) if func is torch.sin else func(*args, **(kwargs or {}))

    with Swap():
        assert torch.sin(torch.zeros(1)).item() == 1 and torch.exp(torch.zeros(1)).item() == 1
    outer, inner = watch(), watch()
    with outer, inner:
        torch.ones(1).exp_()
    assert outer.names[-1] == inner.names[-1] == "exp_"

    class Decline(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    x = torch.ones(1)
    with Decline(), pytest.raises(TypeError, match="torch.exp"):
        torch.exp(x)
    with overrides.BaseTorchFunctionMode():
        assert torch.exp(x).item() == pytest.approx(2.718281828)


# -- counting ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def flops(torch):
    module = importlib.import_module(f"{torch.__name__}.utils.flop_counter")

    def count(call, **options):
        with module.FlopCounterMode(display=False, **options) as counter:
            y = call()
            if y.requires_grad:
                y.sum().backward()
        return counter

    return count


def test_counts_of_products_and_convolutions(torch, flops):
    functional = torch.nn.functional

    def leaf(*shape):
        return torch.randn(*shape, requires_grad=True)

    x, w, b, batch = leaf(4, 5), leaf(6, 5), leaf(6), leaf(2, 3, 4)
    image, kernel = leaf(2, 3, 8, 8), leaf(4, 3, 3, 3)
    for call, expected in (
        (lambda: functional.linear(x, w, b), 3 * 240), (lambda: x @ w.t(), 3 * 240),
        (lambda: torch.addmm(b, x, w.t()), 3 * 240), (lambda: x.detach() @ w.detach().t(), 240),
        (lambda: torch.bmm(batch, batch.transpose(1, 2)), 432),
        (lambda: torch.baddbmm(torch.zeros(2, 3, 3), batch, batch.transpose(1, 2)), 432),
        (lambda: batch @ leaf(4, 2), 3 * 96), (lambda: functional.conv2d(image, kernel), 46656),
        (lambda: functional.conv2d(image, kernel, stride=2), 11664),
        (lambda: functional.conv2d(image.detach(), kernel), 31104),
        (lambda: functional.conv_transpose2d(image, leaf(3, 4, 3, 3)), 82944),
        (lambda: functional.conv2d(leaf(2, 4, 8, 8), leaf(4, 2, 3, 3), groups=2), 41472), (lambda: x.exp().sin(), 0),
    ):
        assert flops(call).get_total_flops() == expected
    counts = flops(lambda: functional.linear(x, w, b)).get_flop_counts()
    assert {str(op): n for op, n in counts["Global"].items()} == {"aten.addmm": 240, "aten.mm": 480}


def test_counts_of_recomputation_and_of_formulas_of_ones_own(torch, flops):
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    x, w = torch.randn(4, 5, requires_grad=True), torch.randn(5, 5, requires_grad=True)

    def part(x):
        return ((x @ w).exp() @ w).sin()

    plain = flops(lambda: part(x)).get_total_flops()
    assert plain == 6 * 200
    assert flops(lambda: checkpoint(part, x, use_reentrant=False)).get_total_flops() == plain + 2 * 200
    assert flops(lambda: checkpoint(part, x, use_reentrant=True)).get_total_flops() == plain + 2 * 200
    formulas = {torch.ops.aten.sin: lambda shape, out_shape=None, **rest: 7 * shape[0]}
    assert flops(lambda: x.detach().sin(), custom_mapping=formulas).get_total_flops() == 28


def test_counts_by_module(torch, flops):
    model = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Linear(6, 7)))
    counts = flops(lambda: model(torch.randn(4, 5, requires_grad=True))).get_flop_counts()
    assert {name: sum(row.values()) for name, row in counts.items() if row} == {
        "Global": 1728, "Sequential": 1728, "Sequential.0": 720, "Sequential.2": 1008, "Sequential.2.0": 1008,
    }


def test_the_table(capsys):
    import wengert as torch
    from wengert.utils.flop_counter import FlopCounterMode

    model = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.ReLU())
    with FlopCounterMode(depth=1):
        model(torch.ones(4, 5))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Module", "FLOP", "%", "Total"]
    assert [line.split() for line in lines[2:]] == [
        ["Global", "240", "100.00%"], ["-", "aten.addmm", "240", "100.00%"], ["Sequential", "240", "100.00%"],
        ["-", "aten.addmm", "240", "100.00%"],
    ]


def counting(torch, answer=None):
    """A mode that notes what it is asked for."""

    class Noting(torch.overrides.TorchFunctionMode):
        def __init__(self):
            self.seen = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.seen.append(func)
            return func(*args, **(kwargs or {})) if answer is None else answer

    return Noting()


CREATION = (
    "ones(2)", "zeros(2, 3)", "empty(2)", "full((2,), 3)", "rand(2)", "randn(2)", "randint(3, (2,))", "randperm(3)",
    "arange(3)", "eye(2)", "linspace(0, 1, 3)", "tensor([1])", "as_tensor([1])", "zeros_like(x)", "randn_like(x)",
    "normal(0.0, 1.0, (2,))", "manual_seed(0)",
)


@pytest.mark.parametrize("call", [c for c in CREATION if c != "manual_seed(0)"])
def test_creation_is_seen(torch, call):
    scope = {"torch": torch, "x": torch.ones(2)}
    with counting(torch, -1):
        assert eval(f"torch.{call}", scope) == -1
    with counting(torch) as mode:
        assert isinstance(eval(f"torch.{call}", scope), torch.Tensor)
    assert mode.seen == [getattr(torch, call.partition("(")[0])]


@pytest.mark.parametrize("call",
    ["x.new_zeros(2)", "x.detach()", "x.uniform_()", "x.fill_(3)", "x.new_tensor([1.0])", "x.item()", "x[0]"])
def test_methods_that_make_something_are_seen(torch, call):
    scope = {"x": torch.ones(1)}
    with counting(torch, -1):
        assert eval(call, scope) == -1


def test_modes_nest_around_creation(torch):
    outer, inner = counting(torch), counting(torch)
    with outer, inner, inner:
        torch.empty(2)
    assert inner.seen == [torch.empty] * 2 and outer.seen == [torch.empty]


def test_devices_are_seen(torch):
    class Elsewhere(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if func == torch.device and args and isinstance(args[0], int):
                args = ("xla", args[0])
            elif func == torch.device and isinstance(kwargs.get("device"), int):
                kwargs["device"] = f"xla:{kwargs['device']}"
            return func(*args, **kwargs)

    with Elsewhere():
        for d in (torch.device(1), torch.device(device=1)):
            assert d.type == "xla" and d.index == 1
    assert torch.device(device="cpu") == torch.device("cpu")


def test_a_mode_that_declines_leaves_it_to_the_arguments(torch):
    class Half(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return 0.5 if func is torch.mean else NotImplemented

    x = Half([1.0, 2.0])
    with counting(torch, NotImplemented):
        assert torch.mean(x) == 0.5
        with pytest.raises(TypeError, match="all __torch_function__ handlers returned NotImplemented"):
            torch.max(x)
        with pytest.raises(TypeError, match="all __torch_function__ handlers returned NotImplemented"):
            torch.ones(2)


def test_modes_see_functions_of_programs(torch):
    overrides = torch.overrides

    def twice(x):
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(twice, (x,), x)
        return x + x

    mode = counting(torch)
    assert not overrides.has_torch_function_unary(1) and not overrides.has_torch_function_variadic(1, 2)
    with mode:
        assert overrides.has_torch_function_unary(1) and overrides.has_torch_function_variadic(1, 2)
        assert twice(3) == 6
    assert mode.seen == [twice]
    with pytest.raises(TypeError, match="sequence"):
        overrides.has_torch_function(object())


def test_what_makes_no_mode(torch):
    class Classy(torch.overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RuntimeError, match="classmethod is not supported, please make it a plain method"), Classy():
        torch.ones(1) + 1
    with pytest.raises(NotImplementedError), torch.overrides.TorchFunctionMode():
        torch.ones(1)
    with torch.overrides.BaseTorchFunctionMode():
        assert torch.ones(2).sum() == 2
    before = torch._C._len_torch_function_stack()
    with counting(torch), counting(torch):
        assert torch._C._len_torch_function_stack() == before + 2


def test_keys_and_values_take_indexing_over(torch):
    class Key:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return "taken"

    class TensorKey(torch.Tensor):
        __torch_function__ = Key.__torch_function__

    for key in (Key(), TensorKey()):
        seen = []
        x = torch.tensor([5, 6])
        assert x[key] == "taken" and x[0, key] == "taken"
        x[key] = 1
        x[0, key] = 1
        x[0] = key
        assert seen == [torch.Tensor.__getitem__] * 2 + [torch.Tensor.__setitem__] * 3 and x.tolist() == [5, 6]


def test_names_lead_back(torch):
    found = torch.overrides.get_overridable_functions()
    assert sum(len(functions) for functions in found.values()) > 1000
    for functions in found.values():
        for f in functions:
            assert eval(torch.overrides.resolve_name(f), {"torch": torch}) == f


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
def test_the_old_constructor_gives_a_view(torch, dtype):
    class Sub(torch.Tensor):
        pass

    for cls in (Sub, torch.Tensor):
        x = torch.ones(2, dtype=getattr(torch, dtype))
        y = cls(x)
        assert type(y) is cls and y._is_view() and y._base is x and y.dtype == x.dtype and not y.requires_grad
        y.zero_()
        assert x._version == 1 and not x.any()
        if dtype == "float32":
            leaf = torch.ones(2, requires_grad=True)
            (cls(leaf) * 3).sum().backward()
            assert leaf.grad.tolist() == [3, 3] and cls(leaf).grad_fn.name() == "AliasBackward0"


def test_frames_of_functions_under_a_mode_can_be_looked_at(torch):
    with importlib.import_module(f"{torch.__name__}.overrides").BaseTorchFunctionMode(), pytest.raises(
            RuntimeError) as caught:
        torch.ones(2, device="nowhere")
    frame, names = caught.value.__traceback__, []
    while frame is not None:
        names += frame.tb_frame.f_locals
        frame = frame.tb_next
    assert "torch" in names


def test_function_modes_are_not_asked_where_torch_function_is_off(torch):
    class Always(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return "asked"

    x = torch.zeros(1)
    with Always():
        assert torch.sin(x) == "asked"
        with torch._C.DisableTorchFunction():
            assert torch.sin(x).item() == 0
        with torch._C.DisableTorchFunctionSubclass():
            assert torch.sin(x) == "asked"
        assert torch.sin(x) == "asked"


def test_calls_by_keywords_alone_once_there_has_been_a_mode():
    import wengert

    with wengert.overrides.BaseTorchFunctionMode():
        pass
    assert wengert.Tensor.tolist(self=wengert.ones(2)) == [1.0, 1.0]
