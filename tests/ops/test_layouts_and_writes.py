"""What PyTorch's generated tests of operators and modules ask beyond gradients: layouts, rare types, writing in place,
``out=``, modes.
"""

from __future__ import annotations

import importlib
import io
import pickle

import pytest


def functional(torch):
    return importlib.import_module(f"{torch.__name__}.nn.functional")


@pytest.mark.parametrize("volume", [False, True], ids=["image", "volume"])
def test_padding_with_a_number_keeps_channels_innermost(torch, volume):
    n = 3 if volume else 2
    x = torch.randn(2, 3, *[4] * n).to(memory_format=torch.channels_last_3d if volume else torch.channels_last)
    for amounts in ((1, 1), (-1, 2, 0, 1)):
        y = functional(torch).pad(x, amounts, value=2.0)
        assert y.stride(1) == 1
        assert torch.equal(y, functional(torch).pad(x.contiguous(), amounts, value=2.0))
    assert functional(torch).pad(x.contiguous(), (1, 1)).is_contiguous()


def test_rms_norm_keeps_channels_innermost(torch):
    x = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    assert functional(torch).rms_norm(x, (4,)).stride() == x.stride()
    assert functional(torch).rms_norm(x, (3, 4, 4), torch.ones(3, 4, 4)).stride() == x.stride()
    assert functional(torch).rms_norm(x.transpose(0, 3), (2,)).is_contiguous()


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("name, n", [(f"conv{t}{n}d", n) for n in (1, 2, 3) for t in ("", "_transpose")])
def test_convolutions_of_half_precision_complex_numbers(torch, name, n):
    torch.manual_seed(0)
    wide = [torch.randn(shape, dtype=torch.complex64) / 4 for shape in ((2, 3, *[4] * n), (3, 3, *[2] * n), (3,))]
    rows = []
    for d in (torch.complex64, torch.complex32):
        args = [t.detach().to(torch.complex32).to(d).requires_grad_() for t in wide]
        y = getattr(functional(torch), name)(*args)
        assert y.dtype == d
        y.to(torch.complex64).abs().sum().backward()
        rows.append([y.detach(), *(t.grad for t in args)])
    for exact, half in zip(*rows):
        assert half.dtype == torch.complex32
        half = half.to(torch.complex64)
        assert ((half - exact).abs() <= 0.01 * exact.abs().max()).all()


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
@pytest.mark.parametrize("p, writes", [(0.0, 0), (0.5, 2), (1.0, 1)])
def test_alpha_dropout_in_place(torch, name, p, writes):
    x = torch.ones(2, 3, 4, requires_grad=True).clone()
    y = getattr(functional(torch), name)(x, p, True, inplace=True)
    assert y is x
    assert x._version == writes


def test_edges_of_a_histogram_need_not_be_sorted(torch):
    rows = torch.tensor([[0.5, 0.5], [1.5, 2.5], [3.5, 0.1], [1.0, 1.0], [float("nan"), 1.0]])
    good, bad = torch.tensor([0.0, 1.0, 3.0]), torch.tensor([3.0, 1.0, 2.0])
    assert torch.histogramdd(rows, [good, good]).hist.tolist() == [[1.0, 0.0], [0.0, 2.0]]
    assert torch.histogramdd(rows, [bad, good]).hist.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert torch.histogram(rows, bad).hist.tolist() == [0.0, 0.0]
    weighted = torch.histogramdd(rows, [good, good], weight=torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0]), density=True)
    assert torch.allclose(weighted.hist, torch.tensor([[1 / 7, 0.0], [0.0, 6 / 7 / 4]]))


def test_hash_into_a_tensor(torch):
    x = torch.tensor([[1, 2, 4], [1, 1, 1]])
    out = torch.empty(0, dtype=torch.uint64)
    assert torch.hash_tensor(x, 1, out=out) is out
    assert out.tolist() == [7, 1]


