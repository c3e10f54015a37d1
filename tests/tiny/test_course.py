"""What programs of a course that builds such an engine say, and what they expect of it."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.tiny import (
    SGD,
    AddBackward,
    BCEBackward,
    BinaryCrossEntropyLoss,
    CrossEntropyBackward,
    CrossEntropyLoss,
    DivBackward,
    Function,
    GELUBackward,
    Layer,
    Linear,
    MatmulBackward,
    MSEBackward,
    MSELoss,
    MulBackward,
    PermuteBackward,
    ReLU,
    ReLUBackward,
    ReshapeBackward,
    Sequential,
    Sigmoid,
    SigmoidBackward,
    SliceBackward,
    Softmax,
    SoftmaxBackward,
    SubBackward,
    SumBackward,
    Tensor,
    TransposeBackward,
    enable_autograd,
    no_grad,
)


def leaf(data):
    return Tensor(data, requires_grad=True)


# -- tensors


def test_numbers_are_float32_whatever_they_came_from():
    for data in ([1, 2], np.arange(2), np.zeros(2), Tensor([1.0, 2.0]), [True, False], 1):
        assert Tensor(data).dtype == np.float32
    assert Tensor(np.zeros((32, 512))).data.nbytes == 64 * 1024
    assert Tensor([1.0], dtype=np.float64).dtype == np.float64


def test_a_tensor_has_numbers_of_its_own():
    array = np.zeros(2, dtype=np.float32)
    x = Tensor(array)
    array[0] = 1
    assert x.data[0] == 0


def test_what_a_tensor_says_of_itself():
    x = Tensor([[1, 2, 3]])
    assert (x.shape, x.size, x.requires_grad, x.grad, x._grad_fn) == ((1, 3), 3, False, None, None)
    assert x.numpy() is x.data and Tensor(2.5).item() == float(Tensor([2.5])) == 2.5
    assert type(Tensor(2.5).item()) is float and len(x) == 1 and [row.shape for row in x] == [(3,)]
    assert repr(leaf([1.0]) * 2) == "Tensor([2.], shape=(1,), requires_grad=True, grad_fn=<MulBackward>)"
    with pytest.raises(ValueError):
        x.item()


def test_gradients_are_asked_for_by_parameters_only():
    assert not Tensor([1.0]).requires_grad
    x, w = Tensor([1.0]), leaf([2.0])
    assert (x * w).requires_grad and not (x * x).requires_grad and (x * x)._grad_fn is None


def test_numbers_and_arrays_on_both_sides():
    x = Tensor([1.0, 2.0])
    row = np.array([3.0, 4.0])
    cases = [(x + row, [4, 6]), (row + x, [4, 6]), (1 - x, [0, -1]), (row - x, [2, 2]), (x - [1, 1], [0, 1]),
        (row * x, [3, 8]), (2 / x, [2, 1]), (x / 2, [0.5, 1]), (x**2, [1, 4]), (2**x, [2, 4]), (row @ x, 11),
        (x @ row, 11), (-x, [-1, -2]), (x + np.float64(1), [2, 3])]
    for result, expected in cases:
        assert result.data.tolist() == expected and result.dtype == np.float32
    assert (Tensor([0.5], dtype=np.float64) * 0.1).item() == 0.5 * 0.1  # numbers take the type of the tensor
    assert (Tensor([1.0], dtype=np.float64) + x).dtype == np.float64


def test_comparisons():
    x = leaf([1.0, 2.0, 0.1])
    cases = [(x == 0.1, [0, 0, 1]), (x != 1, [0, 1, 1]), (x < 1, [0, 0, 1]), (x <= Tensor([1, 1, 1]), [1, 0, 1]),
        (x > 1, [0, 1, 0]), (x >= np.ones(3), [1, 1, 0]), (1 > x, [0, 0, 1])]
    for result, expected in cases:
        assert result.dtype == bool and result.data.tolist() == expected and not result.requires_grad
    assert (x > 1).mean().item() == pytest.approx(1 / 3) and ((x > 1) * x).data.tolist() == [0, 2, 0]
    assert x in [x] and {x: 1}[x] == 1 and bool(Tensor(1.0) == 1)
    with pytest.raises(ValueError):
        bool(x == x)


def test_shapes():
    x = Tensor(np.arange(24).reshape(2, 3, 4))
    assert x.reshape(4, 6).shape == x.reshape((4, -1)).shape == x.reshape(*x.reshape(4, 6).shape).shape == (4, 6)
    assert x.reshape(-1).shape == x.reshape(np.int64(24)).shape == (24,)
    assert x.transpose().shape == x.T.shape == (2, 4, 3) and x.transpose(0, 1).shape == (3, 2, 4)
    assert x.permute(2, 0, 1).shape == x.permute((2, 0, 1)).shape == (4, 2, 3)
    assert Tensor([1.0, 2.0]).T.data.tolist() == [1, 2]
    assert x.sum(axis=(0, 2), keepdims=True).shape == (1, 3, 1) and x.max(axis=-1).shape == (2, 3)
    assert x.mean().data == 11.5 and x.max().data == 23


def test_shapes_that_do_not_fit_are_said():
    x = Tensor([[1.0, 2.0]])
    with pytest.raises(ValueError, match="Total elements must match: 2 ≠ 3"):
        x.reshape(3)
    with pytest.raises(ValueError, match="Inner dimensions must match: 2 ≠ 3"):
        x @ Tensor([[1], [2], [3]])
    with pytest.raises(ValueError, match="Inner dimensions must match: 2 ≠ 3"):
        x.matmul(Tensor([1, 2, 3]))
    with pytest.raises(ValueError):
        x + Tensor([1, 2, 3])
    with pytest.raises(ValueError, match="Both"):
        x.transpose(0)


# -- rules made by hand


def test_addition_hands_its_gradient_to_both():
    g = np.array([1, 1, 1])
    for_a, for_b = AddBackward(leaf([1, 2, 3]), leaf([4, 5, 6])).apply(g)
    assert for_a.tolist() == for_b.tolist() == [1, 1, 1]
    for_a, for_b = AddBackward(Tensor([1.0, 2.0]), Tensor([1.0])).apply(np.array([1.0, 2.0]))
    assert for_a.tolist() == [1, 2] and for_b.tolist() == [3]


def test_rules_by_hand():
    a, b, g = leaf([2.0, 4.0]), leaf([1.0, 2.0]), np.array([1.0, 10.0])
    for rule, by_a, by_b in [(SubBackward, [1, 10], [-1, -10]), (MulBackward, [1, 20], [2, 40]),
            (DivBackward, [1, 5], [-2, -10])]:
        for_a, for_b = rule(a, b).apply(g)
        assert for_a.tolist() == by_a and for_b.tolist() == by_b, rule


def test_products_by_hand():
    a, b, g = leaf([[1.0, 2.0]]), leaf([[3.0], [4.0]]), np.array([[2.0]])
    for_a, for_b = MatmulBackward(a, b).apply(g)
    assert for_a.tolist() == [[6, 8]] and for_b.tolist() == [[2], [4]]


def test_rules_of_one_input_by_hand():
    x = leaf([[1.0, -2.0, 3.0]])
    g = np.array([[1.0, 2.0, 3.0]])
    assert SumBackward(x).apply(np.array(2.0))[0].tolist() == [[2, 2, 2]]
    assert SumBackward(x, 1).apply(np.array([2.0]))[0].tolist() == [[2, 2, 2]]
    assert ReshapeBackward(x).apply(g.reshape(3))[0].tolist() == g.tolist()
    assert ReshapeBackward(x, x.shape).apply(g.reshape(3, 1))[0].tolist() == g.tolist()
    for rule in (TransposeBackward(x), TransposeBackward(x, 0, 1)):
        assert rule.apply(g.T)[0].tolist() == g.tolist()
    assert PermuteBackward(x, (1, 0)).apply(g.T)[0].tolist() == g.tolist()
    assert SliceBackward(x, (0, slice(1))).apply(np.array([5.0]))[0].tolist() == [[5, 0, 0]]
    assert ReLUBackward(x).apply(g)[0].tolist() == [[1, 0, 3]]
    assert GELUBackward(leaf([0.0])).apply(np.array([1.0]))[0].tolist() == [0.5]
    half = leaf([0.0])
    assert SigmoidBackward(half, Sigmoid()(half)).apply(np.array([1.0]))[0].tolist() == [0.25]
    assert SoftmaxBackward(leaf([0.0, 0.0]), Tensor([0.5, 0.5]), -1).apply(np.array([1.0, 0.0]))[0].tolist() == [
        0.25, -0.25]


def test_losses_by_hand():
    p = leaf([0.5, 0.5])
    t = Tensor([1.0, 0.0])
    assert [g.tolist() for g in MSEBackward(p, t).apply(np.array(1.0))] == [[-0.5, 0.5]]
    assert [g.tolist() for g in BCEBackward(p, t).apply(np.array(1.0))] == [[-1, 1]]
    (g,) = CrossEntropyBackward(leaf([[0.0, 0.0]]), Tensor([1])).apply(np.array(1.0))
    assert g.tolist() == [[0.5, -0.5]]


def test_who_wants_no_gradient_gets_none():
    assert MulBackward(leaf([1.0]), Tensor([2.0])).apply(np.array([1.0]))[1] is None
    assert MulBackward(leaf([1.0]), 2.0).apply(np.array([3.0]))[0].tolist() == [6]
    assert MatmulBackward(Tensor([[1.0]]), leaf([[1.0]])).apply(np.array([[1.0]]))[0] is None
    assert SumBackward(Tensor([1.0])).apply(np.array(1.0)) == (None,)


def test_the_base_of_all_rules():
    a, b = leaf([1.0]), leaf([2.0])
    c = a * b
    note = Function(c, a)
    assert note.saved_tensors == (c, a) and note.next_functions == [c._grad_fn]
    assert isinstance(c._grad_fn, MulBackward) and c._grad_fn.saved_tensors == (a, b) and not c._grad_fn.next_functions
    with pytest.raises(NotImplementedError, match="Function"):
        note.apply(np.ones(1))


def test_rules_of_ones_own():
    class Doubling(Function):  # with the attributes that the backward pass needs, and no others
        def __init__(self, x, settings):
            self.saved_tensors = (x, settings)

        def apply(self, grad_output):
            return grad_output * 2, None

    def double(x):
        y = Tensor(x.data * 2, requires_grad=x.requires_grad)
        y._grad_fn = Doubling(x, "settings")
        return y

    x = leaf([1.0, 2.0])
    (double(double(x * 3)) * x).sum().backward()
    assert x.grad.tolist() == [24, 48]


def test_somebody_elses_walk():
    """A backward of one's own needs `saved_tensors`, `apply`, and arrays that can be added."""
    def walk(tensor, gradient):
        if tensor.grad is None:
            tensor.grad = np.zeros_like(tensor.data)
        tensor.grad += gradient
        if tensor._grad_fn is not None:
            for origin, part in zip(tensor._grad_fn.saved_tensors, tensor._grad_fn.apply(gradient)):
                if isinstance(origin, Tensor) and origin.requires_grad and part is not None:
                    walk(origin, part)

    np.random.seed(0)
    model = Sequential(Linear(3, 4), Sigmoid(), Linear(4, 2))
    loss = CrossEntropyLoss()(model(Tensor(np.random.randn(5, 3))), [0, 1, 1, 0, 1])
    walk(loss, np.ones_like(loss.data))
    grads = [p.grad for p in model.parameters()]
    model.zero_grad()
    loss.backward()
    for p, expected in zip(model.parameters(), grads):
        np.testing.assert_allclose(p.grad, expected, rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda g: g, lambda g: [g], lambda g: (g,)])
