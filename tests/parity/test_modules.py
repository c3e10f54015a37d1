"""Every module of PyTorch's own module table, built and run on both libraries.

Compared for each sample: the initial values for one seed, `repr`, the state dict's keys, shapes and types, the outputs,
and the gradients of parameters and inputs. PyTorch's table has no samples for some modules: `EXTRA` adds them.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import pytest

if os.environ.get("WENGERT_REQUIRE_PARITY") != "1":
    pytest.importorskip("torch", reason="compares with PyTorch")

import torch

import wengert

pytestmark = pytest.mark.parity


def _module_infos() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db
    return list(module_db)


# name: constructor arguments, forward arguments (shapes of float inputs, or functions of no arguments that give them)
def _indices(*shape: int, high: int = 8) -> Any:
    return lambda: torch.randint(0, high, shape)


EXTRA: dict[str, list[tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]]] = {
    "Identity": [((1, 2), {"three": 4}, ((2, 3),))],
    "Dropout": [((0.5,), {}, ((20, 3),)), ((0.0,), {}, ((2, 3),))],
    "Dropout1d": [((), {}, ((4, 5, 6),)), ((0.25,), {}, ((5, 6),))],
    "Dropout2d": [((), {}, ((4, 5, 6, 2),))],
    "Dropout3d": [((), {}, ((4, 5, 2, 3, 2),))],
    "AlphaDropout": [((), {}, ((20, 3),))],
    "FeatureAlphaDropout": [((), {}, ((4, 5, 6),))],
    "Flatten": [((), {}, ((2, 3, 4),)), ((0, 1), {}, ((2, 3, 4),))],
    "Unflatten": [((1, (2, 3)), {}, ((4, 6),))],
    "Fold": [(((4, 5), (2, 2)), {}, ((2, 12, 12),)), ((4, 2), {"stride": 2}, ((2, 8, 4),))],
    "Unfold": [((2,), {}, ((2, 3, 4, 5),)), (((2, 3),), {"padding": 1, "dilation": 2}, ((1, 3, 6, 6),))],
    "PixelShuffle": [((2,), {}, ((2, 8, 3, 3),))],
    "PixelUnshuffle": [((2,), {}, ((2, 2, 4, 6),))],
    "ChannelShuffle": [((2,), {}, ((2, 4, 3, 3),))],
    "CosineSimilarity": [((), {}, ((4, 5), (4, 5))), ((0, 1e-4), {}, ((4, 5), (4, 5)))],
    "PairwiseDistance": [((), {}, ((4, 5), (4, 5))), ((1.0,), {"keepdim": True}, ((4, 5), (4, 5)))],
    "EmbeddingBag": [
        ((8, 3), {}, (_indices(4, 5),)),
        ((8, 3), {"mode": "sum", "padding_idx": -1}, (_indices(4, 5),)),
        ((8, 3), {"mode": "max"}, (_indices(4, 5),)),
        ((8, 3), {}, (_indices(10), lambda: torch.tensor([0, 4, 4]))),
        ((8, 3), {"mode": "sum"}, (_indices(4, 5), None, (4, 5))),
        ((8, 3), {"include_last_offset": True}, (_indices(10), lambda: torch.tensor([0, 4, 10]))),
    ],
    "Hardsigmoid": [((), {}, ((4, 5),))],
    "RReLU": [((), {}, ((4, 5),)), ((0.1, 0.9), {}, ((4, 5),))],
    "Upsample": [
        ((), {"scale_factor": 2}, ((1, 2, 3),)),
        (((4, 6),), {"mode": "bilinear"}, ((1, 2, 3, 5),)),
        ((), {"scale_factor": (2.0, 1.5), "mode": "bicubic", "align_corners": True}, ((1, 2, 3, 4),)),
        ((), {"scale_factor": 2, "mode": "trilinear"}, ((1, 2, 3, 2, 2),)),
    ],
    "UpsamplingNearest2d": [((), {"scale_factor": 2}, ((1, 2, 3, 3),))],
    "UpsamplingBilinear2d": [((5,), {}, ((1, 2, 3, 3),))],
    "SyncBatchNorm": [((3,), {}, ((4, 3, 5),))],
    "TripletMarginLoss": [((), {}, ((4, 5),) * 3), ((0.5, 1.0), {"swap": True, "reduction": "sum"}, ((4, 5),) * 3)],
    "TripletMarginWithDistanceLoss": [((), {}, ((4, 5),) * 3)],
    "AdaptiveLogSoftmaxWithLoss": [
        ((16, 20, [5, 10, 15]), {"div_value": 2.0}, ((9, 16), lambda: torch.tensor([0, 19, 5, 4, 10, 14, 15, 1, 11]))),
        ((8, 10, [5]), {"head_bias": True}, ((8,), lambda: torch.tensor(7))),
    ],
    "LazyLinear": [((3,), {}, ((2, 5),))],
    "LazyBatchNorm1d": [((), {}, ((4, 3),))],
    "LazyBatchNorm2d": [((), {"momentum": None}, ((4, 3, 2, 2),))],
    "LazyBatchNorm3d": [((), {"affine": False}, ((4, 3, 2, 2, 2),))],
    "LazyInstanceNorm1d": [((), {"affine": True}, ((4, 3, 5),))],
    "LazyInstanceNorm2d": [((), {}, ((4, 3, 5, 5),))],
    "LazyInstanceNorm3d": [((), {"track_running_stats": True}, ((4, 3, 5, 5, 5),))],
    "TransformerDecoder": [
        (
            (lambda nn: nn.TransformerDecoderLayer(8, 2, 16, 0.0, dtype=getattr(torch, "float64")), 2),
            {},
            ((3, 2, 8), (4, 2, 8)),
        )
    ],
    "MaxUnpool1d": [((2,), {}, ((2, 3, 4), lambda: torch.arange(0, 8, 2).expand(2, 3, 4)))],
    "MaxUnpool2d": [
        ((2, 2), {}, ((1, 2, 2, 2), lambda: torch.tensor([[0, 2], [8, 10]]).expand(1, 2, 2, 2))),
    ],
    "MaxUnpool3d": [((2,), {}, ((1, 1, 1, 2, 2), lambda: torch.tensor([0, 2, 8, 10]).reshape(1, 1, 1, 2, 2)))],
    "RNNBase": [],
}


class _Side:
    """One of the two libraries, and how to bring PyTorch's samples to it."""

    def __init__(self, library: Any) -> None:
        self.library, self.nn = library, library.nn

    def convert(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            ours = self.library.from_numpy(value.detach().numpy().copy())
            return ours.requires_grad_() if value.requires_grad else ours
        if isinstance(value, torch.dtype):
            return getattr(self.library, str(value).removeprefix("torch."))
        if isinstance(value, torch.nn.Module):
            return self.convert_module(value)
        if isinstance(value, torch.nn.utils.rnn.PackedSequence):
            return self.nn.utils.rnn.PackedSequence(*[self.convert(part) for part in value])
        if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
            return type(value)(self.convert(part) for part in value)
        if isinstance(value, dict):
            return {key: self.convert(part) for key, part in value.items()}
        if isinstance(value, torch.device):
            return str(value)
        name = getattr(value, "__name__", None)
        if callable(value) and getattr(torch.nn.functional, name or "", None) is value:
            return getattr(self.nn.functional, name)
        return value

    def convert_module(self, module: torch.nn.Module) -> Any:
        ours = object.__new__(getattr(self.nn, type(module).__name__, None) or self._hidden(module))
        self.nn.Module.__init__(ours)
        for name, value in module.__dict__.items():
            if name == "_parameters":
                for key, param in value.items():
                    if param is not None:
                        param = self.nn.Parameter(self.convert(param.detach()), param.requires_grad)
                    ours.register_parameter(key, param)
            elif name == "_buffers":
                for key, buffer in value.items():
                    ours.register_buffer(key, self.convert(buffer))
            elif name == "_modules":
                for key, child in value.items():
                    ours.add_module(key, self.convert(child))
            elif not name.startswith("_") or name == "_qkv_same_embed_dim":
                setattr(ours, name, self.convert(value))
        return ours

    def _hidden(self, module: torch.nn.Module) -> type:
        return getattr(self.nn.modules.linear, type(module).__name__)


def _arrays(value: Any) -> list[Any]:
    """The tensors in a nested value, in order."""
    if value is None or isinstance(value, (int, float, str, bool)):
        return []
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in _arrays(part)]
    if isinstance(value, dict):
        return [array for key in sorted(value) for array in _arrays(value[key])]
    return [value]


