"""Modules and distributions inside of transforms, and modules made functions."""

from __future__ import annotations

import importlib

import pytest

TRANSFORMS = {
    "grad": (lambda F, f, x: F.grad(lambda x: f(x).sum())(x), lambda x: x.cos()),
    "vjp": (lambda F, f, x: F.vjp(f, x)[1](x)[0], lambda x: x * x.cos()),
    "jvp": (lambda F, f, x: F.jvp(f, (x,), (x,))[1], lambda x: x * x.cos()),
    "jacrev": (lambda F, f, x: F.jacrev(f)(x).diag(), lambda x: x.cos()),
    "jacfwd": (lambda F, f, x: F.jacfwd(f)(x).diag(), lambda x: x.cos()),
    "hessian": (lambda F, f, x: F.hessian(lambda x: f(x).sum())(x).diag(), lambda x: -x.sin()),
    "vmap of grad": (lambda F, f, x: F.vmap(F.grad(lambda x: f(x).sum()))(x.expand(2, 3))[0], lambda x: x.cos()),
}


@pytest.mark.parametrize("how", ["grad", "vjp", "jvp", "jacrev", "vmap of grad"])
def test_a_captured_module_iterates_its_spectral_norm(torch, how):
    layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(3, 3))
    before = layer.parametrizations.weight[0]._u._version
    TRANSFORMS[how][0](torch.func, layer, torch.tensor([1.0, 2.0, 3.0]))
    assert layer.parametrizations.weight[0]._u._version > before


def test_captured_statistics(torch):
    mean, var, x = torch.zeros(3), torch.ones(3), torch.arange(12.0).view(4, 3)
    torch.func.grad(lambda x: torch.nn.functional.batch_norm(x, mean, var, training=True).sum())(x)
    assert mean.tolist() != [0.0, 0.0, 0.0]
    norm = torch.nn.BatchNorm1d(3)
    # the count of batches
    with pytest.raises(RuntimeError, match=r"aten::add_.Tensor\) that would mutate a captured Tensor"):
        torch.func.grad(lambda x: norm(x).sum())(x)
    state, buffers = dict(norm.named_parameters()), dict(norm.named_buffers())
    torch.func.grad(lambda p, b: torch.func.functional_call(norm, (p, b), (x,)).pow(2).sum())(state, buffers)
    assert norm.num_batches_tracked.item() == 1


def test_a_captured_embedding_is_not_rescaled(torch):
    table = torch.ones(4, 3)
    with pytest.raises(RuntimeError, match=r"aten::embedding_renorm_\) that would mutate a captured Tensor"):
        torch.func.grad(lambda x: (torch.nn.functional.embedding(torch.tensor([1]), table, max_norm=0.1) * x).sum())(
            torch.ones(3))
    assert table.tolist() == torch.ones(4, 3).tolist()


def test_distributions_check_whole_batches(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    normal = torch.distributions.Normal
    assert torch.allclose(torch.func.vmap(lambda x: normal(x, 1.0).log_prob(x / 2))(x), normal(x, 1.0).log_prob(x / 2))
    found = torch.func.vmap(torch.func.grad(lambda x: normal(x, 1.0).log_prob(2 * x).sum()))(x)
    assert torch.allclose(found, -x)
    with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan"):
        torch.func.vmap(lambda x: normal(x, x - 2, validate_args=True).log_prob(x))(x)
    assert torch.func.vmap(lambda x: torch._is_all_true(x > 1))(x).tolist() == [False, False]
    assert torch.func.vmap(lambda x: x if torch._is_any_true(x > 3) else -x)(x).tolist() == x.tolist()


def test_functional_call_refuses_data_parallel(torch):
    model = torch.nn.DataParallel(torch.nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="The stateless API can't be used with nn.DataParallel module"):
        torch.func.functional_call(model, {"module.weight": torch.ones(2, 2)}, torch.ones(3, 2))


def part(torch, name):
    if torch.__name__ == "torch":
        importlib.import_module(f"torch._functorch.{name}")
    return getattr(torch._functorch, name)


def said(call):
    with pytest.raises(Exception) as caught:
        call()
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.fixture
def x(torch):
    return torch.tensor([1.0, 2.0, 3.0])


def test_states_of_several_models(torch):
    linear, stack = torch.nn.Linear, torch.func.stack_module_state
    for models, text in (
        ([], "Expected at least one model, got 0."),
        ([linear(2, 2), linear(2, 2).eval()], "Expected all models to have the same training/eval mode."),
        ([linear(2, 2), torch.nn.ReLU()], "Expected all models to be of the same class."),
    ):
        assert said(lambda: stack(models)) == f"RuntimeError: stack_module_state: {text}"
    mixed = [linear(2, 2), linear(2, 2).requires_grad_(False)]
    assert said(lambda: stack(mixed)) == "RuntimeError: Expected weight from each model to have the same .requires_grad"
    params, buffers = stack([torch.nn.BatchNorm1d(2), torch.nn.BatchNorm1d(2)])
    assert all(p.requires_grad and p.is_leaf for p in params.values()) and buffers["running_mean"].shape == (2, 2)


def test_batch_norms_without_statistics(torch):
    nn, strip = torch.nn, part(torch, "batch_norm_replacement").batch_norm_without_running_stats
    instance = nn.InstanceNorm1d(2, track_running_stats=True)
    model = nn.Sequential(nn.BatchNorm1d(2),
        nn.Sequential(nn.BatchNorm2d(2, affine=False), instance, nn.BatchNorm1d(2, track_running_stats=False)))
    assert torch.func.replace_all_batch_norm_modules_(model) is model
    norms = [m for m in model.modules() if hasattr(m, "running_mean") and m is not instance]
    assert len(norms) == 3 and not any(m.track_running_stats or m.running_mean is not None for m in norms)
    assert instance.track_running_stats
    single, other = nn.BatchNorm1d(2), nn.Linear(1, 1)
    strip(single)
    strip(other)
    assert single.num_batches_tracked is None


def test_modules_taken_apart(torch, x):
    made = part(torch, "make_functional")

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = self.b = torch.nn.Parameter(x.clone())
            self.register_buffer("c", x + 1)

        def forward(self, q):
            return self.a * q + self.b + self.c

    call, params, buffers = made.make_functional_with_buffers(Tied())
    assert call.param_names == ("a",) and call.buffer_names == ("c",)
    assert call(params, buffers, x).tolist() == [4, 9, 16]
    assert call([torch.zeros(3)], [torch.ones(3)], x).tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="`model` has buffers. Please use make_functional_with_buffers"):
        made.make_functional(Tied())
    _, params = made.make_functional(torch.nn.Linear(2, 2), disable_autograd_tracking=True)
    assert not any(p.requires_grad for p in params)
    for models, text in (
        ([], "Expected at least one model, got 0."),
        ([torch.nn.Linear(2, 2), torch.nn.ReLU()], "Expected all models to be of the same class."),
    ):
        assert (said(lambda: made.combine_state_for_ensemble(models)) == "RuntimeError: combine_state_for_ensemble: "
            f"{text}")
