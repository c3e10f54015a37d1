"""Recurrent networks: Elman, LSTM (Hochreiter and Schmidhuber, 1997), GRU (Cho et al., 2014), and their cells."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from numbers import Number
from typing import Any

from wengert.nn import _recurrent as recurrent
from wengert.nn import init
from wengert.nn._tensors import empty, zeros
from wengert.nn.parameter import Parameter
from wengert.nn.utils.rnn import PackedSequence
from wengert.tensor import Tensor

from .module import Module
from .utils import _unusual

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]


def _uniform_by_hidden_size(module: Any) -> None:
    bound = 1.0 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


def _check_settings(input_size: Any, hidden_size: Any, num_layers: int, bias: Any, batch_first: Any, dropout: Any,
        proj_size: int) -> None:
    if not isinstance(dropout, Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore[operator]
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being "
            "zeroed")
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}", stacklevel=4)
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNNBase(Module):
    """Layers and directions of one recurrence: what ``RNN``, ``LSTM`` and ``GRU`` share.

    Weights are called ``weight_ih_l0``, ``weight_hh_l0``, ``bias_ih_l0``, ``bias_hh_l0`` (and ``weight_hr_l0`` with a
    projection), the number being the layer's, with ``_reverse`` behind for the second direction.
    """

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
            batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
            device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        _check_settings(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in recurrent.GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        if proj_size and mode != "LSTM":
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        gates, out_size = recurrent.GATES[mode] * hidden_size, proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            in_size = input_size if layer == 0 else out_size * (1 + bidirectional)
            for suffix in ("", "_reverse") if bidirectional else ("",):
                shapes: dict[str, Any] = {"weight_ih": (gates, in_size), "weight_hh": (gates, out_size)}
                if bias:
                    shapes.update(bias_ih=gates, bias_hh=gates)
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                self._all_weights.append([f"{kind}_l{layer}{suffix}" for kind in shapes])
                for name, shape in zip(self._all_weights[-1], shapes.values()):
                    self.register_parameter(name, Parameter(empty(shape, device=device, dtype=dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _uniform_by_hidden_size(self)

    def __getstate__(self) -> dict[str, Any]:
        # PyTorch keeps these two among a layer's attributes and looks for them when it reads one.
        return {**super().__getstate__(), "_flat_weights_names": self._flat_weights_names,
            "_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(
            {k: v for k, v in state.items() if k not in ("_flat_weights_names", "_flat_weights", "_flat_weight_refs")})

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, grouped by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Accepted for PyTorch's sake: the weights need not be in one piece of memory."""

    # The checks of forward's arguments

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Refuse an input of another type or shape than the weights."""
        kind = self._flat_weights[0].dtype
        if input.dtype != kind:
            from wengert.amp import is_autocast_enabled

            if not is_autocast_enabled():
                raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). "
                    f"Convert input: input.to({kind}), or convert model: model.to({input.dtype})")
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.size(-1)}")

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """(layers * directions, batch, output size)."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def _state_size(self, input: Tensor, batch_sizes: Tensor | None, features: int) -> tuple[int, int, int]:
        batch = input.size(0 if self.batch_first else 1) if batch_sizes is None else int(batch_sizes[0])
        return self.num_layers * (1 + self.bidirectional), batch, features

    def _state_sizes(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[tuple[int, int, int], ...]:
        return (self.get_expected_hidden_size(input, batch_sizes),)

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple[int, int, int],
            msg: str = "Expected hidden size {}, got {}") -> None:
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        if permutation is None:
            return hx
        return self._pack_state(tuple(s.index_select(1, permutation) for s in self._unpack_state(hx)))

    # The forward pass, on states as tuples

    def _unpack_state(self, hx: Any) -> tuple[Tensor, ...]:
        return (hx,)

    def _pack_state(self, state: tuple[Tensor, ...]) -> Any:
        return state[0]

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        sizes = self._state_sizes(input, batch_sizes)
        return self._pack_state(tuple(zeros(*size, dtype=input.dtype, device=input.device) for size in sizes))

    def forward(self, input: Any, hx: Any = None) -> Any:
        """(T, N, features), the batch first with ``batch_first``, (T, features), or a ``PackedSequence``.

        Gives the outputs in the same form and the last state of every layer and direction.
        """
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            hx = self._zero_state(data, batch_sizes) if hx is None else self.permute_hidden(hx, order)
            self.check_forward_args(data, hx, batch_sizes)
            output, state = self._run(data, tuple(batch_sizes.tolist()), self._unpack_state(hx))
            last = self.permute_hidden(self._pack_state(state), back)
            return PackedSequence(output, batch_sizes, order, back), last
        if input.dim() not in (2, 3):
            tail = " instead" if self.mode == "LSTM" else " tensor instead"
            raise ValueError(f"{self.mode.partition('_')[0]}: Expected input to be 2D or 3D, got {input.dim()}D{tail}")
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if hx is not None:
            states = self._unpack_state(hx)
            if any(s.dim() != input.dim() for s in states):
                found = ", ".join(f"{s.dim()}-D" for s in states)
                names, found = ("hx and cx", f"({found}) tensors") if len(states) == 2 else ("hx", f"{found} tensor")
                raise RuntimeError(f"For {'batched' if batched else 'unbatched'} {input.dim()}-D input, {names} should "
                    f"also be {input.dim()}-D but got {found}")
            if not batched:
                hx = self._pack_state(tuple(s.unsqueeze(1) for s in states))
        if not batched:
            input = input.unsqueeze(batch_dim)
        hx = self._zero_state(input, None) if hx is None else hx
        self.check_forward_args(input, hx, None)
        steps = input.transpose(0, 1) if self.batch_first else input
        time, batch = steps.shape[:2]
        if time == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        rows = steps.reshape(time * batch, self.input_size)
        rows, state = self._run(rows, (batch,) * time, self._unpack_state(hx))
        output = rows.reshape(time, batch, rows.size(-1))
        if self.batch_first:
            output = output.transpose(0, 1)
        if not batched:
            output, state = output.squeeze(batch_dim), tuple(s.squeeze(1) for s in state)
        return output, self._pack_state(state)

    def _run(self, rows: Tensor, sizes: tuple[int, ...], state: tuple[Tensor, ...]) -> Any:
        return recurrent.network(self.mode, rows, sizes, state, self._flat_weights, self.bias, self.num_layers,
            self.dropout, self.training, self.bidirectional)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + _unusual(self, proj_size=0, num_layers=1, bias=True,
            batch_first=False, dropout=0, bidirectional=False)