def test_rules_that_sum_nothing_and_return_what_they_like(wrap):
    class Shift(Function):
        def apply(self, grad_output):
            return wrap(grad_output)  # of the shape of the result, where the input was repeated

    x = leaf([[1.0], [2.0]])
    y = Tensor(x.data + np.zeros(3), requires_grad=True)
    y._grad_fn = Shift(x)
    y.backward([[1, 2, 3], [4, 5, 6]])
    assert x.grad.tolist() == [[6], [15]]


# -- backward


def test_the_first_example():
    x = leaf([2.0])
    y = x * 3 + 1
    y.backward()
    assert type(x.grad) is np.ndarray and x.grad.tolist() == [3.0] and str(x.grad) == "[3.]"


def test_a_product_and_its_square():
    x, W = leaf([[1.0, 2.0]]), leaf([[3.0], [4.0]])
    y = x.matmul(W)
    (y * y).sum().backward()
    assert x.grad.tolist() == [[66, 88]] and W.grad.tolist() == [[22], [44]]


def test_the_chain_rule_step_by_step():
    x, W, b = leaf(2.0), leaf(3.0), leaf(1.0)
    z1 = x * W
    z2 = z1 + b
    loss = z2**2
    loss.backward()
    assert [t.grad.item() for t in (loss, z2, z1, b, x, W)] == [1, 14, 14, 14, 42, 28]  # on the way, too


