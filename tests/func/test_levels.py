"""Each derivative of ``torch.func`` is a level of its own: what is cut off, made or looked at inside of one."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

FUNCTION_STORAGE = (NotImplementedError, "Cannot access storage of TensorWrapper")
POINTER = (RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage")


def numbers(torch):
    return torch.tensor([1.0, 2.0, 3.0])


def gradient(torch, f):
    return torch.func.grad(lambda x: f(x).sum())(numbers(torch)).tolist()


# -- cutting a history -------------------------------------------------------------------------------------------------


def test_detach_cuts_all_levels(torch):
    inner = torch.func.grad(lambda y: (y.detach() * y).sum())
    assert torch.func.grad(lambda x: inner(x).sum())(numbers(torch)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("of", ["own", "outer"])
def test_detach_in_place_cuts_the_innermost_level_alone(torch, of):
    def f(x):
        def inner(y):
            return (((y if of == "own" else x) * 2).detach_() * y).sum()

        return torch.func.grad(inner)(x).sum()

    assert torch.func.grad(f)(numbers(torch)).tolist() == [2, 2, 2]


def test_detach_in_place_cuts_the_only_level(torch):
    assert gradient(torch, lambda x: x * (x * 1).detach_()) == [1, 2, 3]
    assert torch.func.jvp(lambda x: x * (x * 2).detach_(), (numbers(torch),), (torch.ones(3),))[1].tolist() == [2, 4, 6]


def test_detach_in_place_leaves_the_users_own_graph(torch):
    w = torch.ones(3, requires_grad=True)
    torch.func.grad(lambda x: ((w * 3 * x).detach_() * x).sum())(numbers(torch)).sum().backward()
    assert w.grad.tolist() == [3, 6, 9]


def test_detach_in_place_in_a_map_is_refused_and_below_a_derivative_is_not(torch):
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        torch.vmap(lambda x: (x * 2).detach_())(torch.ones(2, 3))
    found = torch.vmap(torch.func.grad(lambda y: ((y * 2).detach_() * y).sum()))(torch.ones(2, 3))
    assert found.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_data_cuts_the_level_that_the_tensor_is_of(torch):
    def of_inner(x):
        return torch.func.grad(lambda y: (y * y.data * x).sum())(x).sum()

    def of_outer(x):
        return torch.func.grad(lambda y: (y * y * x.data).sum())(x).sum()

    assert torch.func.grad(of_inner)(numbers(torch)).tolist() == [2, 4, 6]
    assert torch.func.grad(of_outer)(numbers(torch)).tolist() == [2, 4, 6]
    assert gradient(torch, lambda x: x * x.data) == [1, 2, 3]


def test_data_cannot_be_set(torch):
    def f(x):
        y = x * 2
        y.data = torch.ones(3)
        return y

    with pytest.raises(RuntimeError, match="mutating directly with `.data` inside functorch transform is not allowed"):
        gradient(torch, f)


def test_leaves_made_inside_are_of_their_level(torch):
    def f(x):
        y = torch.ones(3)
        y.requires_grad = True
        return (x * y * torch.tensor([1.0, 2.0, 3.0], requires_grad=True)).sum()

    found = torch.func.grad(f)(numbers(torch))
    assert found.tolist() == [1, 2, 3] and not found.requires_grad
    _, pull = torch.func.vjp(torch.sin, torch.zeros(3))
    assert not pull(torch.ones(3), create_graph=True)[0].requires_grad


def test_leaves_of_inner_derivatives_are_nobody_elses(torch):
    x = torch.ones(2, 3)

    def inner(y, w):
        return (y * w).sum().sin()

    w = torch.full((3,), 0.5)
    for f in (
        lambda w: torch.func.grad(inner)(x, w).pow(2).sum(),
        lambda w: torch.vmap(torch.func.grad(inner), (0, None))(x, w).pow(2).sum(),
        lambda w: torch.func.vjp(inner, x, w)[1](torch.tensor(1.0))[0].sum(),
    ):
        assert not torch.func.grad(f)(w).requires_grad
        assert not torch.func.jacrev(f)(w).requires_grad


# -- looking at memory -------------------------------------------------------------------------------------------------

LOOKS = {
    "numpy": (lambda torch, x: x.detach().numpy(), POINTER),
    "numpy of a new tensor": (lambda torch, x: torch.ones(3).numpy(), POINTER),
    "data_ptr": (lambda torch, x: x.data_ptr(), POINTER),
    "pickle": (lambda torch, x: pickle.dumps(x), FUNCTION_STORAGE),
    "save": (lambda torch, x: torch.save(x, io.BytesIO()), FUNCTION_STORAGE),
    "deepcopy": (lambda torch, x: copy.deepcopy(x), FUNCTION_STORAGE),
    "copy": (lambda torch, x: copy.copy(x), FUNCTION_STORAGE),
    "untyped_storage": (lambda torch, x: x.untyped_storage(), FUNCTION_STORAGE),
    "share_memory_": (lambda torch, x: x.share_memory_(), FUNCTION_STORAGE),
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("transform", ["grad", "nested", "jvp"])
def test_memory_is_out_of_reach(torch, look, transform):
    if look == "pickle" and transform == "jvp":
        look = "deepcopy"
    look, (kind, text) = LOOKS[look]

    def f(x):
        look(torch, x)
        return x.sum()

    run = {
        "grad": lambda: torch.func.grad(f)(numbers(torch)),
        "nested": lambda: torch.func.grad(lambda x: torch.func.grad(f)(x).sum())(numbers(torch)),
        "jvp": lambda: torch.func.jvp(f, (numbers(torch),), (torch.ones(3),)),
    }[transform]
    with pytest.raises(kind, match=text):
        run()


def test_captured_tensors_become_no_arrays(torch):
    c = torch.ones(3)
    with pytest.raises(RuntimeError, match="Cannot access data pointer"):
        gradient(torch, lambda x: x * torch.from_numpy(c.numpy()))


def test_captured_tensors_and_numbers_are_within_reach(torch):
    c = torch.full((3,), 2.0)
    assert gradient(torch, lambda x: x * copy.deepcopy(c) * c.sum().item()) == [12, 12, 12]
    assert gradient(torch, lambda x: x * x.sum().item()) == [6, 6, 6]
    assert gradient(torch, lambda x: x * x.tolist()[1]) == [2, 2, 2]


def test_debug_unwrap(torch):
    seen = []

    def f(x):
        whole, one = torch.func.debug_unwrap(x), torch.func.debug_unwrap(x, recurse=False)
        seen.append((tuple(whole.shape), tuple(one.shape), whole.requires_grad))
        return x.sum()

    torch.vmap(torch.vmap(f))(torch.ones(2, 3, 4))
    torch.vmap(torch.func.grad(f))(torch.ones(2, 3))
    torch.func.grad(f)(torch.ones(3))
    assert seen == [((2, 3, 4), (3, 4), False), ((2, 3), (3,), False), ((3,), (3,), False)]


# -- what the user's code finds in a backward --------------------------------------------------------------------------


def square(torch, seen):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            seen.append(torch.is_grad_enabled())
            return 2 * ctx.saved_tensors[0] * g

        @staticmethod
        def jvp(ctx, t):
            return 2 * ctx.saved_tensors[0] * t

    return Square.apply


def test_gradients_are_enabled_in_a_backward(torch):
    seen = []
    f = square(torch, seen)
    assert gradient(torch, f) == [2, 4, 6]
    with torch.no_grad():
        assert gradient(torch, f) == [2, 4, 6]
    assert torch.func.jacrev(f)(torch.tensor(3.0)).item() == 6

    def hooked(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
        return y

    gradient(torch, hooked)
    assert seen == [True] * 4


def test_a_function_without_a_rule_cannot_be_mapped_even_if_nothing_varies(torch):
    f = square(torch, [])
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        torch.func.jacfwd(f)(numbers(torch))
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        torch.vmap(lambda x: x * f(torch.ones(3)))(torch.ones(2, 3))


# -- keywords and types ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["jacrev", "jacfwd", "hessian"])
def test_jacobians_pass_on_no_keywords(torch, name):
    with pytest.raises(TypeError, match="unexpected keyword argument 'k'"):
        getattr(torch.func, name)(lambda x, k=1.0: (x * k).sum())(numbers(torch), k=2.0)


@pytest.mark.parametrize("f", [lambda x: x * 2, lambda x: x / 3])
def test_products_with_numbers_widen_narrow_tangents(torch, f):
    value, tangent = torch.func.jvp(f, (torch.ones(2, dtype=torch.float64),), (torch.ones(2),))
    assert value.dtype == tangent.dtype == torch.float64
    _, plain = torch.func.jvp(lambda x: x.sin(), (torch.ones(2),), (torch.ones(2, dtype=torch.float64),))
    assert plain.dtype == torch.float64


def test_linearize_passes_on_what_is_no_tensor(torch):
    value, push = torch.func.linearize(lambda x: (x * 2, 3), numbers(torch))
    assert value[1] == 3
    pushed = push(torch.ones(3))
    assert pushed[0].tolist() == [2, 2, 2] and pushed[1] == 3


def test_the_padding_row_of_a_table_has_a_forward_derivative(torch):
    jacobian = torch.func.jacfwd(lambda w: torch.nn.functional.embedding(torch.tensor([0, 1]), w, padding_idx=0))(
        torch.ones(2, 1))
    assert jacobian.reshape(2, 2).tolist() == [[1, 0], [0, 1]]



