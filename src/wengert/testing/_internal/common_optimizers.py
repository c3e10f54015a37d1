"""Optimizers as PyTorch's generated tests go through them."""

from __future__ import annotations

from copy import deepcopy
from enum import Enum
from typing import TYPE_CHECKING, Any

from ... import optim
from ...nn import Parameter
from ...optim.lr_scheduler import (
    CosineAnnealingLR,
    ExponentialLR,
    LinearLR,
    PolynomialLR,
    ReduceLROnPlateau,
    StepLR,
)
from ...tensor.creation import tensor
from .common_device_type import _ForOp
from .families import resolve
from .opinfo.core import DecorateInfo
from .parametrized import Case, _TestParametrizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "ErrorOptimizerInput", "OptimizerErrorEnum", "OptimizerInfo", "OptimizerInput", "TensorTracker", "optim_db", "optims",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    return resolve(__name__, name)


class OptimizerInput:
    """Arguments of an optimizer's constructor; ``desc``: what is special about them."""

    def __init__(self, params: Any, kwargs: dict[str, Any], desc: str = "") -> None:
        self.params, self.kwargs, self.desc = params, kwargs, desc

    def __repr__(self) -> str:
        return f"params={self.params}, kwargs={self.kwargs}, desc={self.desc}"


class OptimizerErrorEnum(Enum):
    """When arguments are refused."""

    CONSTRUCTION_ERROR = 0
    STEP_ERROR = 1


class ErrorOptimizerInput:
    """Arguments that are refused: when, with what kind of exception, and a pattern of its text."""

    def __init__(
        self, optim_error_input: Any, *, error_on: OptimizerErrorEnum = OptimizerErrorEnum.CONSTRUCTION_ERROR, error_type: Any = RuntimeError,
        error_regex: str = "",
    ) -> None:  # fmt: skip
        self.optimizer_error_input, self.error_on, self.error_type, self.error_regex = optim_error_input, error_on, error_type, error_regex


class OptimizerInfo:
    """An optimizer, and what generated tests should know about it.

    ``inputs``: descriptions -> arguments of the constructor. ``errors``: arguments that are refused -> a pattern of the text.
    """

    def __init__(
        self, optim_cls: Any, *, inputs: dict[str, dict[str, Any]], errors: Sequence[tuple[dict[str, Any], str]] = (),
        supported_impls: tuple[str, ...] = ("foreach", "differentiable"), supports_sparse: bool = False, has_capturable_arg: bool = False,
        only_supports_sparse_grads: bool = False, metadata_for_sparse: Any = ({}, []), supports_complex: bool = True,
        step_requires_closure: bool = False, supports_param_groups: bool = True, supports_multiple_devices: bool = True, skips: Any = (),
        decorators: Any = None, supports_fused_on: tuple[str, ...] = (), scheduler_inputs: Any = None,
        not_og_supported_flags: tuple[str, ...] = ("foreach", "differentiable", "maximize", "capturable"),
    ) -> None:  # fmt: skip
        self.optim_cls, self._inputs, self._errors = optim_cls, inputs, errors
        self.supported_impls, self.not_og_supported_flags = supported_impls, not_og_supported_flags
        self.supports_sparse, self.only_supports_sparse_grads = supports_sparse, only_supports_sparse_grads
        self.metadata_for_sparse = metadata_for_sparse
        self.has_capturable_arg, self.supports_complex, self.step_requires_closure = has_capturable_arg, supports_complex, step_requires_closure
        self.supports_param_groups, self.supports_multiple_devices = supports_param_groups, supports_multiple_devices
        self.supports_fused_on, self.decorators = supports_fused_on, (*(decorators or ()), *skips)
        self.scheduler_inputs = scheduler_inputs or (_schedulers((StepLR, {"gamma": 0.9, "step_size": 10}), (ReduceLROnPlateau, {})),)

    @property
    def name(self) -> str:
        """The name of the class."""
        return str(self.optim_cls.__name__)

    def optim_inputs_func(self, device: Any, dtype: Any = None) -> list[OptimizerInput]:
        """Arguments to try, without parameters."""
        return [OptimizerInput(None, deepcopy(kwargs), desc) for desc, kwargs in {"default": {}, **self._inputs}.items()]

    def optim_error_inputs_func(self, device: Any, dtype: Any) -> list[ErrorOptimizerInput]:
        """Arguments that have to be refused."""
        weight = Parameter(tensor([[0.5, -0.25, 1.0], [2.0, 0.0, -1.5]], device=device, dtype=dtype))
        rows: list[tuple[Any, dict[str, Any], Any, str]] = [
            (weight, {}, TypeError, "params argument given to the optimizer should be an iterable of Tensors or dicts"),
            ([weight, weight], {}, UserWarning, ".*a parameter group with duplicate parameters.*"),
            ([{"params": weight}, {"params": weight}], {}, ValueError, "some parameters appear in more than one parameter group"),
            (None, {"lr": tensor([0.001, 0.001])}, ValueError, "Tensor lr must be 1-element"),
            *((None, kwargs, ValueError, regex) for kwargs, regex in self._errors),
        ]
        if self.step_requires_closure:  # which has one group of parameters and a learning rate of any shape
            rows = [rows[0]]
        return [ErrorOptimizerInput(OptimizerInput(p, k, regex), error_type=kind, error_regex=regex) for p, k, kind, regex in rows]

    def get_decorators(self, test_class: str, test_name: str, device: str, dtype: Any, param_kwargs: Any) -> list[Any]:
        """The decorators for that test."""
        found: list[Any] = []
        for d in self.decorators:
            if not isinstance(d, DecorateInfo):
                found.append(d)
            elif d.is_active(test_class, test_name, device, dtype, param_kwargs):
                found += d.decorators
        return found


