"""``Optimizer``: groups, state dicts, hooks, copies; and what every optimizer owes."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest

import wengert as torch
from wengert.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
    required,
)

DENSE = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"]
ALL = [*DENSE, "Adafactor", "Muon"]
RECORDED = [name for name in DENSE if name != "Rprop"]


def parameter(*shape: int, grad: bool = True) -> Any:
    p = torch.ones(*shape, requires_grad=True)
    if grad:
        p.grad = torch.ones(*shape)
    return p


def make(name: str, params: Any, **kwargs: Any) -> Any:
    return getattr(torch.optim, name)(params, **kwargs)


# -- groups -----------------------------------------------------------------------------------------------------------


def test_groups_take_defaults() -> None:
    a, b = parameter(2), parameter(3)
    o = torch.optim.SGD([{"params": a}, {"params": [b], "lr": 5.0, "extra": "kept"}], lr=0.5, momentum=0.9)
    assert [g["lr"] for g in o.param_groups] == [0.5, 5.0]
    assert [g["momentum"] for g in o.param_groups] == [0.9, 0.9]
    assert o.param_groups[0]["params"][0] is a
    assert o.param_groups[1]["extra"] == "kept"
    o.step()
    assert a.tolist() == [0.5, 0.5] and b.tolist() == [-4.0] * 3


def test_generators_and_names() -> None:
    a, b = parameter(2), parameter(3)
    o = torch.optim.SGD((("weight", p) for p in (a,)), lr=1.0)
    o.add_param_group({"params": [("bias", b)]})
    assert [g["param_names"] for g in o.param_groups] == [["weight"], ["bias"]]
    assert [g["param_names"] for g in o.state_dict()["param_groups"]] == [["weight"], ["bias"]]
    with pytest.raises(ValueError, match="cannot add param group without names to the optimizer"):
        o.add_param_group({"params": [parameter(1)]})


def test_names_are_kept_when_the_loaded_state_has_none() -> None:
    named = torch.optim.SGD([("weight", parameter(2))], lr=1.0)
    named.load_state_dict(torch.optim.SGD([parameter(2)], lr=2.0).state_dict())
    assert named.param_groups[0]["param_names"] == ["weight"]
    assert named.param_groups[0]["lr"] == 2.0


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (lambda: torch.ones(1), TypeError, "params argument given to the optimizer should be an iterable of Tensors"),
        (list, ValueError, "optimizer got an empty parameter list"),
        (lambda: [1.0], TypeError, "optimizer can only optimize Tensors, but one of the params is float"),
        (lambda: [{"params": {torch.ones(1)}}], TypeError, "ordering of tensors in sets will change between runs"),
        (lambda: [{"params": [parameter(1) * 2]}], ValueError, "can't optimize a non-leaf Tensor"),
        (lambda: [("a", parameter(1)), parameter(1)], ValueError, "Some param names are missing"),
    ],
)
def test_refused_parameters(params: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        torch.optim.SGD(params(), lr=1.0)


def test_parameters_in_two_groups() -> None:
    p = parameter(1)
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        torch.optim.SGD([{"params": [p]}, {"params": [p]}], lr=1.0)
    o = torch.optim.SGD([p], lr=1.0)
    with pytest.raises(ValueError, match="some parameters appear in more than one"):
        o.add_param_group({"params": [parameter(1), p]})
    assert len(o.param_groups) == 1
    with pytest.raises(TypeError, match="param_group must be a dict"):
        o.add_param_group([p])
    with pytest.warns(UserWarning, match="duplicate parameters"):
        torch.optim.SGD([p, p], lr=1.0)


def test_a_retained_non_leaf_can_be_optimized() -> None:
    p = parameter(2) * 2
    p.retain_grad()
    optimizer = torch.optim.SGD([p], lr=0.25)
    (p * p).sum().backward()
    optimizer.step()
    assert p.grad.tolist() == [4.0, 4.0] and p.tolist() == [1.0, 1.0]


def test_required_options() -> None:
    class Own(Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": required})

    Own([{"params": [parameter(1)], "lr": 1.0}])
    with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter lr"):
        Own([parameter(1)])
    assert repr(required) == "<required parameter>"


def test_repr() -> None:
    class Own(Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": 0.1, "alpha": (1, 2)})

    assert repr(Own([{"params": [parameter(1)]}, {"params": [parameter(1)], "lr": 3}])) == (
        "Own (\nParameter Group 0\n    alpha: (1, 2)\n    lr: 0.1\n\nParameter Group 1\n    alpha: (1, 2)\n    lr: 3\n)"
    )


# -- stepping ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_parameters_without_gradients_stay(name: str) -> None:
    a, b = parameter(2, 2), parameter(2, 2, grad=False)
    o = make(name, [a, b], lr=0.1)
    o.step()
    assert b.tolist() == [[1.0, 1.0]] * 2
    assert a.tolist() != [[1.0, 1.0]] * 2
    if name != "Adagrad":
        assert b not in o.state


@pytest.mark.parametrize("name", ALL)
def test_steps_are_not_recorded_but_counted(name: str) -> None:
    p = parameter(2, 2)
    make(name, [p], lr=0.1).step()
    assert p.is_leaf and p.grad_fn is None and p.requires_grad
    assert p._version == 1


def test_a_step_spoils_saved_values() -> None:
    p = torch.ones(2, requires_grad=True)
    loss = (p * p).sum()
    p.grad = torch.ones(2)
    torch.optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("name", ALL)
def test_closures_are_recorded_and_their_loss_returned(name: str) -> None:
    p = parameter(2, 2, grad=False)
    o = make(name, [p], lr=0.1)

    def closure() -> Any:
        o.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        assert o.step(closure).item() == 4.0
    assert p.grad is not None
    assert o.step() is None


@pytest.mark.parametrize("name", ALL)
def test_losses_go_down(name: str) -> None:
    p = torch.nn.Parameter(torch.tensor([[3.0, -2.0], [1.0, 2.0]]))
    o = make(name, [p], lr=0.02)
    losses = []
    for _ in range(30):
        o.zero_grad()
        loss = ((p - 0.5) ** 2).sum()
        loss.backward()
        o.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    if name != "Rprop":  # which overshoots
        assert losses == sorted(losses, reverse=True)


def test_muon_cannot_maximize() -> None:
    with pytest.raises(TypeError, match="maximize"):
        make("Muon", [parameter(2, 2)], maximize=True)


@pytest.mark.parametrize("name", [name for name in ALL if name != "Muon"])
def test_maximize(name: str) -> None:
    up, down = parameter(2, 2), parameter(2, 2)
    up.grad = -up.grad
    make(name, [up], lr=0.1, maximize=True).step()
    make(name, [down], lr=0.1).step()
    assert up.tolist() == down.tolist()


def test_parameters_at_different_steps() -> None:
    """A parameter that joins late starts its own count."""
    a, b, alone = parameter(2), parameter(2, grad=False), parameter(2)
    o, single = torch.optim.Adam([a, b], lr=0.1), torch.optim.Adam([alone], lr=0.1)
    o.step()
    b.grad = torch.ones(2)
    o.step()
    single.step()
    assert [o.state[p]["step"].item() for p in (a, b)] == [2.0, 1.0]
    assert b.tolist() == alone.tolist()


def test_zero_grad() -> None:
    p, q = parameter(2), parameter(2, grad=False)
    o = torch.optim.SGD([p, q], lr=1.0)
    kept = p.grad
    o.zero_grad(set_to_none=False)
    assert p.grad is kept and kept.tolist() == [0.0, 0.0] and q.grad is None
    o.zero_grad()
    assert p.grad is None


def test_zero_grad_cuts_a_recorded_gradient() -> None:
    x = torch.ones(2, requires_grad=True)
    x.grad = (2 * x).clone()
    assert x.grad.grad_fn is not None
    torch.optim.SGD([x], lr=1.0).zero_grad(set_to_none=False)
    assert x.grad.grad_fn is None and not x.grad.requires_grad


def test_base_class_has_no_step() -> None:
    with pytest.raises(NotImplementedError):
        Optimizer([parameter(1)], {}).step()


# -- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        ("SGD", {"lr": -0.1}, "Invalid learning rate: -0.1"),
        ("SGD", {"momentum": -1}, "Invalid momentum value: -1"),
        ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
        ("SGD", {"weight_decay": -0.5}, "Invalid weight_decay value: -0.5"),
        ("Adam", {"eps": -1.0}, "Invalid epsilon value: -1.0"),
        ("Adam", {"betas": (0.9, 1.0)}, "Invalid beta parameter at index 1: 1.0"),
        ("Adamax", {"betas": (-0.1, 0.9)}, "Invalid beta parameter at index 0: -0.1"),
        ("RMSprop", {"alpha": -1}, "Invalid alpha value: -1"),
        ("Adagrad", {"initial_accumulator_value": -1}, "Invalid initial_accumulator_value value: -1"),
        ("Adadelta", {"rho": 2.0}, "Invalid rho value: 2.0"),
        ("NAdam", {"momentum_decay": -1}, "Invalid momentum_decay value: -1"),
        ("Rprop", {"etas": (0.5, 0.9)}, "Invalid eta values: 0.5, 0.9"),
        ("Muon", {"momentum": -1}, "momentum should be >= 0 but is: -1"),
        ("Adafactor", {"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
    ],
)
def test_refused_options(name: str, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        make(name, [parameter(1, 1)], **kwargs)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_implementations_exclude_each_other(name: str) -> None:
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        make(name, [parameter(1)], fused=True, differentiable=True)
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        make(name, [parameter(1)], fused=True, foreach=True)
    p = torch.ones(1, dtype=torch.complex64, requires_grad=True)
    p.grad = torch.ones(1, dtype=torch.complex64)
    with pytest.raises(RuntimeError, match="`fused=True` requires all the params to be floating point"):
        make(name, [p], fused=True).step()


def test_capturable_needs_an_accelerator() -> None:
    p = parameter(1)
    with pytest.raises(AssertionError, match="params and state_steps must be on supported devices"):
        torch.optim.Adam([p], capturable=True).step()
    with pytest.raises(AssertionError, match="params, mu_products and state_steps must be"):
        torch.optim.NAdam([p], capturable=True).step()
    assert p.item() == 1.0


@pytest.mark.parametrize("name", [n for n in DENSE if n not in ("SGD", "Adagrad")])
def test_sparse_gradients_are_refused(name: str) -> None:
    p = parameter(2)
    p.grad = torch.ones(2).to_sparse()
    with pytest.raises(RuntimeError, match=f"{name} does not support sparse gradients"):
        make(name, [p]).step()


@pytest.mark.parametrize("name", ["SGD", "Adam", "Adagrad"])
def test_loss_scales_are_undone_by_fused_steps(name: str) -> None:
    p, q = parameter(2), parameter(2)
    plain, scaled = make(name, [p], lr=0.1), make(name, [q], lr=0.1, fused=True)
    assert scaled._step_supports_amp_scaling
    assert not hasattr(plain, "_step_supports_amp_scaling")
    q.grad *= 8.0
    scaled.grad_scale, scaled.found_inf = torch.tensor(8.0), torch.tensor(1.0)
    scaled.step()
    assert q.tolist() == [1.0, 1.0]
    scaled.found_inf = torch.tensor(0.0)
    scaled.step()
    plain.step()
    assert q.tolist() == p.tolist()
    assert q.grad.tolist() == [1.0, 1.0]
    plain.found_inf = torch.tensor(0.0)
    with pytest.raises(AssertionError, match="Expected grad_scale and found_inf to be None"):
        plain.step()


def test_default_dtype_decides_the_step_count() -> None:
    p = parameter(1)
    torch.set_default_dtype(torch.float64)
    try:
        o = torch.optim.Adam([p])
        o.step()
    finally:
        torch.set_default_dtype(torch.float32)
    assert o.state[p]["step"].dtype == torch.float64
    assert o.state[p]["exp_avg"].dtype == torch.float32


@pytest.mark.parametrize("name", RECORDED)
def test_tensor_learning_rate(name: str) -> None:
    p, q = parameter(2), parameter(2)
    make(name, [p], lr=torch.tensor([0.25])).step()
    make(name, [q], lr=0.25).step()
    assert p.tolist() == pytest.approx(q.tolist())


# -- state dicts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_continuing_from_a_state_dict(name: str) -> None:
    def problem(p: Any, o: Any, steps: int) -> None:
        for _ in range(steps):
            o.zero_grad()
            ((p * p).sum() + p.sum() ** 2).backward()
            o.step()

    start = torch.tensor([[1.0, 2.0], [-1.0, 0.5]])
    p = start.clone().requires_grad_(True)
    o = make(name, [p], lr=0.05)
    problem(p, o, 3)
    q = p.detach().clone().requires_grad_(True)
    other = make(name, [q], lr=0.7)
    other.load_state_dict(copy.deepcopy(o.state_dict()))
    problem(p, o, 3)
    problem(q, other, 3)
    assert p.tolist() == q.tolist()
    assert other.param_groups[0]["lr"] == 0.05
    assert other.param_groups[0]["params"][0] is q


def test_state_dict_layout() -> None:
    a, b, c = parameter(1), parameter(2), parameter(3, grad=False)
    o = torch.optim.SGD([{"params": [a]}, {"params": [b, c]}], lr=0.5, momentum=0.5)
    o.step()
    state = o.state_dict()
    assert list(state) == ["state", "param_groups"]
    assert [g["params"] for g in state["param_groups"]] == [[0], [1, 2]]
    assert list(state["state"]) == [0, 1]
    assert state["state"][1]["momentum_buffer"] is o.state[b]["momentum_buffer"]


def test_loaded_state_takes_the_dtype_of_the_parameter() -> None:
    p, q = parameter(2), torch.ones(2, dtype=torch.float64, requires_grad=True)
    o = torch.optim.Adam([p])
    o.step()
    other = torch.optim.Adam([q])
    other.load_state_dict(o.state_dict())
    assert other.state[q]["exp_avg"].dtype == torch.float64
    assert other.state[q]["step"].dtype == torch.float32


def test_loading_leaves_the_given_dict_alone() -> None:
    p = parameter(2)
    o = torch.optim.SGD([p], lr=0.5, momentum=0.9)
    o.step()
    state = o.state_dict()
    state["state"]["note"] = {"kept": ["as", "is"]}
    other = torch.optim.SGD([parameter(2)], lr=1.0)
    other.load_state_dict(state)
    other.param_groups[0]["lr"] = 7.0
    assert state["param_groups"][0]["lr"] == 0.5 and state["param_groups"][0]["params"] == [0]
    assert other.state["note"] == {"kept": ["as", "is"]}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[1], [1]], "loaded state dict has a different number of parameter groups"),
        ([[1, 1]], "doesn't match the size of optimizer's group"),
    ],
)
def test_refused_state_dicts(groups: list[list[int]], message: str) -> None:
    o = torch.optim.SGD([{"params": [parameter(n) for n in group]} for group in groups], lr=1.0)
    other = torch.optim.SGD([parameter(1)], lr=0.5)
    with pytest.raises(ValueError, match=message):
        other.load_state_dict(o.state_dict())
    assert other.param_groups[0]["lr"] == 0.5


def test_state_dicts_of_old() -> None:
    """Step counts as numbers, and options that did not exist."""
    p = parameter(2)
    o = torch.optim.Adam([p], lr=0.1)
    o.step()
    state = copy.deepcopy(o.state_dict())
    state["state"][0]["step"] = 1
    for option in ("maximize", "foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay"):
        del state["param_groups"][0][option]
    other = torch.optim.Adam([p.detach().clone().requires_grad_(True)])
    other.load_state_dict(state)
    (q,) = other.param_groups[0]["params"]
    q.grad = p.grad.clone()
    o.step()
    other.step()
    assert q.tolist() == p.tolist()
    assert other.state[q]["step"].item() == 2.0


def test_adamw_stays_adamw() -> None:
    o = torch.optim.AdamW([parameter(1)])
    o.load_state_dict(torch.optim.Adam([parameter(1)]).state_dict())
    assert o.param_groups[0]["decoupled_weight_decay"]


# -- hooks ------------------------------------------------------------------------------------------------------------


def test_step_hooks_in_order() -> None:
    o = torch.optim.SGD([parameter(1)], lr=1.0)
    calls: list[str] = []
    handles = [
        register_optimizer_step_pre_hook(lambda o, a, k: calls.append("all before")),
        register_optimizer_step_post_hook(lambda o, a, k: calls.append("all after")),
        o.register_step_pre_hook(lambda o, a, k: calls.append("before")),
        o.register_step_post_hook(lambda o, a, k: calls.append("after")),
    ]
    o.step(lambda: calls.append("closure"))
    assert calls == ["all before", "before", "closure", "after", "all after"]
    for handle in handles:
        handle.remove()
    o.step()
    assert len(calls) == 5


def test_a_pre_hook_may_change_the_arguments() -> None:
    o = torch.optim.SGD([parameter(1)], lr=1.0)
    o.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: "other"}))
    assert o.step() == "other"
    o.register_step_pre_hook(lambda o, args, kwargs: "nonsense")
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        o.step()


def test_hooks_of_a_subclass_written_elsewhere() -> None:
    class Own(Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {})

        def step(self, closure: Any = None) -> str:
            return "stepped"

    o = Own([parameter(1)])
    calls: list[Any] = []
    o.register_step_post_hook(lambda o, a, k: calls.append(o))
    assert o.step() == "stepped"
    assert calls == [o]
    assert len({Own([parameter(1)]).step.__func__ for _ in range(3)}) == 1


def test_state_dict_hooks() -> None:
    o = torch.optim.SGD([parameter(1)], lr=1.0)
    calls: list[str] = []
    o.register_state_dict_pre_hook(lambda o: calls.append("2"))
    o.register_state_dict_pre_hook(lambda o: calls.append("1"), prepend=True)
    o.register_state_dict_post_hook(lambda o, s: {**s, "more": True})
    state = o.state_dict()
    assert state["more"] and calls == ["1", "2"]
    o.register_load_state_dict_pre_hook(lambda o, s: {**s, "param_groups": [{**s["param_groups"][0], "lr": 9.0}]})
    o.register_load_state_dict_post_hook(lambda o: calls.append(f"lr {o.param_groups[0]['lr']}"))
    o.load_state_dict(state)
    assert calls[-1] == "lr 9.0"
    assert state["param_groups"][0]["lr"] == 1.0


# -- copies and lifetime ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*ALL, "LBFGS"])
def test_copies_are_independent(name: str) -> None:
    p = parameter(2, 2)
    o = make(name, [p], lr=0.1, **({"momentum": 0.5} if name == "SGD" else {}))
    o.step(*([lambda: (p * p).sum()] if name == "LBFGS" else []))
    for other in (copy.deepcopy(o), pickle.loads(pickle.dumps(o))):
        (q,) = other.param_groups[0]["params"]
        assert q is not p and q.tolist() == p.tolist()
        assert list(other.state) == [q]
        assert other.state_dict()["param_groups"] == o.state_dict()["param_groups"]
        q.grad = torch.ones(2, 2)
        before = p.tolist()
        other.step(*([lambda q=q: (q * q).sum()] if name == "LBFGS" else []))
        assert q.tolist() != p.tolist() and p.tolist() == before


def test_copies_have_no_hooks() -> None:
    o = torch.optim.SGD([parameter(1)], lr=1.0)
    o.register_step_pre_hook(lambda *_: pytest.fail("called"))
    copy.deepcopy(o).step()


def test_optimizers_die_at_once() -> None:
    o = torch.optim.Adam([parameter(2)])
    torch.optim.lr_scheduler.StepLR(o, 1)
    o.step()
    gc.disable()
    try:
        gone = weakref.ref(o)
        del o
        assert gone() is None
    finally:
        gc.enable()


# -- steps that are recorded ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECORDED)
def test_gradients_flow_through_a_differentiable_step(name: str) -> None:
    """d p_new / d grad, against a difference quotient of ordinary steps."""

    def stepped(grad: Any, **kwargs: Any) -> Any:
        p = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
        if kwargs:
            p = p.clone()
        p.grad = torch.tensor([0.5, -0.3], dtype=torch.float64)
        o = make(name, [p], lr=0.1, **kwargs)
        o.step()
        p.grad = grad
        o.step()
        return p

    at = torch.tensor([0.4, 0.7], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(stepped(at, differentiable=True).sum(), at)
    h = 1e-6
    for i in range(2):
        bump = torch.zeros(2, dtype=torch.float64)
        bump[i] = h
        quotient = (stepped(at.detach() + bump).sum() - stepped(at.detach() - bump).sum()).item() / (2 * h)
        assert slope[i].item() == pytest.approx(quotient, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adadelta", "Adamax"])
def test_gradients_flow_to_the_learning_rate(name: str) -> None:
    lr = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    p = torch.ones(2, dtype=torch.float64, requires_grad=True).clone()
    o = make(name, [p], lr=lr, differentiable=True)
    for _ in range(2):
        p.grad = torch.tensor([0.5, -0.3], dtype=torch.float64)
        o.step()
    (slope,) = torch.autograd.grad((p * p).sum(), lr)

    def loss(lr: float) -> float:
        q = torch.ones(2, dtype=torch.float64, requires_grad=True)
        o = make(name, [q], lr=lr)
        for _ in range(2):
            q.grad = torch.tensor([0.5, -0.3], dtype=torch.float64)
            o.step()
        return (q * q).sum().item()

    assert slope.item() == pytest.approx((loss(0.1 + 1e-6) - loss(0.1 - 1e-6)) / 2e-6, rel=1e-5, abs=1e-9)


def test_differentiable_steps_of_a_leaf_are_refused() -> None:
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        torch.optim.SGD([parameter(1)], lr=1.0, differentiable=True).step()


# -- swapping ---------------------------------------------------------------------------------------------------------


def test_swapping_in_parameters_and_state() -> None:
    p, q = parameter(2), parameter(2)
    o = torch.optim.SGD([p], lr=1.0, momentum=0.5)
    o.step()
    packed = copy.deepcopy(o.state_dict())
    packed["param_groups"][0]["lr"] = 10.0
    with torch.optim.swap_in_optimizer_params_and_state(o, {"q": q}, packed):
        assert o.param_groups[0]["params"] == [q] and o.param_groups[0]["lr"] == 10.0
        o.step()
    assert q.tolist() == [-14.0, -14.0]
    assert p.tolist() == [0.0, 0.0]
    assert o.param_groups[0]["params"][0] is p and o.param_groups[0]["lr"] == 1.0
    assert o.state[p]["momentum_buffer"].tolist() == [1.0, 1.0]


def test_refused_swaps() -> None:
    swap = torch.optim.swap_in_optimizer_params_and_state
    p = parameter(2)
    o = torch.optim.SGD([p], lr=1.0, momentum=0.5)
    with pytest.raises(RuntimeError, match="requires initialized optimizer state"), swap(o, {"p": p}, o.state_dict()):
        pass
    o.step()
    good = o.state_dict()
    for bad, message in [
        (3, "requires a DCP-style optimizer state_dict"),
        ({**good, "state": []}, "to be a dict mapping packed parameter ids"),
        ({**good, "state": {p: {}}}, "state keyed by packed parameter ids"),
        ({**good, "state": {5: {}}}, "got extra keys"),
        ({**good, "param_groups": good["param_groups"] * 2}, "a different number of parameter groups"),
        ({**good, "param_groups": [{"params": [0]}]}, "to exactly match the live optimizer group keys"),
    ]:
        with pytest.raises(RuntimeError, match=message), swap(o, {"p": p}, bad):
            pass
    with pytest.raises(RuntimeError, match="match optimizer.param_groups ordering"), swap(o, {}, good):
        pass


def test_counts_of_steps_that_programs_have_made_themselves(torch) -> None:
    """Of one dimension: what shares its state between processes makes it so."""
    for kind in (torch.optim.Adam, torch.optim.NAdam, torch.optim.Adagrad, torch.optim.RMSprop):
        found = []
        for made in (False, True):
            p = torch.nn.Parameter(torch.ones(3))
            p.grad = torch.arange(3.0)
            o = kind([p], lr=0.1)
            for _ in range(3):
                o.step()
                for name, value in o.state[p].items():
                    o.state[p][name] = value.reshape(1) if made and value.dim() == 0 else value
            found.append(p.tolist())
        assert found[0] == found[1] and o.state[p]["step"].tolist() == [3.0]
