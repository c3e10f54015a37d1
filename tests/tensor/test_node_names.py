"""What ``grad_fn.name()`` and its class say of everyday operators."""

from __future__ import annotations

import pytest

# A call in terms of the names below: the name of the node that it leaves.
CALLS = {
    # a tensor or a number
    "x ** x": "PowBackward1", "x ** 2": "PowBackward0", "2 ** x": "PowBackward2", "torch.pow(x, c)": "PowBackward1",
    "x.clone().pow_(2)": "PowBackward0",
    "torch.fmod(x, 2)": "FmodBackward0", "x % 2": "RemainderBackward0",
    "1 - x": "RsubBackward1", "1 / x": "MulBackward0", "x / 2": "DivBackward0", "c / x": "DivBackward0",
    "torch.copysign(x, c)": "CopysignBackward0", "torch.xlogy(x, c)": "XlogyBackward0",
    "x // 2": "torch::autograd::NotImplemented", "torch.square(x)": "PowBackward0",
    "torch.float_power(x, 2)": "PowBackward0", "torch.div(x, c, rounding_mode='floor')": "DivBackward2",
    "torch.lerp(x, c, 0.5)": "LerpBackward0", "torch.lerp(x, c, c)": "LerpBackward1",
    "torch.masked_fill(x, x > 0, 0.0)": "MaskedFillBackward0",
    "torch.masked_fill(x, x > 0, torch.tensor(0.0))": "MaskedFillBackward1", "torch.fill(x, 1.0)": "FillBackward0",
    "torch.clamp(x, 0, 1)": "ClampBackward1", "torch.clamp(x, min=c)": "ClampBackward0",
    "torch.clamp(x, min=0)": "ClampBackward1", "torch.clamp_min(x, c)": "ClampMinBackward1",
    "torch.clamp_min(x, 0)": "ClampMinBackward0",
    # products by the ranks of their factors
    "m @ m": "MmBackward0",
    "torch.bmm(b, b)": "BmmBackward0", "torch.mv(m, x)": "MvBackward0",
    "torch.vdot(x, x)": "VdotBackward0", "torch.addmm(m, m, m)": "AddmmBackward0",
    "torch.addmv(x, m, x)": "AddmvBackward0", "torch.addr(m, x, x)": "AddrBackward0",
    "torch.addbmm(m, b, b)": "AddbmmBackward0", "torch.baddbmm(b, b, b)": "BaddbmmBackward0",
    "F.linear(m, m, x)": "AddmmBackward0", "F.linear(m, m)": "MmBackward0",
    # views
    "x.reshape(3, 1)": "ViewBackward0", "m.T": "PermuteBackward0", "m.t()": "TBackward0", "m.mT": "TransposeBackward0",
    "m.unsqueeze(0).squeeze(0)": "SqueezeBackward1",
    "m[0]": "SelectBackward0", "m[1:]": "SliceBackward0", "m[None]": "UnsqueezeBackward0",
    "m[[0, 1]]": "IndexBackward0", "z.real": "SelectBackward0", "z.imag": "SelectBackward0",
    "torch.view_as_real(z)": "ViewAsRealBackward0", "m.split(2)[0]": "SplitBackward0",
    "m.unbind()[0]": "UnbindBackward0", "m.expand(2, 3, 3)": "ExpandBackward0", "m.diagonal()": "DiagonalBackward0",
    # in place
    "torch.conj_physical(z)": "ConjPhysicalBackward0",
    "F.leaky_relu(x)": "LeakyReluBackward0", "F.elu(x)": "EluBackward0",
    "c.clone().copy_(x)": "torch::autograd::CopyBackwards", "x.clone().zero_()": "ZeroBackward0",
    # random numbers
    "x.clone().random_(1, 3)": "RandomBackward0",
    # layers, by the number of dimensions
    "F.max_pool2d(i2, 2)": "MaxPool2DWithIndicesBackward0",
    "F.max_pool2d(i2[0], 2)": "MaxPool2DWithIndicesBackward0", "F.max_pool3d(i3, 2)": "MaxPool3DWithIndicesBackward0",
    "F.avg_pool2d(i2, 2)": "AvgPool2DBackward0", "F.avg_pool3d(i3, 2)": "AvgPool3DBackward0",
    "F.adaptive_avg_pool2d(i2, 2)": "AdaptiveAvgPool2DBackward0",
    "F.adaptive_avg_pool3d(i3, 2)": "AdaptiveAvgPool3DBackward0",
    "F.adaptive_max_pool2d(i2, 2)": "AdaptiveMaxPool2DBackward0",
    "F.adaptive_max_pool3d(i3, 2)": "AdaptiveMaxPool3DBackward0",
    "F.max_unpool2d(*F.max_pool2d(i2, 2, return_indices=True), 2)": "MaxUnpool2DBackward0",
    "F.affine_grid(b[:1, :2], (1, 2, 3, 3), align_corners=False)": "AffineGridGeneratorBackward0",
    "F.pixel_shuffle(i2[:, :, :2, :2].repeat(1, 2, 1, 1), 2)": "PixelShuffleBackward0",
    "F.pixel_unshuffle(i2, 2)": "PixelUnshuffleBackward0",
    "F.embedding_bag(n.reshape(1, 2), m)": "EmbeddingBagBackward0",
    "F.embedding_bag(n.reshape(1, 2), m, mode='max')": "EmbeddingBagBackward0",
    "F.group_norm(i2, 2)": "NativeGroupNormBackward0", "F.layer_norm(x, (3,))": "NativeLayerNormBackward0",
    "F.rms_norm(x, (3,))": "MulBackward0", "F.batch_norm(m, None, None, training=True)": "NativeBatchNormBackward0",
    "F.scaled_dot_product_attention(b[None], b[None], b[None])": "ScaledDotProductFlashAttentionForCpuBackward0",
    "torch.cdist(m, m)": "CdistBackward0", "torch.cdist(m, m, 1.0)": "CdistBackward0",
    "torch.pdist(m)": "PdistBackward0", "torch.dist(x, c)": "DistBackward0",
    # losses
    "F.mse_loss(x, c)": "MseLossBackward0", "F.cross_entropy(m[:2], n)": "NllLossBackward0",
    "F.nll_loss(m[:2], n)": "NllLossBackward0",
    "F.binary_cross_entropy(x, c)": "BinaryCrossEntropyBackward0",
    "F.binary_cross_entropy_with_logits(x, c, reduction='sum')": "BinaryCrossEntropyWithLogitsBackward0",
    "F.soft_margin_loss(x, c)": "SoftMarginLossBackward0", "F.multi_margin_loss(m[:2], n)": "MultiMarginLossBackward0",
    "torch.linalg.householder_product(m, x)": "LinalgHouseholderProductBackward0",
    "torch.linalg.lu_solve(*torch.linalg.lu_factor(m + torch.eye(3)), m)": "LinalgLuSolveBackward0",
}


