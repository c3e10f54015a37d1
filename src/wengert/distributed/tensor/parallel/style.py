"""How a module of a plan is spread, and how what comes and goes is arranged."""

from __future__ import annotations

from typing import Any

from ....functions.parameter import Parameter
from ....nn import Embedding, Linear
from ....tensor import Tensor
from .._api import distribute_module, distribute_tensor
from .._dtensor import DTensor
from ..placement_types import Replicate, Shard


class ParallelStyle:
    """Base class of the styles of a plan; ``_apply(module, mesh)`` spreads a module."""

    src_data_rank: int | None = 0

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        raise NotImplementedError


def _brought(x: Any, mesh: Any, now: Any, wanted: Any) -> Any:
    """An input as a DTensor with the placements that are wanted; a plain one is a piece of how it lies ``now``."""
    if not isinstance(x, DTensor):
        x = DTensor.from_local(x, mesh, now, run_check=False)
    return x.redistribute(placements=wanted) if wanted is not None and x.placements != _front(wanted, x) else x


def _front(placements: Any, x: Any) -> tuple[Any, ...]:
    """The placements with dimensions counted from the front."""
    return tuple(Shard(p.dim + x.ndim) if isinstance(p, Shard) and p.dim < 0 else p for p in placements)


def _taken(outputs: Any, layouts: Any, local: bool) -> Any:
    if outputs.placements != _front(layouts, outputs):
        outputs = outputs.redistribute(placements=layouts)
    return outputs.to_local() if local else outputs


