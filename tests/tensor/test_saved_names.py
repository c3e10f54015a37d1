"""What nodes of whole operations show as ``_saved_…``: options of the call, also where the gradient
does not need them.
"""

from __future__ import annotations

import importlib
import io
import pickle

import pytest


def test_the_p_of_pdist_is_a_float(torch):
    x = torch.ones(2, 3, 3, requires_grad=True)
    p = torch.pdist(x[0], p=1).grad_fn._saved_p
    assert p == 1 and isinstance(p, float)


@pytest.mark.parametrize("number", [1 + 0j, 1.0, 1, False])
def test_threshold_keeps_the_kind_of_number(torch, number):
    y = torch.threshold(torch.zeros(5, requires_grad=True), number, number)
    assert type(y.grad_fn._saved_threshold) is type(number)
    assert y.tolist() == [float(number.real)] * 5


def test_saved_tensors_are_not_made_by_hand(torch):
    with pytest.raises(RuntimeError, match="Trying to create a SavedTensor object from Python is forbidden"):
        torch.autograd.SavedTensor()


def test_of_what_unique_gives_only_the_values_can_have_a_gradient(torch):
    x = torch.tensor([2.0, 1.0, 2.0], requires_grad=True)
    for found in (
        torch._unique2(x, True, True, True), torch._unique(x, True, False),
        torch._VF.unique_dim(x, dim=0, return_counts=True),
        torch.unique_consecutive(x, return_inverse=True, return_counts=True),
    ):
        assert [y.requires_grad for y in found] == [True] + [False] * (len(found) - 1)
    assert [y.tolist() for y in torch._unique2(x, return_counts=True)] == [[1, 2], [], [1, 2]]


# -- what was saved, and by whom --------------------------------------------------------------------------------------


def test_inputs_are_shown_with_their_memory_and_history(torch):
    a = torch.randn(5, requires_grad=True)
    constant = torch.ones(5)
    b = a * constant
    c = a * b
    assert c.grad_fn._saved_self is a
    d = a.exp()
    assert d.grad_fn._saved_result is not d and torch.equal(d.grad_fn._saved_result, d)
    view = b[1:]
    product = view * a[1:]
    for shown, wanted in (
        (c.grad_fn._saved_other, b), (b.grad_fn._saved_other, constant), (product.grad_fn._saved_self, view),
        (d.grad_fn._saved_result, d),
    ):
        assert (torch.equal(shown, wanted) and shown.data_ptr() == wanted.data_ptr()
            and shown._version == wanted._version)
        assert shown.requires_grad is wanted.requires_grad and shown.grad_fn is wanted.grad_fn


def test_data_and_hook_of_what_is_saved(torch):
    def pack(t):
        return ("packed", t)

    def unpack(pair):
        return pair[1]

    a = torch.tensor(2.0, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        b = a**2
    kept = b.grad_fn._raw_saved_self
    assert kept.data[0] == "packed" and kept.data[1] is a and kept.unpack_hook is unpack
    c = b.exp()
    kept = c.grad_fn._raw_saved_result
    assert kept.unpack_hook is None and kept.data is not c and not kept.data.requires_grad and kept.data == c
    assert torch.equal((c**2).grad_fn._raw_saved_self.data, c) and (a**2).grad_fn._raw_saved_self.data is a


# -- graphs of gradients ----------------------------------------------------------------------------------------------


def described(node):
    if node is None:
        return "None"
    below = ", ".join(described(n) for n, _ in node.next_functions)
    return f"{type(node).__name__}({below})"


def test_the_gradient_of_a_leaf_is_a_copy(torch):
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward(torch.ones((), requires_grad=True), create_graph=True)
    factor = "MulBackward0(ExpandBackward0(AccumulateGrad()), AccumulateGrad())"
    assert described(x.grad.grad_fn) == f"CopyBackwards(None, AddBackward0({factor}, {factor}))"
    x.grad.sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_once_differentiable_backwards_end_in_an_error(torch):
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, k, y):
            ctx.k = k
            return x * k + y

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return g * ctx.k, None, g

    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    Scaled.apply(x, 3, y).sum().backward(torch.ones((), requires_grad=True), create_graph=True)
    for t in (x, y):
        assert described(t.grad.grad_fn) == "CopyBackwards(None, Error(AccumulateGrad(), None, AccumulateGrad()))"
        with pytest.raises(RuntimeError,
                match="trying to differentiate twice a function that was marked with @once_differentiable"):
            t.grad.sum().backward(retain_graph=True)


def test_whether_saved_tensor_hooks_are_allowed(torch):
    core = importlib.import_module(f"{torch.__name__}._C")
    assert core._autograd._saved_tensors_hooks_is_enabled()
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        assert not core._autograd._saved_tensors_hooks_is_enabled()
    assert core._autograd._saved_tensors_hooks_is_enabled()


def test_what_was_never_kept_is_none_also_after_the_backward(torch):
    x = torch.ones(2, requires_grad=True)
    doubled, product = x.sin() * 2, x.detach() * x
    nodes = doubled.grad_fn, product.grad_fn
    (doubled + product).sum().backward()
    assert nodes[0]._saved_self is None and nodes[1]._saved_other is None
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = nodes[1]._saved_self


def test_options_of_a_loss_are_saved_with_it(torch):
    options = importlib.import_module(f"{torch.__name__}.nn.modules.loss").LinearCrossEntropyOptions(batch_chunk_size=3)
    loss = torch.nn.LinearCrossEntropyLoss(3, 2, options=options)
    assert pickle.loads(pickle.dumps(options)) == options
    file = io.BytesIO()
    torch.save(loss, file)
    file.seek(0)
    assert torch.load(file, weights_only=False).options == options
