"""What a dispatch mode sees of a forward and of its backward, in PyTorch's operators."""

import importlib
import math

import pytest

# an expression of the tensors below: what is seen of it, and then of the backward of its sum; None where the
# gradient takes steps of our own
SEEN = {
    "a+a": ("add.Tensor", "ones_like expand add.Tensor detach"),
    "2/a": ("reciprocal detach mul.Tensor", None),
    "a**2": ("pow.Tensor_Scalar", "ones_like expand pow.Tensor_Scalar mul.Scalar mul.Tensor detach"),
    "a**a": ("pow.Tensor_Tensor detach", None),
    "2**a": ("pow.Scalar detach", None),
    "a.reciprocal()": ("reciprocal detach", None),
    "a.tan()": ("tan detach", "ones_like expand detach pow.Tensor_Scalar add.Scalar mul.Tensor detach"),
    "a.asin()": ("asin", "ones_like expand neg mul.Tensor add.Scalar rsqrt mul.Tensor detach"),
    "a.atanh()": ("atanh", None),
    "a.erf()": ("erf", "ones_like expand pow.Tensor_Scalar neg exp mul.Scalar mul.Tensor detach"),
    "a.exp2()": ("exp2 detach", "ones_like expand detach mul.Tensor mul.Scalar detach"),
    "a.floor()": ("floor", None),
    "a.clamp(0.1,0.5)": ("clamp", None),
    "a.clamp(min=0.2)": ("clamp", None),
    "a.sum(0)": ("sum.dim_IntList", "ones_like expand unsqueeze expand new_empty_strided copy_"),
    "a.sum((0,1))": ("sum.dim_IntList", "ones_like expand unsqueeze unsqueeze expand new_empty_strided copy_"),
    "a.mean(0)": ("mean.dim", "ones_like expand unsqueeze expand div.Scalar detach"),
    "a.var()": ("var.correction", None),
    "a.std(1)": ("std.correction detach", None),
    "a.max()": ("max detach", None),
    "a.max(0)[0]": ("max.dim", None),
    "a.amin()": ("amin detach", None),
    "a.amax(0)": ("amax detach", None),
    "a.norm()": ("linalg_vector_norm detach", None),
    "a.norm(p=3)": ("linalg_vector_norm detach", None),
    "a.logsumexp(0)": (
        "logsumexp detach",
        "ones_like expand detach unsqueeze unsqueeze sub.Tensor exp mul.Tensor detach",
    ),
    "a.sort()[0]": ("sort", None),
    "a.topk(2)[0]": ("topk", None),
    "a.nansum()": ("nansum", None),
    "torch.where(a>.3,a,0.)": (
        "gt.Scalar scalar_tensor where.self",
        "ones_like expand scalar_tensor where.self detach",
    ),
    "torch.maximum(a,a+1)": ("add.Tensor maximum", None),
    "torch.atan2(a,a)": ("atan2", None),
    "torch.hypot(a,a)": (
        "hypot detach",
        "ones_like expand detach mul.Tensor div.Tensor mul.Tensor div.Tensor add.Tensor detach",
    ),
    "torch.addcmul(a,a,a)": (
        "addcmul",
        "ones_like expand mul.Scalar mul.Tensor mul.Scalar mul.Tensor add.Tensor add.Tensor detach",
    ),
    "torch.addcdiv(a,a,a)": ("addcdiv", None),
    "torch.lerp(a,a+1,a)": ("add.Tensor lerp.Tensor", None),
    "a@b": ("mm", "ones_like expand t mm t mm detach detach"),
    "a.mv(v)": ("mv", None),
    "t@u": (
        "expand view expand view bmm _unsafe_view",
        "ones_like expand view transpose.int bmm transpose.int bmm view detach view detach",
    ),
    "t.matmul(b2)": ("view mm _unsafe_view", "ones_like expand view t mm t mm detach view detach"),
    "torch.addmm(c,a,b,beta=2,alpha=3)": (
        "addmm",
        "ones_like expand t mm mul.Scalar t mm mul.Scalar mul.Scalar detach detach detach",
    ),
    "a.t().reshape(6)": ("t clone _unsafe_view", "ones_like expand view t new_empty_strided copy_"),
    "a[1:]": ("slice.Tensor", "ones_like expand slice_backward detach"),
    "a[0,1]": ("select.int select.int", "ones_like expand select_backward select_backward detach"),
    "a[I[:2]%2]": ("slice.Tensor remainder.Scalar index.Tensor", None),
    "a.split([1,1])[1]": ("split_with_sizes", None),
    "a.gather(1,I[None])": ("unsqueeze gather", None),
    "a.index_select(1,I)": ("index_select", None),
    "a.index_copy(1,I,a)": ("index_copy", None),
    "a.squeeze()": ("squeeze", "ones_like expand new_empty_strided copy_"),
    "F.mse_loss(a,a.detach()+1)": ("detach add.Tensor mse_loss", None),
    "F.smooth_l1_loss(a,a.detach()+1)": (
        "detach add.Tensor smooth_l1_loss",
        None,
    ),
    "F.huber_loss(a,a.detach()+1)": ("detach add.Tensor huber_loss", None),
    "F.cross_entropy(s,I)": (
        "_log_softmax detach nll_loss_forward",
        None,
    ),
    "F.softshrink(a,.2)": ("softshrink", None),
    "F.embedding(I,s)": ("embedding", None),
    "F.conv2d(im,k,bk)": ("convolution", "ones_like expand convolution_backward detach detach detach"),
    "F.max_pool2d(im,2)": ("max_pool2d_with_indices", None),
    "F.avg_pool2d(im,2)": ("avg_pool2d", None),
    "F.layer_norm(a,(3,),v,v)": (
        "native_layer_norm",
        "ones_like expand native_layer_norm_backward add.Tensor detach detach",
    ),
    "(a*1).mul_(a)": (
        "mul.Tensor clone mul_.Tensor",
        "ones_like expand mul.Tensor mul.Tensor mul.Tensor add.Tensor detach",
    ),
    "(a*1).relu_()": ("mul.Tensor relu_ detach", "ones_like expand detach threshold_backward mul.Tensor detach"),
    "(a*1).copy_(a)": ("mul.Tensor copy_", None),
    "ip5(a)": (
        "mul.Tensor view add_.Tensor",
        "ones_like expand new_empty_strided copy_ as_strided clone copy_ mul.Tensor detach",
    ),
}