class _Split(ParallelStyle):
    """A linear layer or an embedding whose table is cut."""

    weight: dict[type, int]
    bias: Any
    wanted: Any

    def __init__(self, *, input_layouts: Any = None, output_layouts: Any = None, use_local_output: bool = True) -> None:
        first, last = self._usual()
        self.input_layouts = (first if input_layouts is None else input_layouts,)
        self.output_layouts = (last if output_layouts is None else output_layouts,)
        self.use_local_output = use_local_output

    def _usual(self) -> tuple[Any, Any]:
        raise NotImplementedError

    def _desired(self, module: Any) -> Any:
        return (Replicate(),)

    def _spread(self, name: str, module: Any, mesh: Any) -> None:
        for key, p in list(module.named_parameters(recurse=False)):
            kind = Linear if isinstance(module, Linear) else Embedding
            how = Shard(self.weight[kind]) if key != "bias" else self.bias
            module.register_parameter(key, Parameter(
                distribute_tensor(p, mesh, [how], src_data_rank=self.src_data_rank), requires_grad=p.requires_grad))

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        if not isinstance(module, (Linear, Embedding)):
            raise NotImplementedError(f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!")

        def into(mod: Any, inputs: Any, mesh: Any) -> Any:
            return _brought(inputs[0], mesh, self.input_layouts, self._desired(mod))

        def out_of(mod: Any, outputs: Any, mesh: Any) -> Any:
            return _taken(outputs, self.output_layouts, self.use_local_output)

        return distribute_module(module, device_mesh, self._spread, into, out_of)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(input_layouts={self.input_layouts}, output_layouts={self.output_layouts}, "
            f"use_local_output={self.use_local_output})")


class ColwiseParallel(_Split):
    """Each process computes some of the features of a ``Linear`` or an ``Embedding``.

    ``input_layouts``: how a plain input lies (``Replicate()``); ``output_layouts``: how the output shall (cut along the
    last dimension); ``use_local_output``: whether it is a plain tensor, this process's piece.

    >>> from wengert.distributed.tensor.parallel import ColwiseParallel
    >>> ColwiseParallel().use_local_output
    True
    """

    weight, bias = {Linear: 0, Embedding: 1}, Shard(0)

    def _usual(self) -> tuple[Any, Any]:
        return Replicate(), Shard(-1)


class RowwiseParallel(_Split):
    """Each process computes with some of the features that go into a ``Linear``, or has some rows of an ``Embedding``.

    ``input_layouts``: how a plain input lies (cut along the last dimension); ``output_layouts``: how the output shall
    (``Replicate()``); ``use_local_output``: whether it is a plain tensor, this process's piece.

    >>> from wengert.distributed.tensor.parallel import RowwiseParallel
    >>> RowwiseParallel().output_layouts
    (Replicate(),)
    """

    weight, bias = {Linear: 1, Embedding: 0}, Replicate()

    def _usual(self) -> tuple[Any, Any]:
        return Shard(-1), Replicate()

    def _desired(self, module: Any) -> Any:
        return (Shard(-1),) if isinstance(module, Linear) else (Replicate(),)


class SequenceParallel(ParallelStyle):
    """A norm or dropout computes with a part of the sequence; its parameters are everywhere.

    >>> from wengert.distributed.tensor.parallel import SequenceParallel
    >>> SequenceParallel().sequence_sharding
    (Shard(dim=1),)
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _spread(self, name: str, module: Any, mesh: Any) -> None:
        for key, p in list(module.named_parameters(recurse=False)):
            everywhere = DTensor.from_local(p.detach(), mesh, [Replicate()], run_check=False)
            module.register_parameter(key, Parameter(everywhere, requires_grad=p.requires_grad))

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        def into(mod: Any, inputs: Any, mesh: Any) -> Any:
            if not isinstance(inputs[0], Tensor):
                raise ValueError(f"expecting input of {mod} to be a torch.Tensor or DTensor, but got {inputs[0]}")
            return _brought(inputs[0], mesh, self.sequence_sharding, self.sequence_sharding)

        def out_of(mod: Any, outputs: Any, mesh: Any) -> Any:
            return outputs.to_local() if self.use_local_output else outputs

        return distribute_module(module, device_mesh, self._spread, into, out_of)

    def __repr__(self) -> str:
        return (f"SequenceParallel(sequence_dim={self.sequence_sharding[0].dim}, "
            f"use_local_output={self.use_local_output})")


def _row(layouts: Any) -> Any:
    return layouts if isinstance(layouts, tuple) or layouts is None else (layouts,)


class PrepareModuleInput(ParallelStyle):
    """Arrange the inputs of a module: from ``input_layouts`` to ``desired_input_layouts``, one entry for each input.

    ``None`` leaves an input as it is. ``input_kwarg_layouts`` and ``desired_input_kwarg_layouts`` do so for keyword
    arguments. ``use_local_output``: whether the module gets plain tensors.

    >>> from wengert.distributed.tensor import Replicate, Shard
    >>> from wengert.distributed.tensor.parallel import PrepareModuleInput
    >>> style = PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate())
    """

    def __init__(self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: Any = None,
            desired_input_kwarg_layouts: Any = None, use_local_output: bool = False) -> None:
        self.input_layouts, self.desired_input_layouts = _row(input_layouts), _row(desired_input_layouts)
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")

    def _arranged(self, x: Any, mesh: Any, now: Any, wanted: Any) -> Any:
        if now is None or not isinstance(x, Tensor):
            return x
        x = _brought(x, mesh, (now,), None if wanted is None else (wanted,))
        return x.to_local() if self.use_local_output else x

    def _inputs(self, inputs: Any, mesh: Any) -> Any:
        if self.input_layouts is None:
            return inputs
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        if len(inputs) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        return tuple(self._arranged(x, mesh, now, wanted)
            for x, now, wanted in zip(inputs, self.input_layouts, self.desired_input_layouts))

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        if not self.input_kwarg_layouts:
            module.register_forward_pre_hook(lambda _, inputs: self._inputs(inputs, device_mesh))
            return module

        def arrange(_: Any, inputs: Any, named: dict[str, Any]) -> Any:
            now, wanted = self.input_kwarg_layouts, self.desired_input_kwarg_layouts
            return self._inputs(inputs, device_mesh), {
                k: self._arranged(v, device_mesh, now.get(k), wanted.get(k)) for k, v in named.items()}

        module.register_forward_pre_hook(arrange, with_kwargs=True)
        return module

    def __repr__(self) -> str:
        return (f"PrepareModuleInput(input_layouts={self.input_layouts}, desired_input_layouts="
            f"{self.desired_input_layouts}, input_kwarg_layouts={self.input_kwarg_layouts}, "
            f"desired_input_kwarg_layouts={self.desired_input_kwarg_layouts}, "
            f"use_local_output={self.use_local_output})")


class PrepareModuleOutput(ParallelStyle):
    """Arrange the outputs of a module: from ``output_layouts`` to ``desired_output_layouts``.

    >>> from wengert.distributed.tensor import Replicate, Shard
    >>> from wengert.distributed.tensor.parallel import PrepareModuleOutput
    >>> style = PrepareModuleOutput(output_layouts=Shard(1), desired_output_layouts=Replicate())
    """

    def __init__(self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.output_layouts, self.desired_output_layouts = _row(output_layouts), _row(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _outputs(self, outputs: Any, mesh: Any) -> Any:
        single = not isinstance(outputs, tuple)
        row = (outputs,) if single else outputs
        if len(row) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        found = []
        for x, now, wanted in zip(row, self.output_layouts, self.desired_output_layouts):
            if now is not None:
                x = _brought(x, mesh, (now,), (wanted,))
                x = x.to_local() if self.use_local_output else x
            found.append(x)
        return found[0] if single else tuple(found)

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        module.register_forward_hook(lambda _, inputs, outputs: self._outputs(outputs, device_mesh))
        return module

    def __repr__(self) -> str:
        return (f"PrepareModuleOutput(output_layouts={self.output_layouts}, desired_output_layouts="
            f"{self.desired_output_layouts}, use_local_output={self.use_local_output})")


class PrepareModuleInputOutput(ParallelStyle):
    """``PrepareModuleInput`` and ``PrepareModuleOutput`` together.

    >>> from wengert.distributed.tensor import Replicate, Shard
    >>> from wengert.distributed.tensor.parallel import PrepareModuleInputOutput
    >>> style = PrepareModuleInputOutput(input_layouts=Shard(0), desired_input_layouts=Replicate(),
    ...     output_layouts=Replicate(), desired_output_layouts=Shard(0))
    """

    def __init__(self, *, input_layouts: Any = None, desired_input_layouts: Any = None, input_kwarg_layouts: Any = None,
            desired_input_kwarg_layouts: Any = None, use_local_input: bool = False, output_layouts: Any,
            desired_output_layouts: Any, use_local_output: bool = True) -> None:
        self.prepare_module_input = PrepareModuleInput(input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts, input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts, use_local_output=use_local_input)
        self.prepare_module_output = PrepareModuleOutput(output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts, use_local_output=use_local_output)

    def _apply(self, module: Any, device_mesh: Any) -> Any:
        self.prepare_module_input._apply(module, device_mesh)
        self.prepare_module_output._apply(module, device_mesh)
        return module
