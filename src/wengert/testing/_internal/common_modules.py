"""Modules as PyTorch's generated tests go through them: how to make them, and what to call them with."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import nn
from .common_device_type import _ForOp
from .common_dtype import floating_types
from .families import resolve
from .opinfo.core import DecorateInfo, _drawn
from .opinfo.sampling import A, C, I, P, Sample, call
from .parametrized import Case, _TestParametrizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ErrorModuleInput", "FunctionInput", "ModuleErrorEnum", "ModuleInfo", "ModuleInput", "TrainEvalMode", "module_db", "modules"]


def __getattr__(name: str) -> Any:
    return resolve(__name__, name)


class TrainEvalMode(Enum):
    """In which modes a test runs."""

    train_only = 0
    eval_only = 1
    train_and_eval = 2


class ModuleErrorEnum(Enum):
    """When arguments are refused."""

    CONSTRUCTION_ERROR = 0
    FORWARD_ERROR = 1


class FunctionInput:
    """Arguments of a call."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs


class ModuleInput:
    """What a module is made with, and what it is called with."""

    def __init__(
        self, constructor_input: FunctionInput, forward_input: FunctionInput | None = None, desc: str = "", reference_fn: Any = None
    ) -> None:
        self.constructor_input, self.forward_input, self.desc = constructor_input, forward_input, desc
        self.reference_fn: Callable[..., Any] | None = None
        if reference_fn is not None:
            self.reference_fn = lambda m, *args, **kwargs: reference_fn(m, list(m.parameters()), *args, **kwargs)


class ErrorModuleInput:
    """What a module refuses: when, with what kind of exception, and a pattern of its text."""

    def __init__(
        self, module_error_input: ModuleInput, *, error_on: ModuleErrorEnum = ModuleErrorEnum.CONSTRUCTION_ERROR, error_type: Any = RuntimeError,
        error_regex: str = "",
    ) -> None:  # fmt: skip
        self.module_error_input, self.error_on, self.error_type, self.error_regex = module_error_input, error_on, error_type, error_regex


class ModuleInfo:
    """A module. ``samples``: pairs of calls, one of the constructor and one of the module."""

    module_error_inputs_func: Any = None

    def __init__(
        self, module_cls: Any, *, samples: Sequence[tuple[Sample, Sample]] = (), module_inputs_func: Any = None, skips: Any = (),
        decorators: Any = None, dtypes: Any = None, supports_gradgrad: bool = True, gradcheck_nondet_tol: float = 0.0,
        module_memformat_affects_out: bool = False,
        train_and_eval_differ: bool = False, module_error_inputs_func: Any = None, gradcheck_fast_mode: bool | None = None,
    ) -> None:  # fmt: skip
        self.module_cls, self._samples, self._given = module_cls, samples, module_inputs_func
        self.decorators = (*(decorators or ()), *skips)
        self.dtypes = floating_types() if dtypes is None else dtypes
        self.supports_gradgrad, self.gradcheck_nondet_tol, self.gradcheck_fast_mode = supports_gradgrad, gradcheck_nondet_tol, gradcheck_fast_mode
        self.module_memformat_affects_out, self.train_and_eval_differ = module_memformat_affects_out, train_and_eval_differ
        self.module_error_inputs_func = module_error_inputs_func
        self.is_lazy = module_cls.__name__.startswith("Lazy")

    @property
    def name(self) -> str:
        """``nn.Linear``."""
        return f"nn.{self.module_cls.__name__}"

    @property
    def formatted_name(self) -> str:
        """The name as part of a test's name."""
        return self.name.replace(".", "_")

    def module_inputs_func(
        self, module_info: Any, *, device: Any, dtype: Any, requires_grad: bool, training: bool, **kwargs: Any
    ) -> list[ModuleInput]:
        """What to make it with and to call it with."""
        if self._given is not None:
            return list(self._given(module_info, device=device, dtype=dtype, requires_grad=requires_grad, training=training, **kwargs))
        found = []
        for number, (made, called) in enumerate(self._samples):
            rng = np.random.default_rng(number)

            def drawn(sample: Sample, grad: bool, rng: Any = rng) -> FunctionInput:
                options = {k: _drawn(v, rng, dtype, grad) for k, v in sample.options.items()}
                return FunctionInput(*(_drawn(a, rng, dtype, grad) for a in sample.args), **options)

            found.append(ModuleInput(drawn(made, False), drawn(called, requires_grad), "" if number == 0 else f"number_{number}"))
        return found

    def supported_dtypes(self, device_type: Any) -> Any:
        """The dtypes of its parameters and arguments that are tested."""
        return self.dtypes

    def get_decorators(self, test_class: str, test_name: str, device: str, dtype: Any, param_kwargs: Any) -> list[Any]:
        """The decorators for that test."""
        found: list[Any] = []
        for d in self.decorators:
            if not isinstance(d, DecorateInfo):
                found.append(d)
            elif d.is_active(test_class, test_name, device, dtype, param_kwargs):
                found += d.decorators
        return found


