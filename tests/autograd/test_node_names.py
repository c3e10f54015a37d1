"""What ``grad_fn.name()`` and its class say of everyday operators."""

from __future__ import annotations

import pytest

# A call in terms of the names below: the name of the node that it leaves.
CALLS = {
    # a tensor or a number
    "x ** x": "PowBackward1", "x ** 2": "PowBackward0", "2 ** x": "PowBackward2", "torch.pow(x, c)": "PowBackward1",
    "x.clone().pow_(2)": "PowBackward0",
    "torch.fmod(x, c)": "FmodBackward1", "torch.fmod(x, 2)": "FmodBackward0", "x % x": "RemainderBackward1", "x % 2": "RemainderBackward0",
    "torch.rsub(x, x)": "RsubBackward0", "1 - x": "RsubBackward1", "1 / x": "MulBackward0", "x / 2": "DivBackward0", "c / x": "DivBackward0",
    "torch.copysign(x, 1.0)": "CopysignBackward1", "torch.copysign(x, c)": "CopysignBackward0", "torch.xlogy(x, c)": "XlogyBackward0",
    "torch.xlogy(x, 2.0)": "XlogyBackward2", "torch.xlogy(2.0, x)": "XlogyBackward1", "torch.special.xlog1py(x, 2.0)": "SpecialXlog1PyBackward2",
    "torch.special.zeta(2.0, x)": "SpecialZetaBackward1", "x // 2": "torch::autograd::NotImplemented", "torch.square(x)": "PowBackward0",
    "torch.float_power(x, 2)": "PowBackward0", "torch.div(x, c, rounding_mode='floor')": "DivBackward2",
    "torch.lerp(x, c, 0.5)": "LerpBackward0", "torch.lerp(x, c, c)": "LerpBackward1", "torch.masked_fill(x, x > 0, 0.0)": "MaskedFillBackward0",
    "torch.masked_fill(x, x > 0, torch.tensor(0.0))": "MaskedFillBackward1", "torch.fill(x, 1.0)": "FillBackward0",
    "torch.fill(x, torch.tensor(1.0))": "FillBackward1", "x.clone().fill_(1.0)": "FillBackward2", "torch.clamp(x, 0, 1)": "ClampBackward1",
    "torch.clamp(x, min=c)": "ClampBackward0", "torch.clamp(x, min=0)": "ClampBackward1",
    "torch.clamp_min(x, c)": "ClampMinBackward1", "torch.clamp_min(x, 0)": "ClampMinBackward0",
    # products by the ranks of their factors
    "m @ m": "MmBackward0", "m @ x": "MvBackward0", "x @ x": "DotBackward0", "x @ m": "SqueezeBackward4", "b @ b": "UnsafeViewBackward0",
    "b @ m": "UnsafeViewBackward0", "b @ x": "UnsafeViewBackward0", "torch.bmm(b, b)": "BmmBackward0", "torch.mv(m, x)": "MvBackward0",
    "torch.vdot(x, x)": "VdotBackward0", "torch.addmm(m, m, m)": "AddmmBackward0", "torch.addmv(x, m, x)": "AddmvBackward0",
    "torch.addr(m, x, x)": "AddrBackward0", "torch.addbmm(m, b, b)": "AddbmmBackward0", "torch.baddbmm(b, b, b)": "BaddbmmBackward0",
    "F.linear(m, m, x)": "AddmmBackward0", "F.linear(m, m)": "MmBackward0", "F.linear(b, m, x)": "ViewBackward0",
    "F.linear(x, m, x)": "ViewBackward0",
    "F.linear(b, m)": "UnsafeViewBackward0", "F.linear(x, m)": "SqueezeBackward4", "F.linear(x, x)": "DotBackward0",
    # views
    "x.reshape(3, 1)": "ViewBackward0", "m.T": "PermuteBackward0", "m.t()": "TBackward0", "m.mT": "TransposeBackward0",
    "m.unsqueeze(0).squeeze()": "SqueezeBackward0", "m.unsqueeze(0).squeeze(0)": "SqueezeBackward1",
    "m.unsqueeze(0).squeeze((0,))": "SqueezeBackward2",
    "m.clone().squeeze_()": "SqueezeBackward3", "m[0]": "SelectBackward0", "m[1:]": "SliceBackward0", "m[None]": "UnsqueezeBackward0",
    "m[[0, 1]]": "IndexBackward0", "z.real": "SelectBackward0", "z.imag": "SelectBackward0", "torch.view_as_real(z)": "ViewAsRealBackward0",
    "m.split(2)[0]": "SplitBackward0", "m.unbind()[0]": "UnbindBackward0", "m.expand(2, 3, 3)": "ExpandBackward0",
    "m.diagonal()": "DiagonalBackward0",
    # in place
    "z.clone().conj_physical_()": "ConjPhysicalBackward1", "torch.conj_physical(z)": "ConjPhysicalBackward0",
    "F.leaky_relu(x.clone(), inplace=True)": "LeakyReluBackward1", "F.elu(x.clone(), inplace=True)": "EluBackward1",
    "F.threshold(x.clone(), 0.1, 0.2, True)": "ThresholdBackward1", "F.leaky_relu(x)": "LeakyReluBackward0", "F.elu(x)": "EluBackward0",
    "c.clone().copy_(x)": "torch::autograd::CopyBackwards", "x.clone().zero_()": "ZeroBackward0",
    # random numbers
    "x.clone().uniform_()": "UniformBackward0", "x.clone().normal_()": "NormalBackward0", "x.clone().bernoulli_()": "BernoulliBackward2",
    "x.clone().bernoulli_(c)": "BernoulliBackward1", "x.clone().exponential_()": "ExponentialBackward0", "x.clone().cauchy_()": "CauchyBackward0",
    "x.clone().geometric_(0.5)": "GeometricBackward0", "x.clone().log_normal_()": "LogNormalBackward0", "x.clone().random_()": "RandomBackward2",
    "x.clone().random_(3)": "RandomBackward1", "x.clone().random_(1, 3)": "RandomBackward0", "torch.bernoulli(x)": "BernoulliBackward0",
    "torch.poisson(x)": "PoissonBackward0", "torch.normal(x, 1.0)": "NormalBackward1", "torch.normal(0.0, x)": "NormalBackward2",
    "torch.normal(x, x)": "NormalBackward3", "F.rrelu(x)": "RreluWithNoiseBackward0", "F.rrelu(x, training=True)": "RreluWithNoiseBackward0",
    # layers, by the number of dimensions
    "F.max_pool1d(i1, 2)": "SqueezeBackward1", "F.max_pool2d(i2, 2)": "MaxPool2DWithIndicesBackward0",
    "F.max_pool2d(i2[0], 2)": "MaxPool2DWithIndicesBackward0", "F.max_pool3d(i3, 2)": "MaxPool3DWithIndicesBackward0",
    "F.avg_pool1d(i1, 2)": "SqueezeBackward1", "F.avg_pool2d(i2, 2)": "AvgPool2DBackward0", "F.avg_pool3d(i3, 2)": "AvgPool3DBackward0",
    "F.adaptive_avg_pool1d(i1, 2)": "SqueezeBackward1", "F.adaptive_avg_pool2d(i2, 2)": "AdaptiveAvgPool2DBackward0",
    "F.adaptive_avg_pool2d(i2, 1)": "MeanBackward1", "F.adaptive_avg_pool3d(i3, 2)": "AdaptiveAvgPool3DBackward0",
    "F.adaptive_max_pool2d(i2, 2)": "AdaptiveMaxPool2DBackward0", "F.adaptive_max_pool3d(i3, 2)": "AdaptiveMaxPool3DBackward0",
    "F.max_unpool2d(*F.max_pool2d(i2, 2, return_indices=True), 2)": "MaxUnpool2DBackward0",
    "F.fractional_max_pool2d(i2, 2, output_size=2)": "FractionalMaxPool2DBackward0",
    "F.interpolate(i1, scale_factor=2)": "UpsampleNearest1DBackward0",
    "F.interpolate(i2, scale_factor=2)": "UpsampleNearest2DBackward0", "F.interpolate(i3, scale_factor=2)": "UpsampleNearest3DBackward0",
    "F.interpolate(i1, scale_factor=2, mode='linear')": "UpsampleLinear1DBackward0",
    "F.interpolate(i2, scale_factor=2, mode='bilinear')": "UpsampleBilinear2DBackward0",
    "F.interpolate(i2, scale_factor=0.5, mode='bilinear', antialias=True)": "UpsampleBilinear2DAaBackward0",
    "F.interpolate(i2, scale_factor=2, mode='bicubic')": "UpsampleBicubic2DBackward0",
    "F.interpolate(i3, scale_factor=2, mode='trilinear')": "UpsampleTrilinear3DBackward0",
    "F.interpolate(i2, scale_factor=2, mode='nearest-exact')": "UpsampleNearestExact2DBackward0",
    "F.interpolate(i2, scale_factor=0.5, mode='area')": "AdaptiveAvgPool2DBackward0",
    "F.grid_sample(i2, torch.zeros(1, 3, 3, 2), align_corners=False)": "GridSampler2DBackward0",
    "F.grid_sample(i3, torch.zeros(1, 3, 3, 3, 3), align_corners=False)": "GridSampler3DBackward0",
    "F.affine_grid(b[:1, :2], (1, 2, 3, 3), align_corners=False)": "AffineGridGeneratorBackward0",
    "F.pixel_shuffle(i2[:, :, :2, :2].repeat(1, 2, 1, 1), 2)": "PixelShuffleBackward0", "F.pixel_unshuffle(i2, 2)": "PixelUnshuffleBackward0",
    "F.embedding_bag(n.reshape(1, 2), m)": "EmbeddingBagBackward0", "F.embedding_bag(n.reshape(1, 2), m, mode='max')": "EmbeddingBagBackward0",
    "F.group_norm(i2, 2)": "NativeGroupNormBackward0", "F.layer_norm(x, (3,))": "NativeLayerNormBackward0", "F.rms_norm(x, (3,))": "MulBackward0",
    "F.batch_norm(m, None, None, training=True)": "NativeBatchNormBackward0",
    "F.scaled_dot_product_attention(b, b, b)": "UnsafeViewBackward0",
    "F.scaled_dot_product_attention(b[None], b[None], b[None])": "ScaledDotProductFlashAttentionForCpuBackward0",
    "torch.cdist(m, m)": "CdistBackward0", "torch.cdist(m, m, 1.0)": "CdistBackward0", "torch.pdist(m)": "PdistBackward0",
    "torch.dist(x, c)": "DistBackward0", "F.pairwise_distance(m, m + 1)": "NormBackward1",
    # losses
    "F.l1_loss(x, c)": "MeanBackward0", "F.l1_loss(x, c, reduction='sum')": "SumBackward0", "F.l1_loss(x, c, reduction='none')": "AbsBackward0",
    "F.mse_loss(x, c)": "MseLossBackward0", "F.cross_entropy(m[:2], n)": "NllLossBackward0",
    "F.cross_entropy(b, n.repeat(3).reshape(2, 3))": "NllLoss2DBackward0", "F.nll_loss(m[:2], n)": "NllLossBackward0",
    "F.nll_loss(b, n.repeat(3).reshape(2, 3))": "NllLoss2DBackward0", "F.binary_cross_entropy(x, c)": "BinaryCrossEntropyBackward0",
    "F.binary_cross_entropy_with_logits(x, c, reduction='sum')": "BinaryCrossEntropyWithLogitsBackward0",
    "F.soft_margin_loss(x, c)": "SoftMarginLossBackward0", "F.multi_margin_loss(m[:2], n)": "MultiMarginLossBackward0",
    "torch.linalg.householder_product(m, x)": "LinalgHouseholderProductBackward0",
    "torch.triangular_solve(m, m + torch.eye(3))[0]": "TriangularSolveBackward0",
    "torch.linalg.lu_solve(*torch.linalg.lu_factor(m + torch.eye(3)), m)": "LinalgLuSolveBackward0",
}  # fmt: skip