def test_no_gradient_is_wanted_so_nothing_happens():
    x = Tensor([1.0, 2.0])
    x.backward()
    (x * 2).backward()
    assert x.grad is None


def test_several_numbers_need_a_gradient():
    x = leaf([1.0, 2.0])
    y = x * 2
    with pytest.raises(ValueError, match=r"backward\(\) requires gradient for non-scalar tensors.*\(2,\)"):
        y.backward()
    assert x.grad is None and y.grad is None
    y.backward(np.array([1.0, 10.0]))
    assert x.grad.tolist() == [2, 20] and y.grad.tolist() == [1, 10]
    y.backward(Tensor([1.0, 1.0]))
    y.backward([1, 1])
    assert x.grad.tolist() == [6, 24] and x.grad.dtype == np.float32
    for wrong in ([1, 2, 3], [[1, 2], [3, 4]]):
        with pytest.raises(ValueError):
            y.backward(np.array(wrong))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_number_is_a_scalar_in_any_shape(shape):
    x = leaf(np.full(shape, 3.0))
    (x * x).backward()
    assert x.grad.shape == shape and type(x.grad) is np.ndarray and x.grad.item() == 6


def test_gradients_accumulate():
    x = leaf([1.0, 2.0])
    y = (x * x).sum()
    y.backward()
    first = x.grad
    y.backward()
    assert x.grad.tolist() == [4, 8] and first.tolist() == [2, 4]
    x.zero_grad()
    assert x.grad is None
    y.backward()
    assert x.grad.tolist() == [2, 4]