@pytest.fixture
def names(torch):
    """Arguments: ``x`` a vector, ``m`` a matrix, ``b`` a batch of them, ``i1`` … ``i3`` images, ``c`` a constant, ``n``
    integers.
    """
    shapes = {"x": (3,), "m": (3, 3), "b": (2, 3, 3), "i1": (1, 2, 4), "i2": (1, 2, 4, 4), "i3": (1, 2, 4, 4, 4)}
    made = {k: (torch.rand(*s) * 0.5 + 0.25).requires_grad_() for k, s in shapes.items()}
    z = torch.complex(torch.rand(3), torch.rand(3)).requires_grad_()
    return {**made, "z": z, "c": torch.rand(3), "n": torch.tensor([0, 1]), "torch": torch, "F": torch.nn.functional}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", CALLS)
def test_name_of_the_node(names, code):
    node = eval(code, names).grad_fn
    assert node.name() == CALLS[code]
    assert type(node).__name__ == CALLS[code].removeprefix("torch::autograd::")


def test_a_renamed_node_still_has_its_gradient(torch):
    x = torch.rand(2, 3, requires_grad=True)
    y = torch.nn.functional.linear(x, torch.ones(4, 3), None)
    assert y.grad_fn.name() == "MmBackward0"
    seen = []
    y.grad_fn.register_hook(lambda gi, go: seen.append(len(go)))
    y.sum().backward(retain_graph=True)
    assert seen == [1] and x.grad.tolist() == [[4.0] * 3] * 2
    y.sum().backward()
    assert y.grad_fn.name() == "MmBackward0"