class modules(_TestParametrizer):
    """Decorator: one test for each module of the list, dtype and mode, passed as ``module_info``, ``dtype`` and ``training``."""

    def __init__(
        self, module_info_iterable: Any, allowed_dtypes: Any = None, train_eval_mode: TrainEvalMode = TrainEvalMode.train_and_eval,
        skip_if_dynamo: bool = True,
    ) -> None:  # fmt: skip
        self.infos, self.mode = list(module_info_iterable), train_eval_mode
        self.allowed = None if allowed_dtypes is None else set(allowed_dtypes)

    def cases(self, test: Any, device: str | None) -> Any:
        wanted = [mode for mode in (True, False) if self.mode is not (TrainEvalMode.eval_only if mode else TrainEvalMode.train_only)]
        for info in self.infos:
            modes = wanted if info.train_and_eval_differ else wanted[:1]
            for training in modes:
                for dtype in (d for d in info.dtypes if self.allowed is None or d in self.allowed):
                    own = info.formatted_name + (f"_{'train' if training else 'eval'}_mode" if len(modes) > 1 else "")
                    yield Case(own, {"module_info": info, "dtype": dtype, "training": training}, (_ForOp(info, dtype),))


_image, _classes = A(2, 3, 6, 6), C([1, 0, 3])
_ELEMENTWISE = """
    CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish ReLU ReLU6 SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh
    Tanhshrink
"""
_PAIRS = "HuberLoss L1Loss MSELoss SmoothL1Loss"
_SAMPLES: dict[str, list[tuple[Sample, Sample]]] = {
    "AdaptiveAvgPool1d": [(call(3), call(A(2, 3, 6))), (call(2), call(A(3, 5)))],
    "AdaptiveAvgPool2d": [(call((3, 2)), call(_image))],
    "AdaptiveMaxPool1d": [(call(3), call(A(2, 3, 6)))],
    "AdaptiveMaxPool2d": [(call((3, 2)), call(_image))],
    "AvgPool1d": [(call(2), call(A(2, 3, 6))), (call(3, 2), call(A(3, 6)))],
    "AvgPool2d": [(call(2), call(_image)), (call((2, 3), 1, padding=1), call(_image))],
    "BCELoss": [(call(), call(C([0.2, 0.7, 0.4]), C([1.0, 0.0, 1.0])))],
    "BCEWithLogitsLoss": [(call(), call(A(3), P(3))), (call(reduction="sum"), call(A(2, 3), P(2, 3)))],
    "BatchNorm1d": [(call(3), call(A(4, 3))), (call(3, affine=False), call(A(4, 3, 2)))],
    "BatchNorm2d": [(call(3), call(_image)), (call(3, track_running_stats=False), call(_image))],
    "BatchNorm3d": [(call(2), call(A(2, 2, 2, 3, 3)))],
    "Bilinear": [(call(2, 3, 4), call(A(5, 2), A(5, 3)))],
    "Conv1d": [(call(3, 4, 3), call(A(2, 3, 7))), (call(3, 4, 3, stride=2, padding=1, bias=False), call(A(3, 7)))],
    "Conv2d": [(call(3, 4, 3), call(_image)), (call(4, 4, 2, groups=2, dilation=2), call(A(1, 4, 5, 5)))],
    "Conv3d": [(call(2, 3, 2), call(A(1, 2, 3, 3, 3)))],
    "ConvTranspose1d": [(call(3, 4, 3), call(A(2, 3, 5))), (call(3, 4, 3, stride=2, output_padding=1), call(A(3, 5)))],
    "ConvTranspose2d": [(call(3, 2, 3, stride=2), call(A(1, 3, 3, 3)))],
    "CosineEmbeddingLoss": [(call(), call(A(3, 4), A(3, 4), C([1.0, -1.0, 1.0])))],
    "CrossEntropyLoss": [(call(), call(A(3, 4), _classes)), (call(label_smoothing=0.1, reduction="sum"), call(A(3, 4), _classes))],
    "Embedding": [(call(4, 3), call(I(4, 2, 3))), (call(4, 3, padding_idx=1), call(I(4, 5)))],
    "Flatten": [(call(), call(A(2, 3, 4)))],
    "GLU": [(call(), call(A(3, 4))), (call(0), call(A(4, 3)))],
    "GRU": [(call(3, 4), call(A(5, 2, 3))), (call(3, 4, 2, bidirectional=True, batch_first=True), call(A(2, 5, 3)))],
    "GRUCell": [(call(3, 4), call(A(2, 3))), (call(3, 4), call(A(2, 3), A(2, 4)))],
    "GroupNorm": [(call(3, 6), call(A(2, 6, 4)))],
    "HingeEmbeddingLoss": [(call(), call(A(3), C([1.0, -1.0, 1.0])))],
    "InstanceNorm1d": [(call(3), call(A(2, 3, 5))), (call(3, affine=True, track_running_stats=True), call(A(2, 3, 5)))],
    "InstanceNorm2d": [(call(3), call(_image))],
    "KLDivLoss": [(call(reduction="batchmean"), call(A(3, 4), P(3, 4)))],
    "LSTM": [(call(3, 4), call(A(5, 2, 3))), (call(3, 4, 2, bidirectional=True, batch_first=True), call(A(2, 5, 3)))],
    "LSTMCell": [(call(3, 4), call(A(2, 3)))],
    "LayerNorm": [(call(4), call(A(2, 3, 4))), (call((3, 4), elementwise_affine=False), call(A(2, 3, 4)))],
    "Linear": [(call(10, 8), call(A(4, 10))), (call(10, 8, bias=False), call(A(4, 10))), (call(3, 5), call(A(3)))],
    "LocalResponseNorm": [(call(3), call(A(2, 5, 7)))],
    "LogSoftmax": [(call(1), call(A(3, 4))), (call(-1), call(A(2, 3, 4)))],
    "MarginRankingLoss": [(call(), call(A(5), A(5), C([1.0, -1.0, 1.0, 1.0, -1.0])))],
    "MaxPool1d": [(call(2), call(A(2, 3, 6)))],
    "MaxPool2d": [(call(2), call(_image)), (call(3, stride=2, padding=1), call(_image))],
    "MultiLabelSoftMarginLoss": [(call(), call(A(2, 3), C([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])))],
    "MultiMarginLoss": [(call(), call(A(3, 4), _classes))],
    "MultiheadAttention": [
        (call(4, 2), call(A(3, 2, 4), A(5, 2, 4), A(5, 2, 4))),
        (call(4, 2, batch_first=True), call(A(2, 3, 4), A(2, 3, 4), A(2, 3, 4))),
    ],
    "NLLLoss": [(call(), call(A(3, 4), _classes))],
    "PReLU": [(call(), call(A(2, 3, 4))), (call(3), call(A(2, 3, 4)))],
    "PairwiseDistance": [(call(), call(A(3, 4), A(3, 4)))],
    "PixelShuffle": [(call(2), call(A(1, 8, 2, 2)))],
    "PixelUnshuffle": [(call(2), call(A(1, 2, 4, 4)))],
    "PoissonNLLLoss": [(call(), call(A(3), P(3)))],
    "RMSNorm": [(call(4), call(A(2, 3, 4)))],
    "RNN": [(call(3, 4), call(A(5, 2, 3))), (call(3, 4, nonlinearity="relu"), call(A(5, 2, 3)))],
    "RNNCell": [(call(3, 4), call(A(2, 3)))],
    "ReflectionPad1d": [(call(1), call(A(2, 3, 4)))],
    "ReplicationPad1d": [(call(1), call(A(2, 3, 4)))],
    "SoftMarginLoss": [(call(), call(A(3), C([1.0, -1.0, 1.0])))],
    "Softmax": [(call(1), call(A(3, 4))), (call(-1), call(A(2, 3, 4)))],
    "Softmin": [(call(1), call(A(3, 4)))],
    "Threshold": [(call(2.0, 1.0), call(A(2, 3)))],
    "TransformerEncoderLayer": [(call(4, 2, 16, 0.0), call(A(3, 2, 4)))],
    "TransformerDecoderLayer": [(call(4, 2, 16, 0.0), call(A(3, 2, 4), A(5, 2, 4)))],
    "TripletMarginLoss": [(call(), call(A(3, 4), A(3, 4), A(3, 4)))],
    "Upsample": [(call(scale_factor=2), call(A(1, 2, 3)))],
    "ZeroPad1d": [(call(1), call(A(2, 3, 4)))],
    **{name: [(call(), call(A(2, 3))), (call(), call(A()))] for name in _ELEMENTWISE.split()},
    **{name: [(call(), call(A(2, 3), A(2, 3))), (call(reduction="sum"), call(A(3), A(3)))] for name in _PAIRS.split()},
}
_DIFFER = frozenset(
    ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GRU", "InstanceNorm1d", "InstanceNorm2d", "LSTM", "MultiheadAttention", "RNN"]
    + ["TransformerDecoderLayer", "TransformerEncoderLayer"]
)

module_db: list[ModuleInfo] = [
    ModuleInfo(getattr(nn, name), samples=samples, train_and_eval_differ=name in _DIFFER) for name, samples in sorted(_SAMPLES.items())
]
