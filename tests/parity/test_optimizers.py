"""Every optimizer of PyTorch's own optimizer table, and every schedule, on both libraries.

For each configuration: the parameters after 10 steps, the layout and values of the state dict, and the steps after a
state dict has travelled from one library to the other. For each schedule: 50 learning rates.
"""

from __future__ import annotations

import os
import warnings
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

if os.environ.get("WENGERT_REQUIRE_PARITY") != "1":
    pytest.importorskip("torch", reason="compares with PyTorch")

import torch

import wengert
from wengert.functions.parameter import Parameter
from wengert.tensor import Tensor, wrap

pytestmark = pytest.mark.parity

TOLERANCE = {
    "float32": {"rtol": 1e-5, "atol": 1e-6},
    "float64": {"rtol": 1e-12, "atol": 1e-12},
    "complex64": {"rtol": 1e-5, "atol": 1e-6},
    "complex128": {"rtol": 1e-12, "atol": 1e-12},
    "bfloat16": {"rtol": 3e-2, "atol": 3e-2},
    "float16": {"rtol": 4e-3, "atol": 4e-3},
}
SHAPES = [[(3, 4), (4,), (2, 3, 2), ()], [(5, 3), (7,)]]  # of two parameter groups


def _infos() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_optimizers import optim_db
    return list(optim_db)


INFOS = {info.name: info for info in _infos()}