def _schedulers(*rows: tuple[Any, dict[str, Any]]) -> list[Callable[[Any], Any]]:
    def maker(kind: Any, options: dict[str, Any]) -> Callable[[Any], Any]:
        return lambda optimizer: kind(optimizer, **options)

    return [maker(kind, options) for kind, options in rows]


class optims(_TestParametrizer):
    """Decorator: one test for each optimizer of the list and dtype, passed as ``optim_info`` and ``dtype``."""

    def __init__(self, optim_info_iterable: Any, dtypes: Any = None) -> None:
        self.infos = list(optim_info_iterable)
        self.dtypes = [None] if dtypes is None else list(dtypes)

    def cases(self, test: Any, device: str | None) -> Any:
        for info in self.infos:
            for dtype in self.dtypes:
                yield Case(info.name, {"optim_info": info, **({} if dtype is None else {"dtype": dtype})}, (_ForOp(info, dtype),))


def _get_device_type(device: Any) -> str:
    """``"cpu"`` for ``"cpu:0"`` and for a device."""
    return str(device).partition(":")[0]


def _get_optim_inputs_including_global_cliquey_kwargs(device: Any, dtype: Any, optim_info: OptimizerInfo, skip: Any = ()) -> list[OptimizerInput]:
    """All arguments to try, each with none of the flags for implementations, and with each of them."""
    if not set(skip) <= {"foreach", "fused", "differentiable"}:
        raise AssertionError("skip must be a subset of ['foreach', 'fused', 'differentiable']")
    kind = _get_device_type(device)
    flags = [f for f in optim_info.supported_impls if f not in skip and f != "foreach" and (f != "fused" or kind in optim_info.supports_fused_on)]
    found: list[OptimizerInput] = []
    for given in optim_info.optim_inputs_func(device):
        plain = {**given.kwargs, **dict.fromkeys(flags, False)}
        found.append(OptimizerInput(None, plain, given.desc))
        found += [OptimizerInput(None, {**deepcopy(plain), flag: True}, f"{given.desc} & {flag}") for flag in flags]
    return found


class TensorTracker:
    """Copies of tensors in the order in which they came, to be compared with those of another run."""

    def __init__(self, assert_eq_kwargs: dict[str, Any] | None = None) -> None:
        self.assert_eq_kwargs = assert_eq_kwargs or {}
        self.tensors: list[Any] = []

    def add(self, t: Any) -> None:
        """Keep a copy."""
        self.tensors.append(t.detach().clone())

    def pop_check_set(self, tensor_to_set: Any, testcase: Any, override_assert_eq_kwargs: dict[str, Any] | None = None) -> None:
        """The tensor is equal to the oldest copy, whose values it gets, so that differences do not grow; the copy is forgotten."""
        testcase.assertGreater(len(self.tensors), 0, "no tensors to pop")
        reference = self.tensors.pop(0)
        options = self.assert_eq_kwargs if override_assert_eq_kwargs is None else override_assert_eq_kwargs
        testcase.assertEqual(tensor_to_set, reference, **options)
        from ...graph import no_grad

        with no_grad():
            tensor_to_set.copy_(reference)

    def all_popped(self) -> bool:
        """Whether none is left."""
        return not self.tensors


