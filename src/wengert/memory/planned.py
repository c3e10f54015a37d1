"""``PlannedModule``: a model whose forward and backward follow a plan."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from ..diagnose.snapshot import base_of
from ..graph.modes import is_grad_enabled
from ..names.homes import OURS
from ..nn import Module
from ..tensor import Tensor
from .execute import Run
from .record import UntraceableError
from .segments import Segment, split
from .trace import Call, ChangedError, Program, State, trace, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .plan import Plan


MOST = 50  # programs that are kept: for tensors of so many shapes
SETTINGS = frozenset((int, float, bool, str, type(None)))


class Ready(NamedTuple):
    """A program for calls that are like ``call``, and its blocks; none where it is not what was planned."""

    key: Any
    call: Call
    program: Program
    segments: list[Segment]


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
        self.__dict__.update(module=module, plan=plan, training=module.training, _known=[], _followed=None, _all=None,
            _warned=False)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["module"], name)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": [], "_followed": None, "_all": None}

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
        if not is_grad_enabled() or self.plan.is_plain:
            return self.module(*args, **kwargs)
        call = Call(args, kwargs)
        ready = self._prepare(call)
        if ready is not None and ready.program.guarded:
            ready, output = self._attempt(call, ready)
            if ready is not None:
                return output
        return self.module(*args, **kwargs) if ready is None else self._run(ready, call)

    def _run(self, ready: Ready, call: Call) -> Any:
        layout: Any = self.plan.layout
        run = Run(ready.program, ready.segments, layout["ways"], self.plan.schedule, fixed_of(self._tree()))
        return run.forward(call.tensors)

    def _attempt(self, call: Call, ready: Ready) -> tuple[Ready | None, Any]:
        """Run a program that may not hold for these data; one that is made for them if it does not."""
        before = State(self.module)
        for _ in range(2):
            try:
                return ready, self._run(ready, call)
            except ChangedError as error:
                why = str(error)
            before.restore()
            made = self._trace(call)
            self._known.remove(ready if made.segments else made)
            if not made.segments:
                break
            ready = made
        return self._warn(f"its forward depends on data: {why}"), None

    def _prepare(self, call: Call) -> Ready | None:
        """The blocks, if this call does what was planned."""
        layout: Any = self.plan.layout
        now = [m.training for m in self._tree()]
        if len(now) != len(layout["training"]):
            raise ValueError("the plan was made for another model: it has other modules")
        if layout["training"] != now:
            return self._warn("a module is in another mode (train, eval)")
        key = self._key(call)
        for ready in self._known:
            if ready.key == key and call.like(ready.call):
                break
        else:
            ready = self._trace(call)
        return ready if ready.segments else self._warn("its forward does other things for these arguments")

    def _tree(self) -> list[Module]:
        """All modules."""
        if self._all is None:
            self.__dict__["_all"] = list(self.module.modules())
        return self._all  # type: ignore[no-any-return]

    def _key(self, call: Call) -> Any:
        """What must be equal for a program to hold, beside the arguments: shapes, and settings of modules."""
        if self._followed is None:
            self.__dict__["_followed"] = [vars(m) for m in self._tree() if type(m).__module__.partition(".")[0] != OURS]
        return ([(t._wg_data.shape, t._wg_data.dtype) for t in call.tensors],
            [v for values in self._followed for v in values.values() if type(v) in SETTINGS])

    def _trace(self, call: Call) -> Ready:
        """Write down what this call does."""
        layout: Any = self.plan.layout
        key = self._key(call)
        try:
            program = (whole(self.module, call) if layout["whole"]
                else trace(self.module, call, layout["leaves"], layout["blocks"])[0])
        except UntraceableError:
            program = whole(self.module, call)
        if program.names() != layout["names"]:
            if not self._known:
                raise ValueError("the plan was made for another model: its operations differ")
            return self._learn(Ready(key, call.without_tensors(), program, []))
        return self._learn(Ready(key, call.without_tensors(), program, split(program, self.module, layout)))

    def learn(self, call: Call, program: Program, segments: list[Segment]) -> None:
        """What a call does is known."""
        self._learn(Ready(self._key(call), call.without_tensors(), program, segments))

    def _learn(self, ready: Ready) -> Ready:
        self._known.append(ready)
        del self._known[1:-MOST]
        return ready

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
    return fixed_of(module.modules())


def fixed_of(modules: Iterable[Module]) -> set[int]:
    """Those of these modules themselves."""
    return {id(base_of(t._wg_data)) for m in modules for rows in (m._parameters, m._buffers) for t in rows.values()
        if isinstance(t, Tensor)}