def test_edges_of_a_linear_layer(torch):
    x, w, b = (torch.rand(*s, requires_grad=True) for s in ((2, 3), (4, 3), (4,)))
    first, second, _ = torch.nn.functional.linear(x, w, b).grad_fn.next_functions
    assert first[0].variable is b and second[0].variable is x


def test_a_composite_that_returns_its_argument_renames_nothing(torch):
    x = torch.rand(3, requires_grad=True)
    y = x * 2
    assert torch.broadcast_to(y, (3,)).grad_fn is not None
    assert y.grad_fn.name() == "MulBackward0"


# calls that are one node, though made of several steps here: where their edges lead, and something remembered
WHOLE = {
    "F.binary_cross_entropy(x, c)": ("x", None), "F.binary_cross_entropy_with_logits(x, c)": ("x", None),
    "F.soft_margin_loss(x, c)": ("x",), "F.grid_sample(i2, g)": ("i2", "g"),
    "F.pixel_shuffle(i2.repeat(1, 2, 1, 1), 2)": ("RepeatBackward0",), "torch.cdist(m, m)": ("m", "m"),
    "F.interpolate(i2, scale_factor=2, mode='bilinear')": ("i2",), "F.max_unpool2d(i2, n4, 2)": ("i2",),
    "F.adaptive_avg_pool2d(i2, 3)": ("i2",), "F.conv_transpose2d(i2, w, x[:2])": ("i2", "w", "SliceBackward0"),
    "F.multi_margin_loss(m[:2], n)": ("SliceBackward0",), "F.embedding_bag(n.reshape(1, 2), m)": ("m", None),
    "torch.pdist(m)": ("m",),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", WHOLE)
def test_one_node_for_the_whole(torch, names, code):
    names |= {"i2": torch.rand(1, 2, 4, 4).requires_grad_(), "g": (torch.rand(1, 3, 3, 2) - 0.5).requires_grad_(),
              "w": torch.rand(2, 2, 2, 2).requires_grad_(),
              "n4": torch.arange(16).reshape(4, 4).expand(1, 2, 4, 4)}
    y = eval(code, names)
    below = [n for n, _ in y.grad_fn.next_functions]
    found = [None if n is None else next((k for k, v in names.items() if v is getattr(n, "variable", 0)), n.name())
        for n in below]
    assert found == list(WHOLE[code])


def test_hooks_gradients_and_memory_of_a_whole(torch):
    import importlib

    F = importlib.import_module(f"{torch.__name__}.nn.functional")
    x = torch.rand(3, dtype=torch.double).requires_grad_()
    h = x * 0.5
    h.register_hook(lambda g: seen.append("h"))
    seen = []
    y = F.binary_cross_entropy(h, torch.full((3,), 0.5, dtype=torch.double))
    y.grad_fn.register_hook(lambda gi, go: seen.append(tuple(g is not None for g in gi)))
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    assert seen == [(True, False), "h"]
    (again,) = torch.autograd.grad(y, x, retain_graph=True)
    assert torch.allclose(g, again)
    g.sum().backward()
    assert x.grad is not None
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
        y.backward()


def test_second_derivatives_through_a_whole(torch):
    import importlib

    F = importlib.import_module(f"{torch.__name__}.nn.functional")
    image = torch.rand(1, 1, 3, 3, dtype=torch.double).requires_grad_()
    grid = (torch.rand(1, 2, 2, 2, dtype=torch.double) - 0.5).requires_grad_()

    def call(a, b):
        return F.grid_sample(a, b, align_corners=False)

    assert torch.autograd.gradcheck(call, (image, grid)) and torch.autograd.gradgradcheck(call, (image, grid))


def test_what_a_whole_remembers(torch):
    import importlib

    F = importlib.import_module(f"{torch.__name__}.nn.functional")
    a = torch.rand(3, 2).requires_grad_()
    node = F.pdist(a, p=1).grad_fn
    assert node._saved_p == 1.0 and isinstance(node._saved_p, float) and torch.equal(node._saved_self, a)
    assert torch.ones(2, 2).requires_grad_().sum(-1).grad_fn._saved_dim == (2**64 - 1,)


@pytest.mark.parametrize("number", [2, 2.5, True])
def test_a_number_over_a_tensor_is_a_number_times_a_reciprocal(torch, number):
    x = torch.tensor([2.0, 4.0], requires_grad=True)
    y = number / x
    (below, _), (none, _) = y.grad_fn.next_functions
    assert (y.grad_fn.name(), below.name(), none) == ("MulBackward0", "ReciprocalBackward0", None)
    assert below.next_functions[0][0].variable is x
    assert y.tolist() == [number / 2, number / 4]
    (g,) = torch.autograd.grad(y.sum(), x)
    assert g.tolist() == [-number / 4, -number / 16]
    assert torch.div(number, x).grad_fn.name() == "DivBackward0"
    assert ([node and node.name() for node, _ in torch.div(number, x).grad_fn.next_functions] == [None,
        "torch::autograd::AccumulateGrad"])
    assert (number / torch.tensor([2, 4])).tolist() == [number / 2, number / 4]


def test_a_number_before_an_operator(torch):
    x = torch.arange(1.0, 4.0).requires_grad_()
    c = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    for y in (2 * x, x * 2, x.__rmul__(2), 2 + x, x + 2, True * x, 2j * x, 2 * c, 2.5 * c):
        (first, number), (second, _) = y.grad_fn.next_functions
        assert first.name() == "torch::autograd::AccumulateGrad" and number == 0 and second is None
    assert (2 * x).grad_fn._saved_other.item() == 2 and (2 * x).grad_fn._saved_self is None
    for y in (2 // x, x // 2, x // torch.ones(3), torch.ones(3) // x):
        assert y.grad_fn.name() == "torch::autograd::NotImplemented"
        with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
            y.sum().backward()


def test_the_derivative_of_a_remainder_in_its_divisor(torch):
    x = torch.tensor([3.0, 0.7], requires_grad=True)
    y = torch.tensor(2.0) % x
    y.sum().backward()
    assert x.grad.tolist() == [0.0, -2.0]


def test_a_zero_remainder_has_the_sign_of_what_was_divided(torch):
    for a, b in ((-3.0, 3.0), (3.0, -3.0), (-0.0, 2.0), (6.0, 2.0)):
        for zero in (torch.tensor(a) % b, torch.remainder(torch.tensor([a]), torch.tensor([b]))):
            assert zero == 0
            assert bool(torch.signbit(zero)) is (str(a)[0] == "-")


def test_singular_values_are_the_second_output(torch):
    x = torch.eye(3, requires_grad=True)
    s = torch.linalg.svdvals(x)
    assert s.output_nr == 1
    assert s.grad_fn.name() == "LinalgSvdBackward0"
    assert torch.linalg.matrix_norm(x, "nuc").grad_fn.next_functions[0][1] == 1