def _same(theirs: Any, ours: Any, what: str) -> None:
    import numpy as np

    assert (theirs is None) == (ours is None), f"{what}: {theirs} and {ours}"
    if theirs is None:
        return
    assert str(theirs.dtype).split(".")[-1] == str(ours.dtype).split(".")[-1], what
    assert tuple(theirs.shape) == tuple(ours.shape), f"{what}: {tuple(theirs.shape)} and {tuple(ours.shape)}"
    a, b = theirs.detach().numpy(), ours.detach().numpy()
    np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-8, err_msg=what)


def _run(library: Any, module: Any, args: Any, kwargs: Any) -> tuple[list[Any], list[Any]]:
    """Outputs, and the gradients of parameters and inputs for one seed of weights."""
    library.manual_seed(7)
    outputs = [out for out in _arrays(module(*args, **kwargs)) if hasattr(out, "dtype")]
    inputs = [x for x in _arrays([args, kwargs]) if getattr(x, "requires_grad", False)]
    wanted = [*module.parameters(), *inputs]
    total = 0
    for out in outputs:
        if out.requires_grad:
            weights = library.linspace(0.5, 1.5, out.numel(), dtype=out.dtype).reshape(out.shape)
            total = total + (out * weights).sum()
    if wanted and hasattr(total, "backward"):
        grads = library.autograd.grad(total, wanted, allow_unused=True)
    else:
        grads = []
    return outputs, list(grads)


