"""Every operator of ``torch.ops.aten`` with a name of its own here, called with PyTorch's arguments
on both libraries.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import wengert
from wengert.dispatch import aten
from wengert.dispatch import decompositions as lowering
from wengert.dispatch import torch_dispatch as dispatch

reference = pytest.importorskip("torch")

SUM, MEAN, NONE = 2, 1, 0  # reductions, as aten has them


def N(*shape, seed=0, dtype="float64"):
    """Numbers that a gradient is asked for."""
    return lambda torch: (
        torch.tensor(np.random.default_rng([seed, *shape]).standard_normal(shape))
        .to(getattr(torch, dtype))
        .requires_grad_()
    )


def P(*shape, seed=0):
    """Positive ones."""
    return lambda torch: torch.tensor(np.random.default_rng([seed, *shape]).random(shape) + 0.3).requires_grad_()


def Z(*shape):
    """Complex ones."""
    return lambda torch: torch.complex(N(*shape)(torch).detach(), N(*shape, seed=1)(torch).detach()).requires_grad_()


def K(*values, **options):
    """A tensor without a gradient."""
    return lambda torch: torch.tensor(values[0], **{k: getattr(torch, v) for k, v in options.items()})


def D(name):
    """A type, or another attribute of the library."""
    return lambda torch: getattr(torch, name)


X, Y, A, B = N(2, 3), N(2, 3, seed=1), P(2, 3), P(2, 3, seed=1)
I, J = K([[1, 2, 3], [4, 5, 6]]), K([[1, 1, 2], [2, 3, 1]])
IMAGE, ROWS = N(2, 4, 6, 5), K([2, 0, 1])
WHERE = K([[True, False, True], [False, False, True]])
SQUARE = P(3, 3)
DEFINITE = K([[3.0, 1.0, 0.5], [1.0, 4.0, 0.2], [0.5, 0.2, 5.0]])
CHANNELS = N(4, 3, 2), P(3), N(3, seed=3)
POOLED = K(np.arange(48).reshape(2, 4, 3, 2) % 5)
OUTER = N(2, 4, 3, 2)


def stat(values, view, shape, eps, which):
    """The mean of the last dimension of some numbers that way, or one over its standard deviation."""

    def of(torch):
        rows = values(torch).detach()
        rows = rows.transpose(0, 1).flatten(1) if view is None else rows.reshape(view)
        return (rows.mean(-1) if which == "mean" else (rows.var(-1, correction=0) + eps).rsqrt()).reshape(shape)

    return of


def stats(values, view, shape):
    return [stat(values, view, shape, 1e-5, which) for which in ("mean", "rstd")]


def constant(value):
    return lambda torch: value(torch).detach()


TALL = N(2, 4, 3, seed=1)
LONG = N(4, 3, 2, seed=1)
# overload -> positional arguments; those after "named" go by keyword
CALLS = {
    **{
        f"{n}.Tensor": (A, B)
        for n in (
            "add",
            "sub",
            "mul",
            "div",
            "true_divide",
            "rsub",
            "eq",
            "ne",
            "lt",
            "le",
            "gt",
            "ge",
            "fmod",
            "remainder",
            "xlogy",
            "clamp_min",
            "clamp_max",
            "clamp",
        )
    },
    **{
        f"{n}.Scalar": (A, 0.7)
        for n in ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "rsub", "fmod", "remainder")
    },
    **{f"bitwise_{n}.Tensor": (I, J) for n in ("and", "or", "xor", "left_shift", "right_shift")},
    **{f"bitwise_{n}.Scalar": (I, 3) for n in ("and", "or", "xor")},
    **{f"bitwise_{n}.Tensor_Scalar": (I, 3) for n in ("left_shift", "right_shift")},
    **{f"{n}.default": (WHERE,) for n in ("any", "all")},
    **{f"{n}.dim": (WHERE, 1) for n in ("any", "all")},
    **{f"{n}.dims": (WHERE, [0, 1]) for n in ("any", "all")},
    "fill.Scalar": (X, 2.0),
    "fill.Tensor": (X, K(2.0, dtype="float64")),
    "index.Tensor": (X, [K([1, 0, 1])]),
    "searchsorted.Tensor": (K([1.0, 2.0, 4.0]), K([0.0, 2.0, 9.0])),
    "unsafe_split.Tensor": (X, 2, 1),
    "masked_fill.Scalar": (X, WHERE, 2.0),
    "masked_fill.Tensor": (X, WHERE, K(2.0, dtype="float64")),
    "lerp.Scalar": (X, Y, 0.3),
    "lerp.Tensor": (X, Y, A),
    "squeeze.default": (N(1, 2, 1),),
    "squeeze.dim": (N(1, 2, 1), 0),
    "squeeze.dims": (N(1, 2, 1), [0, 2]),
    "_fft_r2c.default": (X, [1], 0, True),
    "_fft_c2c.default": (Z(2, 3), [1], 0, True),
    "_fft_c2r.default": (Z(2, 3), [1], 0, 4),
    "linalg_inv_ex.default": (SQUARE,),
    "_linalg_solve_ex.default": (SQUARE, N(3, 2)),
    "_linalg_svd.default": (N(3, 2), False, False),
    "linalg_cholesky_ex.default": (DEFINITE,),
    "_linalg_det.default": (SQUARE,),
    "pow.Tensor_Scalar": (A, 2.5),
    "pow.Tensor_Tensor": (A, B),
    "pow.Scalar": (2.0, A),
    "binary_cross_entropy_with_logits.default": (X, K([[0.0, 1, 0], [1, 0.5, 1]], dtype="float64"), None, None, SUM),
    "_unique2.default": (J, True, True, True),
    "max_pool2d_with_indices.default": (IMAGE, [2, 2], [2, 2]),
    "avg_pool2d.default": (IMAGE, [2, 2], [2, 2]),
    "embedding.default": (N(4, 3), K([1, 3, 1]), 3),
    "sum.dim_IntList": (X, [1], True),
    "expand.default": (N(3), [2, 3]),
    "sum.default": (X,),
    "mean.default": (X,),
    "prod.default": (X,),
    "_conj.default": (Z(2, 3),),
    "_unsafe_view.default": (X, [3, 2]),
    "diagonal_backward.default": (N(2), [2, 3], 1, 0, 1),
    "_neg_view.default": (X,),
    "repeat_interleave.Tensor": (K([1, 0, 2]),),
    "repeat_interleave.self_int": (X, 2, 1),
    "div.Tensor_mode": (A, B, "named", {"rounding_mode": "floor"}),
    "floor_divide.default": (A, B),
    "where.self": (WHERE, X, Y),
    "where.ScalarOther": (WHERE, X, 2.0),
    "log_sigmoid_forward.default": (X,),
    "clamp.default": (X, -0.5, 0.5),
    "clamp_min.default": (X, 0.1),
    "clamp_max.default": (X, 0.1),
    "mean.dim": (X, [0]),
    "prod.dim_int": (X, 1),
    **{f"{n}.dim": (X, 1) for n in ("max", "min", "median", "nanmedian")},
    **{f"{n}.default": (X,) for n in ("max", "min", "median", "nanmedian")},
    "sort.stable": (X, "named", {"stable": True}),
    "sort.default": (X, 1, True),
    **{f"{n}.correction": (X, [1], "named", {"correction": 1}) for n in ("var", "std", "var_mean", "std_mean")},
    "_trilinear.default": (N(5, 2), N(4, 2, 3), N(5, 3), [1, 3], [0], [1, 2], [2, 3]),
    "_safe_softmax.default": (X, 1),
    "_softmax.default": (X, 1, False),
    "_log_softmax.default": (X, 1, False),
    "transpose.int": (X, 0, 1),
    "split.Tensor": (X, 2, 1),
    "split_with_sizes.default": (X, [1, 2], 1),
    "select.int": (X, 1, -1),
    "unbind.int": (X, 1),
    "view.default": (X, [3, 2]),
    "copy.default": (X, Y),
    "_to_copy.default": (X, "named", {"dtype": D("float32")}),
    "scatter.value": (X, 1, K([[0], [2]]), 2.0),
    "scatter.src": (X, 1, K([[0], [2]]), N(2, 1)),
    "index_fill.int_Scalar": (X, 1, K([0, 2]), 2.0),
    "index_fill.int_Tensor": (X, 1, K([0, 2]), N()),
    "slice.Tensor": (X, 1, 0, 3, 2),
    "unsqueeze.default": (X, 1),
    "native_layer_norm.default": (X, [3], P(3), N(3), 1e-5),
    "native_group_norm.default": (N(2, 4, 3), P(4), N(4), 2, 4, 3, 2, 1e-5),
    "_fused_rms_norm.default": (X, [3], P(3), 1e-5),
    "native_batch_norm.default": (
        *CHANNELS,
        K([0.0] * 3, dtype="float64"),
        K([1.0] * 3, dtype="float64"),
        True,
        0.1,
        1e-5,
    ),
    "convolution.default": (IMAGE, N(3, 4, 3, 3), N(3), [2, 1], [1, 0], [1, 1], False, [0, 0], 1),
    "convolution_backward.default": (
        N(2, 3, 4, 3),
        N(2, 4, 6, 5),
        N(3, 4, 3, 3),
        [3],
        [1, 1],
        [0, 0],
        [1, 1],
        False,
        [0, 0],
        1,
        [True, True, True],
    ),
    "_scaled_dot_product_flash_attention_for_cpu.default": (
        N(2, 2, 4, 3),
        N(2, 2, 5, 3, seed=1),
        N(2, 2, 5, 3, seed=2),
    ),
    "nll_loss_forward.default": (N(3, 4), ROWS, None, MEAN, -100),
    "cross_entropy_loss.default": (N(3, 4), ROWS, None, SUM, 1, 0.1),
    "smooth_l1_loss.default": (X, Y, SUM, 0.7),
    "huber_loss.default": (X, Y, NONE, 0.7),
    "mse_loss.default": (X, Y, SUM),
    "l1_loss.default": (X, Y, MEAN),
    "soft_margin_loss.default": (X, K([[1.0, -1, 1], [1, 1, -1]], dtype="float64"), SUM),
    "nll_loss.default": (N(3, 4), ROWS, None, MEAN, -100),
    "binary_cross_entropy.default": (P(2, 3), K([[0.0, 1, 0], [1, 0.5, 1]], dtype="float64"), None, SUM),
    "_euclidean_dist.default": (N(2, 3), N(4, 3)),
    "isin.Tensor_Tensor": (I, J),
    "grid_sampler_2d.default": (IMAGE, N(2, 3, 4, 2), 0, 1, False),
    "grid_sampler_3d.default": (N(1, 2, 3, 4, 5), N(1, 2, 3, 4, 3), 0, 0, True),
    "im2col.default": (IMAGE, [2, 2], [1, 1], [0, 1], [2, 1]),
    "col2im.default": (N(1, 8, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1]),
    # gradients
    "_softmax_backward_data.default": (X, A, 1, D("float64")),
    "_log_softmax_backward_data.default": (X, Y, 1, D("float64")),
    "elu_backward.default": (X, 1.3, 1.0, 0.7, False, Y),
    "gelu_backward.default": (X, Y, "named", {"approximate": "tanh"}),
    **{
        f"{n}_backward.default": (X, Y)
        for n in ("hardsigmoid", "hardswish", "mish", "sigmoid", "silu", "tanh")
    },
    "hardtanh_backward.default": (X, Y, -0.5, 0.5),
    "leaky_relu_backward.default": (X, Y, 0.1, False),
    "log_sigmoid_backward.default": (X, Y, lambda torch: (-N(2, 3, seed=1)(torch).detach().abs()).exp()),
    "softplus_backward.default": (X, Y, 2.0, 20.0),
    "threshold_backward.default": (X, Y, 0.3),
    "nll_loss_backward.default": (
        N(),
        N(3, 4),
        ROWS,
        constant(P(4)),
        MEAN,
        1,
        lambda torch: (P(4)(torch).detach()[[2, 0]]).sum(),
    ),
    "native_layer_norm_backward.default": (X, Y, [3], *stats(Y, (2, 3), (2, 1)), P(3), N(3), [True, True, True]),
    "native_group_norm_backward.default": (
        N(2, 4, 3),
        TALL,
        *stats(TALL, (2, 2, 6), (2, 2)),
        P(4),
        2,
        4,
        3,
        2,
        [True, True, True],
    ),
    "native_batch_norm_backward.default": (
        N(4, 3, 2),
        LONG,
        P(3),
        None,
        None,
        *stats(LONG, None, (3,)),
        True,
        1e-5,
        [True, True, True],
    ),
    "max_pool2d_with_indices_backward.default": (OUTER, IMAGE, [2, 2], [2, 2], [0, 0], [1, 1], False, POOLED),
    "select_backward.default": (N(2), [2, 3], 1, 2),
    "slice_backward.default": (N(2, 2), [2, 3], 1, 0, 3, 2),
    # without a function or a method of the same name
    "_local_scalar_dense.default": (K(3.5),),
    "_reshape_alias.default": (X, [3, 2], [2, 1]),
    "lift_fresh.default": (X,),
    "lift_fresh_copy.default": (X,),
    "_new_zeros_with_same_feature_meta.default": (X, Y, "named", {"self_num_batch_dims": 1}),
    "native_dropout.default": (X, 0.3, False),
    "slice_inverse.default": (N(2, 3), N(2, 3, seed=1), 1, 0, 3, 1),
    "sym_numel.default": (X,),
    "sym_size.default": (X,),
    "sym_size.int": (X, 1),
    "sym_storage_offset.default": (X,),
    "sym_stride.default": (X,),
    "sym_stride.int": (X, 0),
    # beside those that are listed
    "native_batch_norm.default/2": (
        *CHANNELS,
        K([0.0] * 3, dtype="float64"),
        K([1.0] * 3, dtype="float64"),
        False,
        0.1,
        1e-5,
    ),
    "native_batch_norm.default/3": (CHANNELS[0], None, None, None, None, True, 0.1, 1e-5),
    "_native_batch_norm_legit.default": (
        *CHANNELS,
        K([0.0] * 3, dtype="float64"),
        K([1.0] * 3, dtype="float64"),
        True,
        0.1,
        1e-5,
    ),
    "_native_batch_norm_legit.no_stats": (*CHANNELS, True, 0.1, 1e-5),
    "native_batch_norm_backward.default/2": (
        N(4, 3),
        N(4, 3, seed=1),
        None,
        constant(N(3)),
        constant(P(3)),
        None,
        None,
        False,
        1e-5,
        [True, False, False],
    ),
    "native_layer_norm_backward.default/2": (X, Y, [2, 3], *stats(Y, (1, 6), (1, 1)), None, None, [True, False, False]),
    "native_group_norm_backward.default/2": (
        N(1, 4),
        N(1, 4, seed=1),
        *stats(N(1, 4, seed=1), (1, 2, 2), (1, 2)),
        None,
        1,
        4,
        1,
        2,
        [True, False, False],
    ),
    "convolution.default/2": (IMAGE, N(4, 3, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 0], 1),
    "elu_backward.default/2": (X, 1.3, 1.0, 1.0, True, Y),
    "leaky_relu_backward.default/2": (X, Y, 0.1, True),
    "nll_loss_backward.default/2": (N(3), N(3, 4), ROWS, None, NONE, -100, K(0.0, dtype="float64")),
    "nll_loss_forward.default/2": (N(3, 4), ROWS, constant(P(4)), SUM, 1),
    "gelu_backward.default/2": (X, Y),
    "_unique2.default/2": (J,),
    "sum.dim_IntList/2": (X, None),
    "avg_pool2d.default/2": (IMAGE, [2], [1], [1], True, False, 3),
}


def made(torch, value):
    if callable(value):
        return value(torch)
    if isinstance(value, (list, tuple)):
        return type(value)(made(torch, v) for v in value)
    return {k: made(torch, v) for k, v in value.items()} if isinstance(value, dict) else value


def flat(x):
    return [t for v in x for t in flat(v)] if isinstance(x, (list, tuple)) else [x]


def number(x):
    return x.detach().resolve_conj().resolve_neg().numpy() if hasattr(x, "detach") else x


def answered(torch, name, packet):
    """The results of a call, and what their gradients in the arguments are; the latter None where there is none."""
    op, _, overload = name.partition("/")[0].partition(".")
    args = list(made(torch, CALLS[name]))
    options = args.pop() if "named" in args else {}
    args = [a for a in args if type(a) is not str]
    function = getattr(torch.ops.aten, op)
    if not packet:
        function = getattr(function, overload)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = flat(function(*args, **options))
    tensors = [x for x in found if hasattr(x, "requires_grad") and x.requires_grad]
    leaves = [x for x in flat(args) if hasattr(x, "requires_grad") and x.requires_grad]
    loss = sum((t * t.conj() if t.is_complex() else t * t).real.sum() for t in tensors)
    try:
        grads = torch.autograd.grad(loss, leaves, materialize_grads=True) if tensors and leaves else ()
    except (RuntimeError, NotImplementedError):  # this is how PyTorch says that it has none
        grads = None
    return found, grads


def compared(ours, theirs, what):
    assert len(ours) == len(theirs), what
    for a, b in zip(ours, theirs):
        a, b = number(a), number(b)
        assert (a is None) == (b is None), what
        if isinstance(b, np.ndarray):
            assert (a.shape, a.dtype) == (b.shape, b.dtype), what
            np.testing.assert_allclose(a, b, 1e-6, 1e-8, err_msg=what)
        else:
            assert a == b, what


@pytest.mark.parametrize("name", CALLS)
def test_a_call(name):
    theirs, slopes = answered(reference, name, False)
    for packet in (False, True):
        ours, grads = answered(wengert, name, packet)
        compared(ours, theirs, name)
        if slopes is not None:
            compared(grads, slopes, f"gradients of {name}")


def test_all_that_are_listed_are_called():
    names = {theirs for theirs, _ in dispatch._NAMES.values()} | set(lowering.BACKWARD.values()) | set(aten.OPERATORS)
    called = {name.partition(".")[0] for name in CALLS}
    assert names - called == set()
    listed = {f"{name}.{overload}" for name, overload in dispatch._NAMES.values() if type(overload) is str}
    ours_only = {
        "convolution_backward.input",
        "convolution_backward.weight",
    }  # halves of an operator, as modes see them
    assert listed - set(CALLS) - ours_only == set()