def tensors(torch):
    def leaf(*shape):
        n = math.prod(shape)
        return (torch.arange(1.0, n + 1).reshape(shape) / n * 0.9).requires_grad_()

    def add_through_view(a):
        b = a * 1
        b.view(6).add_(1)
        return b

    return {
        "torch": torch, "F": torch.nn.functional, "I": torch.tensor([0, 2, 1]), "ip5": add_through_view,
        "a": leaf(2, 3), "b": leaf(3, 4), "c": leaf(2, 4), "v": leaf(3), "t": leaf(2, 3, 4), "u": leaf(2, 4, 3),
        "b2": leaf(4, 5), "s": leaf(3, 3), "im": leaf(1, 1, 4, 4), "k": leaf(2, 1, 3, 3), "bk": leaf(2),
    }


@pytest.fixture
def seen(torch):
    base = importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode

    class Seen(base):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func).removeprefix("aten.").removesuffix(".default"))
            return func(*args, **(kwargs or {}))

    return Seen


@pytest.mark.parametrize("expression", SEEN)
def test_names_and_their_order(torch, seen, expression):
    forward, backward = SEEN[expression]
    scope = tensors(torch)
    with seen() as mode:
        y = eval(expression, scope)
    assert mode.names == forward.split()
    with seen() as mode:
        y.sum().backward()
    assert backward is None or mode.names == ["sum", *backward.split()]


@pytest.mark.parametrize("expression", SEEN)
def test_the_gradients_are_those_of_a_backward_that_nobody_sees(torch, seen, expression):
    watched, plain = tensors(torch), tensors(torch)
    with seen():
        eval(expression, watched).sum().backward()
    eval(expression, plain).sum().backward()
    for name, t in plain.items():
        if isinstance(t, torch.Tensor) and t.requires_grad:
            assert (t.grad is None) == (watched[name].grad is None)
            assert t.grad is None or torch.allclose(t.grad, watched[name].grad, equal_nan=True)


def test_a_part_counted_from_the_end(torch, seen):
    x = torch.arange(6.0).reshape(2, 3)
    with seen() as mode:
        y = x.narrow(1, -2, 2)
    assert mode.names == ["slice.Tensor"] and y.tolist() == [[1, 2], [4, 5]]


# operators of gradients, called by name: what they give is the gradient of the function
CALLED = {
    "sigmoid_backward(g, x.sigmoid())": "x.sigmoid()", "gelu_backward(g, x)": "F.gelu(x)",
    "silu_backward(g, x)": "F.silu(x)", "leaky_relu_backward(g, x, 0.1, False)": "F.leaky_relu(x, 0.1)",
    "elu_backward(g, 1.0, 1.0, 1.0, False, x)": "F.elu(x)",
    "hardtanh_backward(g, x, -0.3, 0.3)": "F.hardtanh(x, -0.3, 0.3)",
    "softplus_backward(g, x, 1.0, 20.0)": "F.softplus(x)",
    "_softmax_backward_data(g, x.softmax(1), 1, x.dtype)": "x.softmax(1)",
}


@pytest.mark.parametrize("call", CALLED)
def test_operators_of_gradients_by_name(torch, call):
    scope = {
        "F": torch.nn.functional, "x": torch.tensor([[0.1, -0.5, 0.7], [0.35, 0.2, -0.9]], requires_grad=True),
        "g": torch.tensor([[1.0, 2.0, -1.0], [0.5, 3.0, 2.0]]), "t": torch.tensor([[0.2, 0.4, 0.1], [0.1, 0.6, 0.3]]),
        "i": torch.arange(9.0).reshape(1, 3, 3).sin().requires_grad_(), "aten": torch.ops.aten,
    }
    found = eval(f"aten.{call}", scope)
    y, leaf = eval(CALLED[call], scope), scope["i" if "pool" in call else "x"]
    seed = scope["g"] if y.shape == scope["g"].shape else scope["g"][None, :, :2] if y.dim() else None
    (expected,) = torch.autograd.grad(y, leaf, seed)
    assert found.shape == leaf.shape and torch.allclose(found.detach(), expected, atol=1e-6)
