"""Several passes, in an order that constraints allow."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any

from ....nn import Module
from ...graph_module import GraphModule
from .pass_base import PassResult

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["pass_result_wrapper", "this_before_that_pass_constraint", "PassManager"]


def pass_result_wrapper(fn: Any) -> Any:
    """A function of a graph module as a pass: what gives a module, or nothing, counts as a change."""
    if fn is None:
        return None

    @wraps(fn)
    def wrapped(gm: Module) -> PassResult:
        result = fn(gm)
        if isinstance(result, PassResult):
            return result
        return PassResult(result if isinstance(result, Module) else gm, True)

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this: Any, that: Any) -> Callable[[Any, Any], bool]:
    """The constraint that ``this`` runs before ``that``."""
    return lambda a, b: a != that or b != this


class PassManager:
    r"""Runs passes; ``constraints`` say of two whether they may run in that order, ``steps`` how often all run at most.

    >>> from wengert.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper
    >>> clean = pass_result_wrapper(lambda gm: gm.graph.eliminate_dead_code() and None)
    >>> PassManager([clean])(torch.fx.symbolic_trace(lambda x: (x + 1, x)[1])).graph_module.code.strip()
    'def forward(self, x):\n    return x'
    """

    steps = 1

    def __init__(self, passes: list[Any] | None = None, constraints: list[Callable[[Any, Any], bool]] | None = None,
            steps: int | None = None, run_checks_after_each_pass: bool = False, suppress_check_failures: bool = False,
            ) -> None:
        self.passes, self.constraints = passes or [], constraints or []
        self.steps = steps or self.steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Any) -> None:
        """Append a pass."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable[[Any, Any], bool]) -> None:
        """Append a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raise if the passes are not in an order that the constraints allow."""
        for i, a in enumerate(self.passes):
            for j, b in enumerate(self.passes[i + 1 :]):
                if not all(allowed(a, b) for allowed in self.constraints):
                    raise RuntimeError(f"pass schedule constraint violated. Expected {a} before {b} but found {a} at "
                        f"index {i} and {b} at index {j} in pass list.")
        self._validated = True

    def solve_constraints(self) -> None:
        """Put the passes in an order that the constraints allow."""
        left, done = list(self.passes), []
        while left:
            ready = next((a for a in left if all(allowed(a, b) for b in left if b is not a
                for allowed in self.constraints)), None)
            if ready is None:
                raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
            left.remove(ready)
            done.append(ready)
        self.passes, self._validated = done, True

    def add_checks(self, check: Callable[[Any], Any]) -> None:
        """A function of the module that raises if that is not as it should be."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign,assignment]

    def check(self, module: Module) -> Any:
        """Nothing, unless ``add_checks`` has put something else here."""

    def __call__(self, module: Module) -> PassResult:
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        changed = False
        for _ in range(self.steps):
            modified = False
            for i, fn in enumerate(self.passes):
                try:
                    module, now = self._run(fn, module)
                except Exception as error:
                    before = [_name(p) for p in self.passes[:i]]
                    raise Exception(f"An error occurred when running the '{_name(fn)}' pass after the following "
                        f"passes: {before}") from error
                modified = modified or now
            changed = changed or modified
            if not modified:
                break
        return PassResult(module, changed)

    def _run(self, fn: Any, module: Module) -> tuple[Module, bool]:
        result = fn(module)
        if not hasattr(result, "graph_module"):
            raise TypeError(f"The result of the pass {_name(fn)} should be type PassResult.Please wrap it with "
                "pass_result_wrapper()")
        if isinstance(result.graph_module, GraphModule):
            result.graph_module.recompile()
        if self.run_checks_after_each_pass:
            self.check(result.graph_module)
        return result.graph_module, result.modified


def _name(fn: Any) -> str:
    return fn.__name__ if inspect.isfunction(fn) else type(fn).__name__
