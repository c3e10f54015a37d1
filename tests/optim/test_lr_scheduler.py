"""Schedules: what they set, warn of, refuse and remember."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest

import wengert as torch
from wengert.optim import lr_scheduler
from wengert.optim.lr_scheduler import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)


def optimizer(lr: Any = 1.0, **kwargs: Any) -> Any:
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr, **kwargs)


def sequence(schedule: Any, steps: int) -> list[float]:
    """The learning rates of so many epochs."""
    lrs = []
    for _ in range(steps):
        lrs.append(schedule.get_last_lr()[0])
        schedule.optimizer.step()
        schedule.step()
    return lrs


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda o: StepLR(o, 2, gamma=0.5), [1, 1, 0.5, 0.5, 0.25]),
        (lambda o: MultiStepLR(o, [1, 3, 3], gamma=0.5), [1, 0.5, 0.5, 0.125, 0.125]),
        (lambda o: ConstantLR(o, 0.25, 2), [0.25, 0.25, 1, 1, 1]),
        (lambda o: LinearLR(o, 0.5, total_iters=2), [0.5, 0.75, 1, 1, 1]),
        (lambda o: ExponentialLR(o, 0.5), [1, 0.5, 0.25, 0.125, 0.0625]),
        (lambda o: PolynomialLR(o, 4, power=2), [1, 0.5625, 0.25, 0.0625, 0]),
        (lambda o: CosineAnnealingLR(o, 2), [1, 0.5, 0, 0.5, 1]),
        (lambda o: CosineAnnealingWarmRestarts(o, 1, 2), [1, 1, 0.5, 1, 0.853553]),
        (lambda o: LambdaLR(o, lambda e: 1 / (e + 1)), [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
        (lambda o: MultiplicativeLR(o, lambda e: e), [1, 1, 2, 6, 24]),
        (lambda o: CyclicLR(o, 0.0, 1.0, 2, cycle_momentum=False), [0, 0.5, 1, 0.5, 0]),
        (
            lambda o: OneCycleLR(
                o, 1.0, 5, pct_start=0.6, anneal_strategy="linear", cycle_momentum=False, div_factor=2
            ),
            [0.5, 0.75, 1, 0.500025, 0.00005],
        ),
    ],
)
def test_first_values(make: Any, expected: list[float]) -> None:
    assert sequence(make(optimizer()), 5) == pytest.approx(expected, abs=1e-6)


def test_chained_schedules_multiply() -> None:
    o = optimizer()
    assert sequence(ChainedScheduler([ConstantLR(o, 0.5, 2), ExponentialLR(o, 0.5)]), 4) == [0.5, 0.25, 0.25, 0.125]


def test_sequences_begin_anew_at_each_milestone() -> None:
    o = optimizer()
    schedule = SequentialLR(o, [ExponentialLR(o, 0.5), ExponentialLR(o, 0.1)], milestones=[3])
    assert sequence(schedule, 5) == pytest.approx([1, 0.5, 0.25, 1, 0.1])


def test_momentum_goes_the_other_way() -> None:
    o = optimizer(momentum=0.9)
    schedule = CyclicLR(o, 0.0, 1.0, 2, base_momentum=0.5, max_momentum=0.9)
    momenta = []
    for _ in range(3):
        momenta.append(o.param_groups[0]["momentum"])
        o.step()
        schedule.step()
    assert momenta == pytest.approx([0.9, 0.7, 0.5])
    adam = torch.optim.Adam([torch.zeros(1, requires_grad=True)], betas=(0.9, 0.99))
    OneCycleLR(adam, 1.0, 10, max_momentum=0.7)
    assert adam.param_groups[0]["betas"] == (0.7, 0.99)


def test_plateau() -> None:
    o = optimizer()
    schedule = ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1)
    lrs = []
    for metric in [3, 2, 2, 2, 2, 2, 2, 2]:
        schedule.step(metric)
        lrs.append(o.param_groups[0]["lr"])
    assert lrs == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]
    assert schedule.best == 2 and schedule.in_cooldown is False


def test_plateau_with_groups_that_joined_later() -> None:
    for min_lr, fits in ((0.3, True), ([0.3], False)):
        o = optimizer()
        schedule = ReduceLROnPlateau(o, patience=0, min_lr=min_lr)
        o.add_param_group({"params": [torch.zeros(1, requires_grad=True)], "lr": 2.0})
        schedule.step(1.0)
        if fits:
            schedule.step(1.0)
            assert [g["lr"] for g in o.param_groups] == [0.3, 0.3]
        else:
            with pytest.raises(RuntimeError, match="number of param groups in the `optimizer`"):
                schedule.step(1.0)


def test_own_schedule() -> None:
    class Own(lr_scheduler._LRScheduler):
        def get_lr(self) -> list[float]:
            return [base / (1 + self.last_epoch) for base in self.base_lrs]

    assert sequence(Own(optimizer()), 3) == [1, 1 / 2, 1 / 3]
    with pytest.raises(NotImplementedError):
        LRScheduler(optimizer())


# -- order and warnings -----------------------------------------------------------------------------------------------


def test_warning_about_the_order() -> None:
    o = optimizer()
    schedule = StepLR(o, 3)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        schedule.step()
    o = optimizer()
    schedule = StepLR(o, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        o.step()
        schedule.step()
        schedule.step()


def test_warning_about_an_overridden_step() -> None:
    o = optimizer()
    schedule = StepLR(o, 3)
    o.step = lambda: None
    with pytest.warns(UserWarning, match=r"`optimizer.step\(\)` has been overridden"):
        schedule.step()


def test_other_warnings() -> None:
    o = optimizer()
    schedule = StepLR(o, 3)
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        schedule.get_lr()
    o.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        schedule.step(6)
    assert schedule.get_last_lr() == [pytest.approx(0.01)]


def test_closures_and_hooks_pass_through_the_watched_step() -> None:
    o = optimizer()
    StepLR(o, 3)
    ExponentialLR(o, 0.5)
    calls: list[str] = []
    o.register_step_post_hook(lambda *_: calls.append("hook"))
    assert o.step(lambda: "loss") == "loss"
    assert calls == ["hook"]


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda o: StepLR("no", 1), TypeError, "str is not an Optimizer"),
        (lambda o: ConstantLR(o, 2.0), ValueError, "expected to be between 0 and 1"),
        (lambda o: LinearLR(o, 0.0), ValueError, "expected to be greater than 0 and less or equal to 1"),
        (lambda o: LinearLR(o, 0.5, 2.0), ValueError, "Ending multiplicative factor"),
        (lambda o: LambdaLR(o, [abs, abs]), ValueError, "Expected 1 lr_lambdas, but got 2"),
        (lambda o: MultiplicativeLR(o, [3]), TypeError, "lr_lambda should be a function, but got int"),
        (lambda o: CosineAnnealingWarmRestarts(o, 0), ValueError, "Expected positive integer T_0, but got 0"),
        (lambda o: CosineAnnealingWarmRestarts(o, 1, 0), ValueError, "Expected integer T_mult >= 1, but got 0"),
        (lambda o: CosineAnnealingWarmRestarts(o, 1, 1, "x"), ValueError, "Expected float or int eta_min"),
        (lambda o: CyclicLR(o, 0.1, 1.0, mode="square"), ValueError, "mode is invalid and scale_fn is None"),
        (lambda o: CyclicLR(o, [0.1, 0.1], 1.0), ValueError, "base_lr must have the same length"),
        (lambda o: OneCycleLR(o, 1.0), ValueError, r"You must define either total_steps OR \(epochs AND"),
        (lambda o: OneCycleLR(o, 1.0, 0), ValueError, "Expected positive integer total_steps, but got 0"),
        (lambda o: OneCycleLR(o, 1.0, epochs=-1, steps_per_epoch=2), ValueError, "integer epochs, but got -1"),
        (lambda o: OneCycleLR(o, 1.0, 5, pct_start=2), ValueError, "Expected float between 0 and 1 pct_start"),
        (lambda o: OneCycleLR(o, 1.0, 5, anneal_strategy="up"), ValueError, "anneal_strategy must be one of"),
        (lambda o: ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0"),
        (lambda o: ReduceLROnPlateau(o, mode="up"), ValueError, "mode up is unknown!"),
        (lambda o: ReduceLROnPlateau(o, threshold_mode="x"), ValueError, "threshold mode x is unknown!"),
        (lambda o: ReduceLROnPlateau(o, min_lr=[0, 0]), ValueError, "expected 1 min_lrs, got 2"),
        (lambda o: SequentialLR(o, [], []), ValueError, "expects at least one scheduler, but got no scheduler"),
        (lambda o: SequentialLR(o, [StepLR(o, 1)], [1]), ValueError, "number of schedulers provided to be one more"),
        (lambda o: SequentialLR(o, [StepLR(optimizer(), 1)], []), ValueError, "belong to the same optimizer"),
        (lambda o: SequentialLR(o, [ReduceLROnPlateau(o)], []), ValueError, "does not support `ReduceLROnPlateau`"),
        (lambda o: ChainedScheduler([]), ValueError, "expects at least one scheduler to be chained"),
        (lambda o: ChainedScheduler([3], o), TypeError, "should have `optimizer` as its attribute"),
        (lambda o: StepLR(o, 1, last_epoch=3), KeyError, "param 'initial_lr' is not specified"),
    ],
)
def test_refusals(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(optimizer())


def test_momentum_is_needed_to_be_cycled() -> None:
    o = torch.optim.Adagrad([torch.zeros(1, requires_grad=True)])
    for make in (lambda: CyclicLR(o, 0.1, 1.0), lambda: OneCycleLR(o, 1.0, 10)):
        with pytest.raises(ValueError, match="optimizer must support momentum or beta1"):
            make()


def test_too_many_steps_of_one_cycle() -> None:
    o = optimizer(momentum=0.9)
    schedule = OneCycleLR(o, 1.0, 3)
    with pytest.raises(ValueError, match="Tried to step 4 times. The specified number of total steps is 3"):
        sequence(schedule, 5)


def test_negative_epochs() -> None:
    with pytest.raises(ValueError, match="Expected non-negative epoch, but got -2"):
        CosineAnnealingWarmRestarts(optimizer(), 2).step(-2)


def test_fractions_of_epochs() -> None:
    schedule = CosineAnnealingWarmRestarts(optimizer(), 2)
    schedule.step(0.5)
    assert schedule.get_last_lr() == [pytest.approx(0.853553, abs=1e-6)]
    assert schedule.last_epoch == 0


# -- state ------------------------------------------------------------------------------------------------------------


class Halving:
    """A function with a state of its own."""

    def __init__(self, factor: float = 0.5) -> None:
        self.factor = factor

    def __call__(self, epoch: float) -> float:
        return self.factor**epoch


@pytest.mark.parametrize(
    "make",
    [
        lambda o, f: LambdaLR(o, f),
        lambda o, f: MultiplicativeLR(o, [f]),
        lambda o, f: CyclicLR(o, 0.1, 1.0, 3, scale_fn=f, cycle_momentum=False),
    ],
)
def test_functions_that_are_objects_are_saved(make: Any) -> None:
    schedule = make(optimizer(), Halving(0.25))
    state = pickle.loads(pickle.dumps(schedule.state_dict()))
    function = Halving()
    other = make(optimizer(), function)
    before = copy.deepcopy(state)
    other.load_state_dict(state)
    assert function.factor == 0.25
    assert state == before


def test_lambdas_are_not_saved() -> None:
    assert LambdaLR(optimizer(), lambda e: 1.0).state_dict()["lr_lambdas"] == [None]


def test_composites_save_their_parts() -> None:
    o = optimizer()
    schedule = SequentialLR(o, [LinearLR(o, 0.1), ExponentialLR(o, 0.9)], milestones=[4])
    first = sequence(schedule, 6)
    p = optimizer()
    other = SequentialLR(p, [LinearLR(p, 0.1), ExponentialLR(p, 0.9)], milestones=[4])
    other.load_state_dict(copy.deepcopy(schedule.state_dict()))
    p.load_state_dict(o.state_dict())
    assert sequence(other, 5) == sequence(schedule, 5)
    assert len(first) == 6


def test_resuming_from_an_optimizer() -> None:
    o = optimizer()
    sequence(StepLR(o, 2, gamma=0.5), 3)
    resumed = StepLR(o, 2, gamma=0.5, last_epoch=3)
    assert sequence(resumed, 2) == [0.25, 0.25]


def test_tensor_learning_rates_are_filled_in_place() -> None:
    lr = torch.tensor(1.0)
    o = optimizer(lr)
    schedule = ExponentialLR(o, 0.5)
    o.step()
    schedule.step()
    assert o.param_groups[0]["lr"] is lr and lr.item() == 0.5
    (last,) = schedule.get_last_lr()
    last.fill_(9.0)
    assert lr.item() == 0.5
    assert schedule.base_lrs[0].item() == 1.0


def test_schedules_survive_a_copy() -> None:
    schedule = StepLR(optimizer(), 2, gamma=0.5)
    other = copy.deepcopy(schedule)
    assert other.optimizer is not schedule.optimizer
    other.optimizer.step()
    assert other.get_last_lr() == [1.0]


def test_names() -> None:
    assert set(lr_scheduler.__all__) >= {"LRScheduler", "StepLR", "OneCycleLR", "ReduceLROnPlateau"}
    assert torch.optim.lr_scheduler is lr_scheduler