def _leaves(value: Any) -> Any:
    """The same arguments, none of them computed from another."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if type(value) in (tuple, list):
        return type(value)(_leaves(part) for part in value)
    if isinstance(value, dict):
        return {key: _leaves(part) for key, part in value.items()}
    return value


def check_sample(name: str, ctor: Any, forward: Any, train: bool) -> None:
    """``ctor`` and ``forward`` are pairs of positional and keyword arguments."""
    ours = _Side(wengert)
    args, kwargs = ctor
    torch.manual_seed(3)
    theirs_module = getattr(torch.nn, name)(*args, **kwargs).train(train)
    wengert.manual_seed(3)
    our_module = getattr(wengert.nn, name)(*ours.convert(args), **ours.convert(kwargs)).train(train)
    if "Lazy" not in name:
        for key, value in theirs_module.state_dict().items():
            _same(value, our_module.state_dict()[key], f"initial {key}")
    theirs_module.to(torch.float64)
    our_module.to(wengert.float64)
    assert repr(our_module) == repr(theirs_module)
    forward = _leaves(forward)
    our_args, our_kwargs = ours.convert(forward[0]), ours.convert(forward[1])
    if "Lazy" in name:
        with torch.no_grad(), wengert.no_grad():
            theirs_module(*forward[0], **forward[1])
            our_module(*our_args, **our_kwargs)
        assert repr(our_module) == repr(theirs_module)
    state, our_state = theirs_module.state_dict(), our_module.state_dict()
    assert list(our_state) == list(state)
    for key, value in state.items():
        assert tuple(our_state[key].shape) == tuple(value.shape), key
    our_module.load_state_dict({key: ours.convert(value) for key, value in state.items()})
    outputs, grads = _run(torch, theirs_module, *forward)
    our_outputs, our_grads = _run(wengert, our_module, our_args, our_kwargs)
    assert len(our_outputs) == len(outputs)
    for i, (a, b) in enumerate(zip(outputs, our_outputs, strict=True)):
        _same(a, b, f"output {i}")
        assert a.requires_grad == b.requires_grad, f"output {i} requires_grad"
    for i, (a, b) in enumerate(zip(grads, our_grads, strict=True)):
        _same(a, b, f"gradient {i}")
    for key, value in theirs_module.state_dict().items():
        _same(value, our_module.state_dict()[key], f"state {key} after the call")


def samples_of(info: Any, train: bool) -> list[Any]:
    torch.manual_seed(0)
    made = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=train)
    return [(s.constructor_input, s.forward_input) for s in made if s.forward_input is not None]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("train", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("info", _module_infos(), ids=lambda info: info.name)
def test_module_of_torchs_table(info: Any, train: bool) -> None:
    for ctor, forward in samples_of(info, train):
        kwargs = {**ctor.kwargs}
        if info.module_cls.__name__ != "LinearCrossEntropyLoss" or kwargs.get("options") is None:
            check_sample(info.module_cls.__name__, (ctor.args, kwargs), (forward.args, forward.kwargs), train)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("train", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", [name for name in EXTRA if EXTRA[name]])
def test_module_beyond_the_table(name: str, train: bool) -> None:
    for args, kwargs, forward in EXTRA[name]:
        torch.manual_seed(1)
        inputs = []
        for given in forward:
            if isinstance(given, tuple):
                inputs.append(torch.randn(given, dtype=torch.float64, requires_grad=True))
            else:
                inputs.append(given() if callable(given) else given)
        built = tuple(arg(torch.nn) if callable(arg) else arg for arg in args)
        if "dtype" in _parameters_of(getattr(torch.nn, name)):
            kwargs = {**kwargs, "dtype": torch.float64}
        check_sample(name, (built, kwargs), (tuple(inputs), {}), train)


def _parameters_of(cls: type) -> Any:
    import inspect

    return inspect.signature(cls).parameters


NOT_TESTED = {
    "Container",  # deprecated
    "CrossMapLRN2d",  # PyTorch's sums and gradients are wrong from the third channel on
    "NLLLoss2d",
    "LinearCrossEntropyOptions",
    "Module",
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "RNNBase",
    "RNNCellBase",
    "Sequential",
}


def test_every_module_is_compared() -> None:
    tested = {info.module_cls.__name__ for info in _module_infos()} | set(EXTRA) | NOT_TESTED
    assert set(torch.nn.modules.__all__) - tested == set()
    assert set(torch.nn.modules.__all__) <= set(dir(wengert.nn))