def to_wengert(value: Any) -> Any:
    """The same value with torch's tensors, dtypes and containers turned into ours."""
    if isinstance(value, torch.nn.Parameter):
        return Parameter(to_wengert(value.data))
    if isinstance(value, torch.Tensor):
        if value.is_sparse:
            value = value.coalesce()
            return wengert.sparse_coo_tensor(
                to_wengert(value.indices()), to_wengert(value.values()), tuple(value.shape)
            ).coalesce()
        if value.dtype == torch.bfloat16:
            import ml_dtypes

            array = value.detach().view(torch.int16).numpy().copy().view(ml_dtypes.bfloat16)
        else:
            array = value.detach().numpy().copy()
        return wrap(array)
    if isinstance(value, dict):
        return type(value)((k, to_wengert(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return type(value)(to_wengert(v) for v in value)
    return value


def to_torch(value: Any) -> Any:
    if isinstance(value, Tensor):
        array = value._wg_data
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
        return torch.from_numpy(np.array(array))
    if isinstance(value, dict):
        return type(value)((k, to_torch(v)) for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return type(value)(to_torch(v) for v in value)
    return value


def number(t: Any) -> np.ndarray:
    """A tensor of either library as an array of float64 or complex128."""
    array = (
        t._wg_data
        if isinstance(t, Tensor)
        else t.detach().to(torch.complex128 if t.is_complex() else torch.float64).numpy()
    )
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def same(ours: Any, theirs: Any, path: str = "", **tolerance: float) -> None:
    """The same containers, keys, types, dtypes and values."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, Tensor), path
        assert str(ours.dtype) == str(theirs.dtype), path
        assert tuple(ours.shape) == tuple(theirs.shape), path
        np.testing.assert_allclose(number(ours), number(theirs), err_msg=path, **tolerance)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), path
        for key, value in theirs.items():
            same(ours[key], value, f"{path}.{key}", **tolerance)
    elif isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs) and len(ours) == len(theirs), path
        for i, value in enumerate(theirs):
            same(ours[i], value, f"{path}[{i}]", **tolerance)
    elif isinstance(theirs, float):
        np.testing.assert_allclose(ours, theirs, err_msg=path, **tolerance)
    else:
        assert ours == theirs, path


class Pair:
    """The same parameters, gradients and optimizer in both libraries."""

    def __init__(self, name: str, kwargs: dict[str, Any], dtype: str, *, differentiable: bool = False) -> None:
        self.info, self.dtype = INFOS[name], getattr(torch, dtype)
        self.differentiable = differentiable
        torch.manual_seed(0)
        shapes = [[s for s in group if len(s) == 2] for group in SHAPES] if name == "Muon" else SHAPES
        if not self.info.supports_param_groups:
            shapes = [[shape for group in shapes for shape in group]]
        if name == "SparseAdam":
            shapes = [[s for s in group if s] for group in shapes]
        groups: list[dict[str, Any]] = [{"params": [torch.randn(s, dtype=self.dtype) for s in g]} for g in shapes]
        ours = to_wengert(groups)
        for params in [g["params"] for g in groups + ours]:
            for i, p in enumerate(params):
                # Only what is not a leaf may be written to while recording.
                params[i] = p.requires_grad_(True).clone() if differentiable else p.requires_grad_(True)
        if len(groups) > 1:
            groups[1]["lr"] = ours[1]["lr"] = 0.05
        self.theirs = getattr(torch.optim, name)(groups, **deepcopy(kwargs))
        self.ours = getattr(wengert.optim, name)(ours, **to_wengert(kwargs))
        self.exact: Any = None

    def in_double(self, kwargs: dict[str, Any]) -> Any:
        """PyTorch's optimizer of the same parameters in float64, which is given the same gradients from now on."""
        groups = [{**g, "params": [p.detach().double().requires_grad_() for p in g["params"]]}
            for g in self.theirs.param_groups]
        self.exact = getattr(torch.optim, self.info.name)(groups, **deepcopy(kwargs))
        return self.exact

    def params(self, optimizer: Any) -> list[Any]:
        return [p for group in optimizer.param_groups for p in group["params"]]

    def set_grads(self, sparse: bool) -> None:
        for i, (p, q) in enumerate(zip(self.params(self.theirs), self.params(self.ours), strict=True)):
            grad = torch.randn(p.shape, dtype=self.dtype)
            if sparse:
                grad[torch.rand(p.shape[0]) < 0.5] = 0
                grad = grad.to_sparse(1)
            p.grad, q.grad = grad, to_wengert(grad)
            if self.exact is not None:
                self.params(self.exact)[i].grad = grad.double()

    def closures(self) -> tuple[Any, Any]:
        """The same convex problem: parameters near fixed targets, coupled by a sum."""
        both = []
        for optimizer, convert in ((self.theirs, lambda x: x), (self.ours, to_wengert)):
            params = self.params(optimizer)
            generator = torch.Generator().manual_seed(1)
            targets = [convert(torch.randn(p.shape, generator=generator, dtype=self.dtype)) for p in params]

            def closure(optimizer: Any = optimizer, params: Any = params, targets: Any = targets) -> Any:
                optimizer.zero_grad()
                loss = 0.1 * sum(p.sum().abs() ** 2 for p in params)
                for i, (p, t) in enumerate(zip(params, targets)):
                    loss = loss + (i + 1) * ((p - t).abs() ** 4).sum()
                loss.backward()
                return loss

            both.append(closure)
        return both[0], both[1]

    def run(self, steps: int, *, sparse: bool = False) -> None:
        if self.info.step_requires_closure:
            theirs, ours = self.closures()
            for _ in range(steps):
                a, b = self.theirs.step(theirs), self.ours.step(ours)
                np.testing.assert_allclose(b.item(), a.item(), rtol=1e-3)
            return
        for _ in range(steps):
            self.set_grads(sparse)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch on the state of its sparse tensors
                self.theirs.step()
            self.ours.step()
            if self.exact is not None:
                self.exact.step()

    def check(self, **tolerance: float) -> None:
        same(self.params(self.ours), self.params(self.theirs), "params", **tolerance)
        if self.info.name == "LBFGS" and self.dtype in (torch.float32, torch.complex64):
            return  # at the minimum rounding decides how many iterations there are
        same(self.ours.state_dict(), self.theirs.state_dict(), "state_dict", **tolerance)


def configurations(dtype: str = "float32") -> list[Any]:
    cases = []
    for name, info in INFOS.items():
        seen: dict[str, int] = {}
        for config in info.optim_inputs_func("cpu", getattr(torch, dtype)):
            label = "_".join(f"{k}={v}" for k, v in config.kwargs.items()) or "default"
            seen[label] = seen.get(label, 0) + 1
            cases.append(pytest.param(name, config.kwargs, id=f"{name}-{label}" + "+" * (seen[label] - 1)))
    return cases


def tolerance_of(name: str, dtype: str) -> dict[str, float]:
    tolerance = dict(TOLERANCE[dtype])
    if name == "LBFGS":  # an iteration that feeds its rounding errors back
        tolerance = {"rtol": 1e-2, "atol": 1e-3} if dtype in ("float32", "complex64") else {"rtol": 1e-7, "atol": 1e-9}
    if name == "Muon":  # the iteration is in bfloat16 in both libraries
        tolerance = {"rtol": 1e-2, "atol": 1e-3}
    return tolerance


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "kwargs"), configurations())
def test_ten_steps(name: str, kwargs: dict[str, Any], dtype: str) -> None:
    pair = Pair(name, kwargs, dtype)
    pair.run(10, sparse=pair.info.only_supports_sparse_grads)
    pair.check(**tolerance_of(name, dtype))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(("name", "kwargs"), [c for c in configurations() if INFOS[c.values[0]].supports_complex])
def test_complex_parameters(name: str, kwargs: dict[str, Any], dtype: str) -> None:
    pair = Pair(name, kwargs, dtype)
    pair.run(10)
    pair.check(**tolerance_of(name, dtype))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    ("name", "kwargs"),
    [c for c in configurations("float16") if c.values[0] not in ("LBFGS", "Muon", "SparseAdam", "Rprop")],
)
def test_half_parameters(name: str, kwargs: dict[str, Any], dtype: str) -> None:
    kwargs = dict(kwargs)
    if "eps" not in kwargs and name in ("NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta"):
        kwargs["eps"] = 1e-2  # the default vanishes in float16
    pair = Pair(name, kwargs, dtype)
    exact = pair.in_double(kwargs)
    pair.run(10)
    same(pair.params(pair.ours), pair.params(pair.theirs), **TOLERANCE[dtype])
    step = 2.0 ** (-7 if dtype == "bfloat16" else -10)
    off = [
        np.mean(
            [np.abs(number(p) - number(q)).mean() for p, q in zip(pair.params(one), pair.params(exact), strict=True)])
        for one in (pair.ours, pair.theirs)
    ]
    assert off[0] <= 1.25 * off[1] + step / 8, "on average farther from the steps of float64 than PyTorch"


@pytest.mark.parametrize(("name", "kwargs"), [c for c in configurations() if c.values[0] in ("Muon", "SGD", "Adam")])
def test_bfloat16_dtype_is_kept(name: str, kwargs: dict[str, Any]) -> None:
    pair = Pair(name, kwargs, "bfloat16")
    pair.run(2)
    step = 2.0**-7 * (2 if name == "Muon" else 1)  # of which ten products of matrices are rounded
    same(pair.params(pair.ours), pair.params(pair.theirs), rtol=step, atol=step)


@pytest.mark.parametrize("flag", ["foreach", "fused", "differentiable"])
@pytest.mark.parametrize(("name", "kwargs"), configurations())
def test_implementations(name: str, kwargs: dict[str, Any], flag: str) -> None:
    info = INFOS[name]
    if flag not in info.supported_impls or (flag == "fused" and "cpu" not in info.supports_fused_on):
        pytest.skip(f"{name} has no {flag}")
    if flag == "foreach" and isinstance(kwargs.get("lr"), torch.Tensor):
        pytest.skip("refused")
    pair = Pair(name, {**kwargs, flag: True}, "float64", differentiable=flag == "differentiable")
    pair.run(10)
    # Where torch has the step count or the learning rate as a tensor, it computes the step size in float32.
    single = flag == "differentiable" or name == "ASGD" or isinstance(kwargs.get("lr"), torch.Tensor)
    pair.check(**({"rtol": 1e-5, "atol": 1e-5} if single else TOLERANCE["float64"]))


@pytest.mark.parametrize("name", [n for n, info in INFOS.items() if info.supports_sparse])
@pytest.mark.parametrize("kwargs", [{}, {"lr": 0.1}, {"maximize": True}])
def test_sparse_gradients(name: str, kwargs: dict[str, Any]) -> None:
    pair = Pair(name, kwargs, "float64")
    for optimizer in (pair.theirs, pair.ours):  # a gradient without dimensions cannot be sparse
        for group in optimizer.param_groups:
            group["params"] = [p for p in group["params"] if p.ndim]
    for optimizer in (pair.theirs, pair.ours):
        alive = {id(p) for p in pair.params(optimizer)}
        for p in [p for p in optimizer.state if id(p) not in alive]:
            del optimizer.state[p]
    pair.run(10, sparse=True)
    pair.check(**TOLERANCE["float64"])


@pytest.mark.parametrize(("name", "kwargs"), configurations())
def test_state_dicts_travel(name: str, kwargs: dict[str, Any]) -> None:
    """Ours continues from torch's state dict, and torch from ours, as if nothing had happened."""
    tolerance = tolerance_of(name, "float64")
    pair = Pair(name, kwargs, "float64")
    sparse = pair.info.only_supports_sparse_grads
    pair.run(3, sparse=sparse)
    ours, theirs = deepcopy(pair.ours.state_dict()), deepcopy(pair.theirs.state_dict())
    # Other optimizers on the same parameters, so that everything has to come from the state dict.
    pair.ours = type(pair.ours)(_fresh_groups(pair.ours), **to_wengert(kwargs))
    pair.theirs = type(pair.theirs)(_fresh_groups(pair.theirs), **deepcopy(kwargs))
    pair.ours.load_state_dict(to_wengert(theirs))
    pair.theirs.load_state_dict(to_torch(ours))
    pair.run(3, sparse=sparse)
    pair.check(**tolerance)


def _fresh_groups(optimizer: Any) -> list[dict[str, Any]]:
    return [{"params": list(group["params"])} for group in optimizer.param_groups]


@pytest.mark.parametrize("name", INFOS)
def test_repr_and_defaults(name: str) -> None:
    pair = Pair(name, {}, "float32")
    assert repr(pair.ours) == repr(pair.theirs)
    assert pair.ours.defaults == pair.theirs.defaults


@pytest.mark.parametrize("name", INFOS)
def test_refusals(name: str) -> None:
    info = INFOS[name]
    for error in info.optim_error_inputs_func("cpu", torch.float32):
        config = error.optimizer_error_input
        params = config.params
        if params is None:
            params = [torch.nn.Parameter(torch.randn(2, 3))]
        shared: dict[int, Any] = {}
        ours = _converted(params, shared)
        kwargs = to_wengert(config.kwargs)

        def act(ours: Any = ours, kwargs: Any = kwargs) -> None:
            optimizer = getattr(wengert.optim, name)(ours, **kwargs)
            optimizer.step()

        if error.error_type is UserWarning:
            with pytest.warns(UserWarning, match=error.error_regex):
                getattr(wengert.optim, name)(ours, **kwargs)
        else:
            with pytest.raises(error.error_type, match=error.error_regex):
                act()


def _converted(value: Any, shared: dict[int, Any]) -> Any:
    """Like ``to_wengert``, but one tensor stays one tensor, with its gradient."""
    if isinstance(value, torch.Tensor):
        if id(value) not in shared:
            shared[id(value)] = to_wengert(value)
            if value.grad is not None:
                shared[id(value)].grad = to_wengert(value.grad)
        return shared[id(value)]
    if isinstance(value, dict):
        return {k: _converted(v, shared) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_converted(v, shared) for v in value)
    return value


# -- schedules ------------------------------------------------------------------------------------------------------

SCHEDULES: dict[str, Any] = {
    "LambdaLR": lambda m, o: m.LambdaLR(o, lambda e: 0.95**e),
    "LambdaLR-list": lambda m, o: m.LambdaLR(o, [lambda e: 1 / (1 + e), lambda e: e // 3]),
    "MultiplicativeLR": lambda m, o: m.MultiplicativeLR(o, lambda e: 0.9 if e % 3 else 1.1),
    "StepLR": lambda m, o: m.StepLR(o, step_size=7, gamma=0.3),
    "MultiStepLR": lambda m, o: m.MultiStepLR(o, [3, 10, 10, 33], gamma=0.5),
    "ConstantLR": lambda m, o: m.ConstantLR(o, factor=0.4, total_iters=9),
    "LinearLR": lambda m, o: m.LinearLR(o, start_factor=0.2, end_factor=0.9, total_iters=13),
    "ExponentialLR": lambda m, o: m.ExponentialLR(o, gamma=0.93),
    "PolynomialLR": lambda m, o: m.PolynomialLR(o, total_iters=20, power=1.7),
    "CosineAnnealingLR": lambda m, o: m.CosineAnnealingLR(o, T_max=9, eta_min=0.01),
    "CosineAnnealingWarmRestarts": lambda m, o: m.CosineAnnealingWarmRestarts(o, T_0=4, T_mult=2, eta_min=0.001),
    "CosineAnnealingWarmRestarts-1": lambda m, o: m.CosineAnnealingWarmRestarts(o, T_0=6),
    "CyclicLR": lambda m, o: m.CyclicLR(o, base_lr=0.01, max_lr=0.2, step_size_up=6, step_size_down=3),
    "CyclicLR-triangular2": lambda m, o: m.CyclicLR(o, [0.01, 0.02], [0.3, 0.1], step_size_up=5, mode="triangular2"),
    "CyclicLR-exp_range": lambda m, o: m.CyclicLR(o, 0.01, 0.2, step_size_up=5, mode="exp_range", gamma=0.97),
    "CyclicLR-scale_fn": lambda m, o: m.CyclicLR(o, 0.01, 0.2, 5, scale_fn=lambda x: 1 / (5**x), cycle_momentum=False),
    "OneCycleLR": lambda m, o: m.OneCycleLR(o, max_lr=0.5, total_steps=60),
    "OneCycleLR-linear": lambda m, o: m.OneCycleLR(
        o, [0.5, 0.1], epochs=6, steps_per_epoch=10, anneal_strategy="linear"
    ),
    "OneCycleLR-three_phase": lambda m, o: m.OneCycleLR(o, max_lr=0.5, total_steps=55, three_phase=True),
    "SequentialLR": lambda m, o: m.SequentialLR(
        o,
        [m.LinearLR(o, 0.1, total_iters=5), m.CosineAnnealingLR(o, T_max=10), m.ExponentialLR(o, 0.9)],
        milestones=[5, 20],
    ),
    "SequentialLR-nested": lambda m, o: m.SequentialLR(
        o,
        [m.SequentialLR(o, [m.StepLR(o, 2), m.PolynomialLR(o, 9)], milestones=[4]), m.ConstantLR(o, 0.5, 3)],
        milestones=[6],
    ),
    "ChainedScheduler": lambda m, o: m.ChainedScheduler(
        [m.ConstantLR(o, 0.1, 8), m.ExponentialLR(o, 0.9)], optimizer=o
    ),
    "SWALR": lambda m, o: _swalr(m, o, swa_lr=[0.02, 0.3], anneal_epochs=7),
    "SWALR-linear": lambda m, o: _swalr(m, o, swa_lr=0.05, anneal_epochs=5, anneal_strategy="linear"),
    "SWALR-0": lambda m, o: _swalr(m, o, swa_lr=0.05, anneal_epochs=0),
}


def _swalr(module: Any, optimizer: Any, **kwargs: Any) -> Any:
    library = torch if module is torch.optim.lr_scheduler else wengert
    return library.optim.swa_utils.SWALR(optimizer, **kwargs)


def optimizers(kind: str = "SGD", lr: Any = (0.5, 0.25), **kwargs: Any) -> tuple[Any, Any]:
    both = []
    for library, convert in ((torch, lambda x: x), (wengert, to_wengert)):
        groups = [{"params": [library.zeros(1)], "lr": convert(x)} for x in lr]
        both.append(getattr(library.optim, kind)(groups, **kwargs))
    return both[0], both[1]


def schedules(name: str, theirs: Any, ours: Any) -> tuple[Any, Any]:
    make = SCHEDULES[name]
    return make(torch.optim.lr_scheduler, theirs), make(wengert.optim.lr_scheduler, ours)


def numbers(value: Any) -> Any:
    return value.item() if isinstance(value, (Tensor, torch.Tensor)) else value


def watch(optimizer: Any) -> list[Any]:
    """What schedules change: learning rate and momentum of every group."""
    return [[numbers(group["lr"]), group.get("momentum"), group.get("betas")] for group in optimizer.param_groups]


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_fifty_learning_rates(name: str, kind: str) -> None:
    theirs, ours = optimizers(kind, **({"momentum": 0.9} if kind == "SGD" else {}))
    a, b = schedules(name, theirs, ours)
    for _ in range(50):
        assert watch(ours) == watch(theirs)
        assert b.get_last_lr() == a.get_last_lr()
        for optimizer, schedule in ((theirs, a), (ours, b)):
            optimizer.step()
            schedule.step()


@pytest.mark.parametrize("name", SCHEDULES)
def test_tensor_learning_rates(name: str) -> None:
    theirs, ours = optimizers(lr=(torch.tensor(0.5), torch.tensor([0.25])), momentum=0.9)
    a, b = schedules(name, theirs, ours)
    kept = [group["lr"] for group in ours.param_groups]
    for _ in range(20):
        for optimizer, schedule in ((theirs, a), (ours, b)):
            optimizer.step()
            schedule.step()
        np.testing.assert_allclose(
            [group["lr"].item() for group in ours.param_groups],
            [group["lr"].item() for group in theirs.param_groups],
            rtol=2e-6,
        )
    assert all(group["lr"] is lr for group, lr in zip(ours.param_groups, kept))


def plain(state: Any) -> Any:
    """A schedule's state without functions and bound methods, which differ between the libraries."""
    if isinstance(state, dict):
        return {k: plain(v) for k, v in state.items()}
    if isinstance(state, (list, tuple)):
        return [plain(v) for v in state]
    return "function" if callable(state) else state


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule_states_travel(name: str) -> None:
    theirs, ours = optimizers(momentum=0.9)
    a, b = schedules(name, theirs, ours)
    for _ in range(11):
        for optimizer, schedule in ((theirs, a), (ours, b)):
            optimizer.step()
            schedule.step()
    state = plain(a.state_dict())
    assert plain(b.state_dict()) == state
    again, resumed = optimizers(momentum=0.9)[1], deepcopy(a.state_dict())
    c = SCHEDULES[name](wengert.optim.lr_scheduler, again)
    again.load_state_dict(to_wengert(theirs.state_dict()))
    c.load_state_dict(resumed)
    for _ in range(20):
        for optimizer, schedule in ((theirs, a), (again, c)):
            optimizer.step()
            schedule.step()
        assert watch(again) == watch(theirs)


@pytest.mark.parametrize("name", [n for n in SCHEDULES if n.split("-")[0] not in ("SequentialLR", "ChainedScheduler")])
def test_closed_forms(name: str) -> None:
    theirs, ours = optimizers(momentum=0.9)
    a, b = schedules(name, theirs, ours)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for epoch in (0, 1, 2, 5, 9, 10, 3, 17, 21, 13):
            for schedule in (a, b):
                schedule.step(epoch)
            np.testing.assert_allclose(b.get_last_lr(), a.get_last_lr(), rtol=1e-15)


@pytest.mark.parametrize("name", [n for n in SCHEDULES if n.split("-")[0] not in ("SequentialLR", "ChainedScheduler")])
def test_resuming_with_last_epoch(name: str) -> None:
    """A schedule made anew in the middle, as after a crash."""
    if name.startswith("SWALR"):
        pytest.skip("counts steps, not epochs")
    both = optimizers(momentum=0.9)
    for optimizer, schedule in zip(both, schedules(name, *both)):
        for _ in range(7):
            optimizer.step()
            schedule.step()
    source = torch.optim.lr_scheduler, wengert.optim.lr_scheduler
    made = []
    for optimizer, module in zip(both, source):
        with _last_epoch(module, 7):
            made.append(SCHEDULES[name](module, optimizer))
    for _ in range(10):
        assert watch(both[1]) == watch(both[0])
        for optimizer, schedule in zip(both, made):
            optimizer.step()
            schedule.step()


class _last_epoch:
    """Within it, every schedule of ``module`` is made with this ``last_epoch``."""

    def __init__(self, module: Any, epoch: int) -> None:
        self.base, self.epoch = module.LRScheduler, epoch

    def __enter__(self) -> None:
        self.saved = {}
        for kind in _subclasses(self.base):
            if "__init__" in kind.__dict__ and "last_epoch" in kind.__init__.__code__.co_varnames:
                self.saved[kind] = kind.__init__
                kind.__init__ = _with_epoch(kind.__init__, self.epoch)

    def __exit__(self, *exc: object) -> None:
        for kind, init in self.saved.items():
            kind.__init__ = init


def _with_epoch(init: Any, epoch: int) -> Any:
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        last = init.__code__.co_varnames.index("last_epoch") - 1
        if len(args) > last:
            args = (*args[:last], epoch)
        else:
            kwargs["last_epoch"] = epoch
        init(self, *args, **kwargs)

    return wrapper


def _subclasses(kind: type) -> list[type]:
    return [kind, *(c for sub in kind.__subclasses__() for c in _subclasses(sub))]


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"mode": "max", "patience": 1, "factor": 0.5},
        {"threshold_mode": "abs", "threshold": 0.3, "patience": 2},
        {"mode": "max", "threshold_mode": "abs", "threshold": 0.1, "patience": 0, "cooldown": 3},
        {"patience": 1, "min_lr": [0.1, 0.01], "cooldown": 1},
    ],
)
def test_plateaus(kwargs: dict[str, Any]) -> None:
    theirs, ours = optimizers()
    a = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **kwargs)
    b = wengert.optim.lr_scheduler.ReduceLROnPlateau(ours, **kwargs)
    rng = np.random.default_rng(0)
    for i in range(50):
        metric = float(np.exp(-i / 5) + 0.1 * rng.standard_normal())
        a.step(metric)
        b.step(wrap(np.array(metric)))
        assert watch(ours) == watch(theirs)
        assert b.state_dict() == a.state_dict()
    c = wengert.optim.lr_scheduler.ReduceLROnPlateau(ours, **kwargs)
    c.load_state_dict(a.state_dict())
    assert c.state_dict() == a.state_dict()