@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean", "mean"])
def test_tangents_of_spreads_over_everything_with_kept_dimensions(torch, name):
    f, x = getattr(torch, name), torch.tensor([[1.0, 2.0], [4.0, 9.0]])
    kept = torch.func.jvp(lambda t: f(t, dim=None, keepdim=True), (x,), (x * x,))
    plain = torch.func.jvp(lambda t: f(t), (x,), (x * x,))
    for a, b in zip(kept, plain):
        for s, t in zip(a, b) if isinstance(a, tuple) else [(a, b)]:
            assert s.shape == (1, 1)
            assert torch.allclose(s.reshape(()), t)


def first_row(torch):
    class FirstRow(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x[0]

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def jvp(ctx, t):
            return t[0].clone()

    return FirstRow.apply


def test_a_transform_does_not_ask_for_tangents_that_are_views(torch):
    x = torch.arange(4.0).reshape(2, 2)
    y, t = torch.func.jvp(first_row(torch), (x,), (x + 1,))
    assert (y.tolist(), t.tolist()) == ([0.0, 1.0], [1.0, 2.0])
    assert torch.func.jacfwd(first_row(torch))(x).sum(0).tolist() == [[1.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("call", [lambda x: x[0].item(), lambda x: x.detach(), lambda x: x.new_zeros(2)],
    ids=["item", "detach", "new_zeros"])
def test_a_class_is_asked_when_a_mode_has_called_on(torch, call):
    asked = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Mode(importlib.import_module(f"{torch.__name__}.overrides").TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            asked.append(f"mode {func.__name__}")
            return func(*args, **(kwargs or {}))

    x = torch.ones(2).as_subclass(Sub)
    with Mode():
        call(x)
    name = asked[-1]
    assert asked[-2:] == [f"mode {name}", name] and name in ("item", "detach", "new_zeros")


def test_lazy_parameters_are_converted_under_a_default_device(torch):
    with torch.device("meta"):
        layer = torch.nn.LazyConv1d(4, 3).to(torch.float64)
    assert layer.weight.dtype == torch.float64


def test_options_of_a_loss_are_saved_with_it(torch):
    options = importlib.import_module(f"{torch.__name__}.nn.modules.loss").LinearCrossEntropyOptions(batch_chunk_size=3)
    loss = torch.nn.LinearCrossEntropyLoss(3, 2, options=options)
    assert pickle.loads(pickle.dumps(options)) == options
    file = io.BytesIO()
    torch.save(loss, file)
    file.seek(0)
    assert torch.load(file, weights_only=False).options == options


@pytest.mark.parametrize("shape, found, error, message", [
    ((4, 2), (5,), ValueError, "Expected input batch_size"),
    ((4, 2), (4, 3), RuntimeError, "0D or 1D target tensor expected"),
    ((4, 2, 3), (4, 2), RuntimeError, "Expected target size"), ((4, 2), (4,), RuntimeError, "Long"),
])  # fmt: skip
def test_shapes_of_targets_are_checked_before_their_type(torch, shape, found, error, message):
    for name in ("nll_loss", "cross_entropy"):
        with pytest.raises(error, match=message):
            getattr(functional(torch), name)(torch.ones(shape), torch.zeros(found))


@pytest.mark.parametrize("classes", [0, 3])
def test_weights_of_classes_have_the_type_of_the_input(torch, classes):
    x, target = torch.ones(classes, classes), torch.zeros(classes, dtype=torch.int64)
    for name in ("nll_loss", "cross_entropy"):
        for one, other in ((torch.float32, torch.float16), (torch.float16, torch.float32),
                (torch.float16, torch.bfloat16)):
            with pytest.raises(RuntimeError, match=r"expected scalar type \w+ but found \w+"):
                getattr(functional(torch), name)(x.to(one), target, torch.ones(classes, dtype=other))


def test_a_margin_loss_of_one_example_has_the_shape_of_its_target(torch):
    f, x = functional(torch).multi_margin_loss, torch.randn(5)
    assert [f(x, torch.tensor(t), reduction="none").shape for t in (3, [3])] == [(), (1,)]


def test_below_a_dispatch_mode(torch):
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