def test_chunks_of_a_batch_add_up_to_the_batch():
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(8, 3)), random.normal(size=(8, 1))
    model = Linear(3, 1)
    MSELoss()(model(Tensor(X)), Tensor(Y)).backward()
    whole = [p.grad for p in model.parameters()]
    model.zero_grad()
    assert all(p.grad is None for p in model.parameters())
    for part in range(4):
        chunk = slice(2 * part, 2 * part + 2)
        (MSELoss()(model(Tensor(X[chunk])), Tensor(Y[chunk])) / 4).backward()
    for p, expected in zip(model.parameters(), whole):
        np.testing.assert_allclose(p.grad, expected, rtol=1e-5)


def test_ten_passes_without_zero_grad_are_a_sum():
    x, given = leaf([1.0]), [0.5, -0.3, 0.1, 0.2]
    for g in given:
        (x * g).backward()
    assert x.grad.item() == pytest.approx(sum(given))


def test_a_bias_gets_the_sum_over_the_batch():
    x, W, b = Tensor(np.ones((32, 4))), leaf(np.ones((4, 3))), leaf(np.zeros(3))
    (x @ W + b).sum().backward()
    assert b.grad.tolist() == [32] * 3 and W.grad.tolist() == [[32] * 3] * 4 and x.grad is None


def test_a_shared_table_gets_the_sum_of_all_its_uses():
    table = leaf(np.ones((5, 2)))
    table[np.array([[1, 1], [4, 1]])].sum().backward()
    assert table.grad.tolist() == [[0, 0], [3, 3], [0, 0], [0, 0], [1, 1]]


def test_which_parameters_receive_gradients():
    x, W1, W2 = Tensor([[1.0, 2.0]]), leaf(np.ones((2, 2))), leaf(np.ones((2, 1)))
    h = ReLU()(x @ W1)
    (h @ W2).sum().backward()
    assert x.grad is None and W1.grad.shape == (2, 2) and W2.grad.shape == (2, 1)
    W1.zero_grad(), W2.zero_grad()
    (h.detach() @ W2).sum().backward()
    assert W1.grad is None and W2.grad.tolist() == [[3], [3]]


def test_python_decides_what_is_recorded():
    x = leaf([3.0])
    y = x
    while y.item() < 50:
        y = y * x
    y.backward()
    assert y.data == 81 and x.grad == 108


def test_changes_of_a_name_are_no_changes_of_a_tensor():
    x = leaf([1.0, 2.0])
    y = x * x
    z = y
    y += 1
    assert y is not z and z.data.tolist() == [1, 4]
    y.sum().backward()
    assert x.grad.tolist() == [2, 4]


# -- the switch


def test_it_is_on_and_can_be_switched_on_again(capsys):
    enable_autograd(quiet=True)
    assert capsys.readouterr().out == ""
    enable_autograd()
    assert "already" in capsys.readouterr().out
    x = leaf([2.0])
    (x * 3).backward()
    assert x.grad == 3  # once, not twice


def test_no_grad(capsys):
    x = leaf([2.0])
    with no_grad():
        y = x * 2
        with no_grad():
            pass
        assert not y.requires_grad and not (x + 1).requires_grad and y._grad_fn is None
    assert (x * 2).requires_grad
    with pytest.raises(KeyError), no_grad():
        raise KeyError
    assert (x * 2).requires_grad
    with no_grad():
        enable_autograd()
        assert "already" not in capsys.readouterr().out and (x * 2).requires_grad


# -- layers and losses


