"""Checkpoints whose two runs are in the sight of different dispatch modes: the gradients are the same."""

import contextlib
import importlib

import pytest

FUNCTIONS = {
    "product": lambda torch, x, w: (x @ w).tanh() @ x,
    "products in batches": lambda torch, x, w: (x[None] @ w).sin(),
    "einsum": lambda torch, x, w: torch.einsum("ij,jk->ik", x, w).sin(),
    "linear": lambda torch, x, w: torch.nn.functional.linear(x, w, w[0]).sin(),
    "linear without bias": lambda torch, x, w: torch.nn.functional.linear(x[None], w).sin(),
    "linear to another size": lambda torch, x, w: torch.nn.functional.linear(x, w[:2], w[0, :2]).sin(),
    "cross entropy": lambda torch, x, w: torch.nn.functional.cross_entropy(x @ w, torch.tensor([0, 1, 2])),
    "layer norm": lambda torch, x, w: torch.nn.functional.layer_norm(x @ w, (3,), w[0], w[1]),
    "softmax": lambda torch, x, w: (x @ w).softmax(-1) @ w,
    "dropout": lambda torch, x, w: torch.nn.functional.dropout(x @ w, 0.5) * x,
}


def onlooker(torch):
    modes = importlib.import_module(f"{torch.__name__}.utils._python_dispatch")

    class Onlooker(modes.TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    return Onlooker()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("first, second, selective", [(1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1), (0, 1, 1)])
def test_modes_around_one_of_the_runs(torch, name, first, second, selective):
    tools = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    values = torch.arange(9.0, dtype=torch.float64).reshape(3, 3)

    def gradients(checkpointed):
        torch.manual_seed(0)
        x, w = (values / 9).requires_grad_(), values.cos().requires_grad_()

        def run(x):
            return FUNCTIONS[name](torch, x, w)

        if not checkpointed:
            run(x).sum().backward()
            return x.grad, w.grad

        def inner(x):
            return tools.checkpoint(run, x, use_reentrant=False)

        options = {}
        if selective:
            options["context_fn"] = lambda: tools.create_selective_checkpoint_contexts([torch.ops.aten.mm.default])
        with onlooker(torch) if first else contextlib.nullcontext():
            out = tools.checkpoint(inner, x, use_reentrant=False, **options).sum()
        with onlooker(torch) if second else contextlib.nullcontext():
            out.backward()
        return x.grad, w.grad

    for found, expected in zip(gradients(True), gradients(False)):
        assert torch.allclose(found, expected)


def test_modes_see_what_a_backward_computes_again(torch):
    tools = importlib.import_module(f"{torch.__name__}.utils.checkpoint")
    x, w = torch.ones(3, 3, requires_grad=True), torch.ones(3, 3, requires_grad=True)
    out = tools.checkpoint(lambda x: (x @ w).sin() @ w, x, use_reentrant=False).sum()
    with onlooker(torch) as mode:
        out.backward()
    # two for each gradient, and one or both of the products again: PyTorch stops before the last, whose arguments are
    # all that it saves
    assert mode.seen.count("aten.mm.default") in (5, 6) and "aten.sin.default" in mode.seen


def test_dropout_in_the_sight_of_a_mode(torch):
    x = torch.ones(4, 5, requires_grad=True)
    torch.manual_seed(0)
    expected = torch.nn.functional.dropout(x, 0.4)
    torch.manual_seed(0)
    with onlooker(torch) as mode:
        found = torch.nn.functional.dropout(x, 0.4)
    assert mode.seen == ["aten.empty_like.default", "aten.bernoulli_.float", "aten.div_.Scalar", "aten.mul.Tensor"]
    assert torch.equal(found, expected) and found.grad_fn.name() == "MulBackward0"
