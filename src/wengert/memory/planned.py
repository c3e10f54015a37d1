"""``PlannedModule``: a model whose forward and backward follow a plan."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ..graph.modes import is_grad_enabled
from ..nn import Module
from ..tensor import Tensor
from .execute import Run
from .segments import Segment, split
from .trace import Call, Program, trace, whole
from .values import storage

if TYPE_CHECKING:
    from .plan import Plan


class PlannedModule(Module):
    """``module``, run as ``plan`` says.

    It has the parameters, buffers and submodules of ``module``, under the same names. Under ``no_grad``, in another
    mode (``train``, ``eval``) than when it was planned, and where arguments that are no tensors differ, ``module`` runs
    as it is.
    """

    module: Module
    plan: Plan

    def __init__(self, module: Module, plan: Plan) -> None:
        super().__init__()
        if plan.layout is None:
            raise ValueError("this plan was made of numbers by solve(): it does not say of which blocks of a model")
        for name in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            self.__dict__[name] = module.__dict__[name]
        self.__dict__.update(module=module, plan=plan, training=module.training, _ready=None, _warned=False)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["module"], name)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}

    def train(self, mode: bool = True) -> PlannedModule:
        """Set the mode, of ``module`` too."""
        self.__dict__["training"] = mode
        self.module.train(mode)
        return self

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """That of ``module``."""
        return self.module.state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Give the values to ``module``."""
        return self.module.load_state_dict(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What ``module`` gives."""
        call = Call(args, kwargs)
        if not is_grad_enabled() or self.plan.is_plain:
            return self.module(*args, **kwargs)
        ready = self._prepare(call)
        if ready is None:
            return self.module(*args, **kwargs)
        program, segments = ready
        run = Run(program, segments, self.plan.layout["ways"], self.plan.schedule,  # type: ignore[index]
            constants(self.module))
        return run.forward(call.tensors)

    def _prepare(self, call: Call) -> tuple[Program, list[Segment]] | None:
        """The blocks, if this call is one that was planned."""
        layout: Any = self.plan.layout
        now = modes_of(self.module)
        if len(now) != len(layout["training"]):
            raise ValueError("the plan was made for another model: it has other modules")
        if layout["training"] != now:
            return self._warn("a module is in another mode (train, eval)")
        if layout["shapes"] not in (None, [list(t.shape) for t in call.tensors]):
            return self._warn("the shapes of its arguments differ, and decisions in its forward depend on them")
        if self._ready is None:
            program = (whole(self.module, call) if layout["whole"]
                else trace(self.module, call, layout["leaves"], layout["blocks"], layout["decisions"])[0])
            self.__dict__["_ready"] = program, split(program, self.module, layout), call.without_tensors()
        program, segments, planned = self._ready
        if not call.like(planned):
            return self._warn("its arguments differ in more than the values of tensors")
        return program, segments

    def _warn(self, why: str) -> Any:
        if not self._warned and self.module.training:
            self.__dict__["_warned"] = True
            warnings.warn(f"a planned module runs without its plan: {why}")
        return None


def modes_of(module: Module) -> list[bool]:
    """Which modules are in training mode."""
    return [m.training for m in module.modules()]


def constants(module: Module) -> set[int]:
    """The identities of arrays that stay over a step: of parameters and buffers."""
    found = {id(storage(p)) for p in module.parameters()}
    found.update(id(storage(b)) for b in module.buffers() if isinstance(b, Tensor))
    return found