# -- averages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("kind", ["default", "swa", "swa_multi", "ema", "ema_multi", "own"])
def test_averaged_models(kind: str, use_buffers: bool) -> None:
    if kind == "swa_multi" and use_buffers:
        pytest.skip("torch cannot average the number of batches")
    models, averages = [], []
    for library in (torch, wengert):
        utils = library.optim.swa_utils
        options: dict[str, Any] = {
            "default": {},
            "swa": {"avg_fn": utils.get_swa_avg_fn()},
            "swa_multi": {"multi_avg_fn": utils.get_swa_multi_avg_fn()},
            "ema": {"avg_fn": utils.get_ema_avg_fn(0.9)},
            "ema_multi": {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)},
            "own": {"avg_fn": lambda a, c, n: 0.5 * a + 0.5 * c},
        }[kind]
        model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.BatchNorm1d(4))
        models.append(model)
        averages.append(utils.AveragedModel(model, use_buffers=use_buffers, **options))
    assert list(averages[1].state_dict()) == list(averages[0].state_dict())
    rng = np.random.default_rng(0)
    for _ in range(4):
        for p, q in zip(models[0].parameters(), models[1].parameters()):
            values = rng.standard_normal(tuple(p.shape)).astype(np.float32)
            p.data.copy_(torch.from_numpy(values))
            q.data.copy_(wrap(values))
        x = rng.standard_normal((8, 3)).astype(np.float32)
        models[0](torch.from_numpy(x))
        models[1](wrap(x))
        for average, model in zip(averages, models):
            average.update_parameters(model)
        same(averages[1].state_dict(), averages[0].state_dict(), rtol=1e-5, atol=1e-6)


def test_batch_norm_statistics() -> None:
    models = [library.nn.Sequential(library.nn.Linear(3, 4), library.nn.BatchNorm1d(4)) for library in (torch, wengert)]
    models[1].load_state_dict(to_wengert(models[0].state_dict()))
    rng = np.random.default_rng(0)
    batches = [rng.standard_normal((8, 3)).astype(np.float32) for _ in range(5)]
    torch.optim.swa_utils.update_bn([torch.from_numpy(x) for x in batches], models[0])
    wengert.optim.swa_utils.update_bn([(wrap(x), 0) for x in batches], models[1])
    same(models[1].state_dict(), models[0].state_dict(), rtol=1e-5, atol=1e-6)
    assert models[1][1].momentum == models[0][1].momentum