class RNN(RNNBase):
    """``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``, or ``relu``.

    ``RNN(input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None)``.

    >>> output, h = torch.nn.RNN(10, 20, 2)(torch.zeros(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units; the reset gate acts behind the hidden product, as in cuDNN.

    ``GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    device=None, dtype=None)``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory. The state is a pair ``(h, c)``; ``proj_size`` projects the output ``h``.

    ``LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    proj_size=0, device=None, dtype=None)``.

    >>> output, (h, c) = torch.nn.LSTM(10, 20, batch_first=True)(torch.zeros(3, 5, 10))
    >>> output.shape, c.shape
    (torch.Size([3, 5, 20]), torch.Size([1, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """(layers * directions, batch, hidden size)."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        for i, size in enumerate(self._state_sizes(input, batch_sizes)):
            self.check_hidden_size(hidden[i], size, f"Expected hidden[{i}] size {{}}, got {{}}")

    def _unpack_state(self, hx: Any) -> tuple[Tensor, ...]:
        return tuple(hx)

    def _pack_state(self, state: tuple[Tensor, ...]) -> Any:
        return state

    def _state_sizes(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[tuple[int, int, int], ...]:
        return self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)


class RNNCellBase(Module):
    """The weights of one step of a recurrence."""

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
            dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size), "bias_ih": rows, "bias_hh": rows}
        for name, shape in shapes.items():
            is_absent = name.startswith("bias") and not bias
            self.register_parameter(name, None if is_absent else Parameter(empty(shape, device=device, dtype=dtype)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _uniform_by_hidden_size(self)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + _unusual(self, bias=True, nonlinearity="tanh")

    def _step(self, mode: str, input: Tensor, state: tuple[Tensor, ...] | None, names: Sequence[str]) -> Any:
        """The next state; ``names`` are those of the parts of a state in messages."""
        for tensor, name in zip((input, *(state or ())), ("input", *names)):
            if tensor.dim() not in (1, 2):
                raise ValueError(f"{self._get_name()}: Expected {name} to be 1D or 2D, got {tensor.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            state = None if state is None else tuple(s.unsqueeze(0) for s in state)
        if state is None:
            state = (zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device),) * len(names)
        if input.size(1) != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}")
        for i, s in enumerate(state):
            if s.size(0) != input.size(0):
                raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{i} batch size {s.size(0)}")
            if s.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{i} has inconsistent hidden_size: got {s.size(1)}, expected {self.hidden_size}")
        new = recurrent.cell(mode, input, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return new if batched else tuple(s.squeeze(0) for s in new)


class RNNCell(RNNCellBase):
    """One step of ``RNN``: (N, input_size), (N, hidden_size) -> (N, hidden_size); also without the batch.

    >>> torch.nn.RNNCell(10, 20)(torch.zeros(6, 10)).shape
    torch.Size([6, 20])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
            device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,), ["hidden"])[0]


class GRUCell(RNNCellBase):
    """One step of ``GRU``: (N, input_size), (N, hidden_size) -> (N, hidden_size); also without the batch."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
            dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("GRU", input, None if hx is None else (hx,), ["hidden"])[0]


class LSTMCell(RNNCellBase):
    """One step of ``LSTM``: (N, input_size), ((N, hidden_size), (N, hidden_size)) -> ``(h, c)``."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
            dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        return self._step("LSTM", input, hx, ["hx[0]", "hx[1]"])