def test_linear():
    layer = Linear(3, 2)
    assert layer.weight.shape == (3, 2) and layer.bias.data.tolist() == [0, 0]
    assert [id(p) for p in layer.parameters()] == [id(layer.weight), id(layer.bias)]
    x = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(layer(Tensor(x)), x @ layer.weight.data + layer.bias.data, rtol=1e-5, atol=1e-6)
    assert layer.forward(Tensor(np.zeros((2, 4, 3)))).shape == (2, 4, 2)
    assert Linear(3, 2, bias=False).parameters()[0].shape == (3, 2) and Linear(3, 2, bias=False).bias is None


def test_weights_keep_the_size_of_what_goes_through():
    np.random.seed(0)
    x = Tensor(np.random.randn(200, 500))
    assert 0.9 < Linear(500, 400)(x).data.std() < 1.1


def test_models():
    class Twice(Layer):
        def __init__(self):
            self.first, self.rest, self.size = Linear(2, 2), [Linear(2, 2), ReLU()], 2
            self.scale = leaf(1.0)
            self.again, self.mean = self.first, Tensor(0.0)

        def forward(self, x):
            return self.again(self.rest[0](self.first(x))) * self.scale

    model = Twice()
    assert [p.shape for p in model.parameters()] == [(2, 2), (2,), (2, 2), (2,), ()]  # the shared layer once
    model(Tensor([[1.0, 2.0]])).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    assert len(Sequential(Linear(1, 1), ReLU(), Sequential([Linear(1, 1)])).parameters()) == 4
    with pytest.raises(NotImplementedError, match="Layer"):
        Layer()(Tensor(1.0))


def test_softmax_over_either_axis():
    x = Tensor(np.random.default_rng(0).normal(size=(3, 4)))
    np.testing.assert_allclose(Softmax()(x).data.sum(-1), 1, rtol=1e-6)
    np.testing.assert_allclose(Softmax()(x, dim=0).data.sum(0), 1, rtol=1e-6)
    np.testing.assert_allclose(Softmax(dim=0)(x).data, Softmax()(x, 0).data)


@pytest.mark.filterwarnings("error")
def test_large_numbers_do_not_overflow():
    for size in (1e3, 1e30):
        x = leaf([[size, 0.0, -size]])
        for layer, expected in [(Softmax(), [[1, 0, 0]]), (Sigmoid(), [[1, 0.5, 0]])]:
            y = layer(x)
            y.sum().backward()
            assert y.data.tolist() == expected and np.isfinite(x.grad).all()
        x.zero_grad()
        loss = CrossEntropyLoss()(x, Tensor([2]))
        loss.backward()
        assert loss.item() == pytest.approx(2 * size) and x.grad.tolist() == [[1, 0, -1]]


@pytest.mark.filterwarnings("error")
def test_certain_probabilities_have_a_finite_loss():
    p = leaf([0.0, 1.0])
    assert BinaryCrossEntropyLoss()(p, Tensor([0.0, 1.0])).item() == 0
    wrong = BinaryCrossEntropyLoss()(p, Tensor([1.0, 0.0]))
    wrong.backward()
    assert wrong.item() == 100 and np.isfinite(p.grad).all()


def test_targets_of_every_kind():
    logits = leaf([[2.0, 0.0], [0.0, 1.0]])
    losses = [CrossEntropyLoss()(logits, t).item() for t in (Tensor([0, 1]), np.array([0, 1]), [0, 1])]
    assert losses[0] == losses[1] == losses[2] and type(losses[0]) is float
    assert MSELoss()(logits, np.zeros((2, 2))).dtype == np.float32
    for wrong in ([0, 2], [-1, 0]):
        with pytest.raises(IndexError, match="from 0 to 1"):
            CrossEntropyLoss()(logits, wrong)
    with pytest.raises(ValueError, match="shape"):
        CrossEntropyLoss()(logits, [0])


def test_equal_scores_lose_the_logarithm_of_their_number():
    assert CrossEntropyLoss()(Tensor(np.zeros((4, 10))), [1, 2, 3, 4]).item() == pytest.approx(np.log(10))


def test_a_dead_unit_does_not_learn():
    w = leaf([[1.0, -1.0]])
    ReLU()(Tensor([[2.0], [3.0]]) @ w).sum().backward()
    assert w.grad.tolist() == [[5, 0]]


def test_optimizers_move_what_has_a_gradient():
    w, frozen = leaf([1.0]), leaf([1.0])
    optimizer = SGD([w, frozen], lr=0.5)
    (w * 4).backward()
    before = w.data
    optimizer.step()
    assert w.data == -1 and before == 1 and frozen.data == 1
    optimizer.zero_grad()
    assert w.grad is None