@pytest.fixture
def names(torch):
    """Arguments: ``x`` a vector, ``m`` a matrix, ``b`` a batch of them, ``i1`` … ``i3`` images, ``c`` a constant, ``n`` integers."""
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


def test_the_name_is_the_same_from_every_side(torch):
    x = torch.rand(2, 3, 3, requires_grad=True)
    y = (x @ x).sum()
    (node, _), = y.grad_fn.next_functions
    assert node.name() == "UnsafeViewBackward0" and type(node).__name__ == "UnsafeViewBackward0"
    z = x @ x
    assert "UnsafeViewBackward0" in repr(z) and z.grad_fn.name() == z.grad_fn.name() == "UnsafeViewBackward0"


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


WHOLE = {  # calls that are one node, though made of several steps here: where their edges lead, and something remembered
    "F.binary_cross_entropy(x, c)": ("x", None), "F.binary_cross_entropy_with_logits(x, c)": ("x", None), "F.soft_margin_loss(x, c)": ("x",),
    "F.grid_sample(i2, g)": ("i2", "g"), "F.pixel_shuffle(i2.repeat(1, 2, 1, 1), 2)": ("RepeatBackward0",), "torch.cdist(m, m)": ("m", "m"),
    "F.interpolate(i2, scale_factor=2, mode='bilinear')": ("i2",), "F.max_unpool2d(i2, n4, 2)": ("i2",), "F.adaptive_avg_pool2d(i2, 3)": ("i2",),
    "F.conv_transpose2d(i2, w, x[:2])": ("i2", "w", "SliceBackward0"), "torch.expand_copy(x, (2, 3))": ("x",),
    "F.multi_margin_loss(m[:2], n)": ("SliceBackward0",), "F.embedding_bag(n.reshape(1, 2), m)": ("m", None), "torch.pdist(m)": ("m",),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", WHOLE)
def test_one_node_for_the_whole(torch, names, code):
    names |= {"i2": torch.rand(1, 2, 4, 4).requires_grad_(), "g": (torch.rand(1, 3, 3, 2) - 0.5).requires_grad_(),
              "w": torch.rand(2, 2, 2, 2).requires_grad_(), "n4": torch.arange(16).reshape(4, 4).expand(1, 2, 4, 4)}  # fmt: skip
    y = eval(code, names)
    below = [n for n, _ in y.grad_fn.next_functions]
    found = [None if n is None else next((k for k, v in names.items() if v is getattr(n, "variable", 0)), n.name()) for n in below]
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
    node = F.interpolate(torch.ones(1, 1, 2).requires_grad_(), 4, mode="linear").grad_fn
    assert node._saved_output_size == (4,) and node._saved_align_corners is False and node._saved_scales is None
    assert node._saved_self_sym_sizes == (1, 1, 2)
    assert F.interpolate(torch.ones(1, 1, 2).requires_grad_(), scale_factor=0.5, mode="linear").grad_fn._saved_scales == 0.5
    assert torch.ones(2, 2).requires_grad_().sum(-1).grad_fn._saved_dim == (2**64 - 1,)


def test_edges_of_numbers(torch):
    x = torch.rand(3).requires_grad_()
    assert len((x**2).grad_fn.next_functions) == len((x % 2).grad_fn.next_functions) == len((1 - x).grad_fn.next_functions) == 1
    assert [n is None for n, _ in (x * 2).grad_fn.next_functions] == [False, True]


@pytest.mark.parametrize("name", ["fft2", "ifft2", "fftn", "ifftn"])
def test_transforms_over_several_dimensions_are_of_complex_numbers(torch, name):
    x = torch.ones(2, 3, requires_grad=True)
    node = getattr(torch.fft, name)(x).grad_fn
    below = node.next_functions[0][0]
    assert (node.name(), below.name()) == ("FftC2CBackward0", "ToCopyBackward0") and below.next_functions[0][0].variable is x
    (g,) = torch.autograd.grad(getattr(torch.fft, name)(x).abs().sum(), x)
    assert g.dtype == torch.float32
    assert getattr(torch.fft, name.rstrip("2n"))(x).grad_fn.name() in ("FftR2CBackward0", "ConjBackward0", "ConjPhysicalBackward0")


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
    assert [node and node.name() for node, _ in torch.div(number, x).grad_fn.next_functions] == [None, "torch::autograd::AccumulateGrad"]
    assert (number / torch.tensor([2, 4])).tolist() == [number / 2, number / 4]


def below(node):
    """The names of the nodes that ``node`` leads to, and of itself; None for an edge to nowhere."""
    if node is None:
        return None
    name = node.name().removeprefix("torch::autograd::")
    return (name, *(below(n) for n, _ in node.next_functions)) if name != "AccumulateGrad" else "leaf"


def test_a_number_before_an_operator(torch):
    x = torch.arange(1.0, 4.0).requires_grad_()
    c = torch.ones(3, dtype=torch.complex64, requires_grad=True)
    for y in (2 * x, x * 2, x.__rmul__(2), 2 + x, x + 2, True * x, 2j * x, 2 * c, 2.5 * c):
        (first, number), (second, _) = y.grad_fn.next_functions
        assert first.name() == "torch::autograd::AccumulateGrad" and number == 0 and second is None
    assert (2 * x).grad_fn._saved_other.item() == 2 and (2 * x).grad_fn._saved_self is None
    for y in (2 // x, x // 2, x // torch.ones(3), torch.ones(3) // x):
        assert y.grad_fn.name() == "torch::autograd::NotImplemented" and len(y.grad_fn.next_functions) == 1
    assert len((x // x).grad_fn.next_functions) == 2
    assert below((2 / x).grad_fn) == ("MulBackward0", ("ReciprocalBackward0", "leaf"), None)
    assert below((2 - x).grad_fn) == ("RsubBackward1", "leaf")


def test_a_kronecker_product_is_made_of_unsafe_views(torch):
    x = torch.ones(2, 2, requires_grad=True)
    part = ("UnsafeViewBackward0", "leaf")
    assert below(torch.kron(x, x).grad_fn) == ("UnsafeViewBackward0", ("MulBackward0", part, part))


def test_a_product_keeps_its_name_after_the_backward(torch):
    shapes = [(3,), (2, 3), (4, 2, 3)], [(3,), (3, 2), (4, 3, 2)]
    for first in shapes[0]:
        for second in shapes[1]:
            for needs in ((True, True), (True, False), (False, True)):
                a, b = (torch.ones(s, requires_grad=need) for s, need in zip((first, second), needs))
                y, z = a @ b, a @ b
                name = y.grad_fn.name()
                z.sum().backward()
                assert z.grad_fn.name() == name, (first, second, needs)


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda x: x[0], ("SelectBackwardBackward0", "leaf")),
        (lambda x: x[:, 1:], ("SliceBackwardBackward0", "leaf")),
        (lambda x: x.narrow(0, 0, 1), ("SliceBackwardBackward0", "leaf")),
        (lambda x: x.diagonal(), ("DiagonalBackwardBackward0", "leaf")),
        (lambda x: x.unfold(0, 2, 1), ("UnfoldBackwardBackward0", "leaf")),
        (lambda x: x.expand(3, 2, 2), ("ViewBackward0", ("SumBackward1", "leaf"))),
        (lambda x: x + torch_like(x, 3, 2, 2), ("ViewBackward0", ("SumBackward1", "leaf"))),
        (lambda x: x * torch_like(x, 1, 2, 2), ("ViewBackward0", ("SumBackward1", ("MulBackward0", "leaf", None)))),
    ],
)
def test_nodes_of_second_derivatives(torch, make, expected):
    x = torch.ones(2, 2, requires_grad=True)
    y = make(x)
    (g,) = torch.autograd.grad(y, x, torch.ones_like(y, requires_grad=True), create_graph=True)
    assert below(g.grad_fn) == expected


def torch_like(x, *shape):
    return x.detach().new_ones(shape)


def test_second_derivatives_of_batched_products_are_batched_products(torch):
    a, b = torch.ones(2, 3, 4, requires_grad=True), torch.ones(2, 4, 5, requires_grad=True)
    for y in (torch.bmm(a, b), torch.baddbmm(torch.ones(2, 3, 5), a, b)):
        g, h = torch.autograd.grad(y, (a, b), torch.ones_like(y, requires_grad=True), create_graph=True)
        assert below(g.grad_fn) == ("BmmBackward0", "leaf", ("TransposeBackward0", "leaf"))
        assert below(h.grad_fn) == ("BmmBackward0", ("TransposeBackward0", "leaf"), "leaf")


def test_the_remainder_of_a_number_has_no_derivative(torch):
    x = torch.tensor([3.0, 0.7], requires_grad=True)
    for y in (2 % x, torch.remainder(2.0, x)):
        assert y.grad_fn.name().endswith("NotImplemented")
        assert [n for _, n in y.grad_fn.next_functions] == [0]
        with pytest.raises(RuntimeError, match="derivative for aten::remainder is not implemented"):
            y.sum().backward()
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