_DECAY: dict[str, dict[str, Any]] = {
    "nonzero weight_decay": {"weight_decay": 0.1}, "maximize": {"maximize": True}, "maximize, weight_decay": {"weight_decay": 0.1, "maximize": True},
}  # fmt: skip
_TENSOR = {"Tensor lr": {"lr": tensor(0.001)}}
_ADAM = {
    "non-default lr": {"lr": 0.01}, **_DECAY, "amsgrad": {"weight_decay": 0.1, "amsgrad": True}, **_TENSOR,
    "Tensor lr, betas": {"lr": tensor(0.001), "betas": (tensor(0.9), tensor(0.99)), "foreach": False},
}  # fmt: skip
_BETAS = ({"lr": 1e-2, "betas": (1.0, 0.0)}, "Invalid beta parameter at index 0: 1.0")
_BOTH = ("foreach", "differentiable")
_FUSED = (*_BOTH, "fused")
_SGD_SCHEDULERS = tuple(
    _schedulers(*rows)
    for rows in (
        [(StepLR, {"gamma": 0.9, "step_size": 10})],
        [(LinearLR, {"start_factor": 0.4, "total_iters": 4})],
        [(StepLR, {"gamma": 0.9, "step_size": 10}), (LinearLR, {"start_factor": 0.4, "total_iters": 4})],
        [(StepLR, {"gamma": 0.9, "step_size": 10}), (ReduceLROnPlateau, {})],
        [(ExponentialLR, {"gamma": 0.99}), (PolynomialLR, {"power": 0.9, "total_iters": 4}), (CosineAnnealingLR, {"T_max": 10})],
    )
)
optim_db: list[OptimizerInfo] = [
    OptimizerInfo(
        optim.Adadelta, has_capturable_arg=True,
        inputs={"non-default lr": {"lr": 0.01}, **_DECAY, "rho": {"rho": 0.95, "weight_decay": 0.9}},
        errors=[({"lr": 1e-2, "rho": 1.1}, "Invalid rho value: 1.1")],
    ),
    OptimizerInfo(
        optim.Adafactor, supported_impls=("foreach",), supports_complex=False, not_og_supported_flags=("foreach",),
        inputs={"nonzero weight_decay": {"weight_decay": 0.1, "lr": 0.01}, "maximize": {"weight_decay": 0.1, "maximize": True},
                "non-default beta2_decay": {"beta2_decay": -1.0}, "non-default clipping threshold d": {"d": 1.5}},
        errors=[({"beta2_decay": 0.8}, "beta2_decay should be <= 0 but is: 0.8"), ({"d": 0.0}, "Clipping threshold d should be >= 1 but is: 0.0")],
    ),
    OptimizerInfo(
        optim.Adagrad, supported_impls=_FUSED, supports_fused_on=("cpu",), supports_sparse=True,
        metadata_for_sparse=({"lr": 0.1, "weight_decay": 0, "lr_decay": 0}, _SGD_SCHEDULERS[0]),
        inputs={**_DECAY, "non-default lr": {"lr": 0.1}, "initial_accumulator_value": {"initial_accumulator_value": 0.1, "weight_decay": 0.1},
                "lr_decay": {"lr": 0.1, "lr_decay": 0.5, "weight_decay": 0.1}, **_TENSOR},
        errors=[({"lr": 1e-2, "lr_decay": -0.5}, "Invalid lr_decay value: -0.5")],
    ),
    OptimizerInfo(
        optim.Adam, supported_impls=_FUSED, supports_fused_on=("cpu",), has_capturable_arg=True, inputs=_ADAM,
        errors=[_BETAS, ({"lr": 1e-2, "weight_decay": -1}, "Invalid weight_decay value: -1"),
                ({"lr": tensor(0.001), "foreach": True}, "lr as a Tensor is not supported for capturable=False and foreach=True")],
    ),
    OptimizerInfo(
        optim.Adamax, has_capturable_arg=True, inputs={"non-default lr": {"lr": 0.1}, **_DECAY},
        errors=[({"lr": 1e-2, "betas": (0.0, 1.0)}, "Invalid beta parameter at index 1: 1.0")],
    ),
    OptimizerInfo(
        optim.AdamW, supported_impls=_FUSED, supports_fused_on=("cpu",), has_capturable_arg=True, inputs=_ADAM,
        errors=[_BETAS, ({"lr": 1e-2, "weight_decay": -1}, "Invalid weight_decay value: -1")],
    ),
    OptimizerInfo(
        optim.ASGD, has_capturable_arg=True,
        inputs={"non-default lambd": {"lambd": 0.1}, "non-default lr": {"lr": 0.02}, "t0": {"t0": 100}, **_DECAY},
        errors=[({"lr": 1e-2, "weight_decay": -0.5}, "Invalid weight_decay value: -0.5")],
    ),
    OptimizerInfo(
        optim.LBFGS, supported_impls=(), step_requires_closure=True, supports_param_groups=False, supports_multiple_devices=False,
        inputs={"non-default lr": {"lr": 0.01}, **_TENSOR, "tolerance_grad": {"tolerance_grad": 1e-6},
                "strong_wolfe": {"line_search_fn": "strong_wolfe"}},
    ),
    OptimizerInfo(
        optim.NAdam, has_capturable_arg=True,
        inputs={"non-default lr": {"lr": 1e-3}, "non-zero momentum_decay": {"momentum_decay": 6e-3}, **_DECAY,
                "decoupled_weight_decay": {"weight_decay": 0.1, "momentum_decay": 6e-3, "decoupled_weight_decay": True}},
        errors=[({"lr": 1e-2, "betas": (1.0, 0.0)}, "Invalid beta parameter at index 0: 1.0"),
                ({"lr": 1e-2, "momentum_decay": -0.2}, "Invalid momentum_decay value: -0.2")],
    ),
    OptimizerInfo(
        optim.RAdam, has_capturable_arg=True,
        inputs={"non-default lr": {"lr": 2e-3}, "non-default eps": {"eps": 1e-6}, **_DECAY,
                "decoupled_weight_decay": {"weight_decay": 0.1, "decoupled_weight_decay": True}},
        errors=[_BETAS, ({"lr": 1e-2, "weight_decay": -1}, "Invalid weight_decay value: -1")],
    ),
    OptimizerInfo(
        optim.RMSprop, has_capturable_arg=True,
        inputs={"non-default lr": {"lr": 1e-3}, **_DECAY, "centered": {"weight_decay": 0.1, "centered": True},
                "momentum": {"weight_decay": 0.1, "centered": True, "momentum": 0.1}},
        errors=[({"lr": 1e-2, "momentum": -1.0}, "Invalid momentum value: -1.0")],
    ),
    OptimizerInfo(
        optim.Rprop, has_capturable_arg=True,
        inputs={"non-default lr": {"lr": 2e-4}, "non-default etas": {"etas": (0.5, 1.5)}, "non-default step_sizes": {"step_sizes": (2e-6, 100)},
                "maximize": {"maximize": True}},
        errors=[({"lr": 1e-2, "etas": (1.0, 0.5)}, "Invalid eta values: 1.0, 0.5")],
    ),
    OptimizerInfo(
        optim.SGD, supported_impls=_FUSED, supports_fused_on=("cpu",), supports_sparse=True, scheduler_inputs=_SGD_SCHEDULERS,
        metadata_for_sparse=({"lr": 4.8e-3, "maximize": False, "momentum": 0, "nesterov": False, "weight_decay": 0}, _SGD_SCHEDULERS[0]),
        inputs={"non-default lr": {"lr": 1e-2}, **_TENSOR, **_DECAY, "momentum": {"momentum": 0.9},
                "dampening": {"momentum": 0.9, "dampening": 0.5}, "weight_decay w/ momentum": {"momentum": 0.9, "weight_decay": 0.1},
                "nesterov": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}},
        errors=[({"lr": 1e-2, "momentum": -0.5}, "Invalid momentum value: -0.5"),
                ({"lr": 1e-2, "momentum": 0.0, "nesterov": True}, "Nesterov momentum requires a momentum and zero dampening")],
    ),
    OptimizerInfo(
        optim.SparseAdam, supported_impls=(), only_supports_sparse_grads=True, supports_complex=False,
        metadata_for_sparse=({"lr": 4e-2}, []), inputs={"non-default lr": {"lr": 0.01}, **_TENSOR, "maximize": {"maximize": True}},
        errors=[({"lr": 1e-2, "betas": (1.0, 0.0)}, "Invalid beta parameter at index 0: 1.0")],
    ),
]  # fmt: skip
