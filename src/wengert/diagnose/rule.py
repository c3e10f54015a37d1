"""The base class of rules: what they are told, and when.

A rule is made anew for every diagnosis and gets the ``Record``. It overrides the methods below that it needs; only
those cost time. Methods that return findings give them as an iterable (a generator, as a rule).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..graph.interceptors import Call
    from .findings import Finding
    from .places import Site
    from .record import Backward, Event, Record, Scope, Step
    from .watching import Watching


class Rule:
    """One family of verdicts.

    ``in_windows``: the names of methods that have nothing to do outside of detailed windows. (An optimizer's first
    step, and one with a closure, are told to all.)
    """

    in_windows: tuple[str, ...] = ()

    def __init__(self, record: Record) -> None:
        self.record = record

    def begins(self, watching: Watching) -> None:
        """The diagnosis begins: functions may be surrounded until it ends, ``watching.around(f, form)``."""

    # -- in detailed windows ------------------------------------------------------------------------------------------

    def called(self, event: Event, call: Call, result: Any) -> None:
        """An operator (or creation, or a custom Function) has been called; calls inside of it are not told."""

    def module_called(self, module: Any, args: Any, output: Any, site: Site | None) -> None:
        """A module has been called, at ``site``."""

    def cut(self, event: Event, source: Any, result: Any) -> None:
        """``detach``, ``.data``, ``item``, ``numpy`` and the like of a tensor that has a history (not only in detailed
        windows).
        """

    # -- always -------------------------------------------------------------------------------------------------------

    def wrote(self, tensor: Any, name: str, site: Site | None) -> None:
        """An in-place write by the program, outside of ``Optimizer.step`` (in detailed windows; see
        ``Record.writes``).
        """

    def data_set(self, tensor: Any, value: Any, site: Site | None) -> None:
        """``tensor.data = value``, in detailed windows."""

    def clipped(self, parameters: list[Any], site: Site | None) -> Iterable[Finding] | None:
        """Their gradients have been clipped, at ``site``."""

    def gradchecked(self, name: str, inputs: Any, site: Site | None, error: Any) -> Iterable[Finding] | None:
        """``gradcheck`` (or ``gradgradcheck``: ``name``), called at ``site``, has failed with ``error``."""

    def wants_modules(self, scope: Scope) -> bool:
        """Whether to be told of the modules that are called in a scope, just entered, that switches gradients off."""
        return False

    def backward_begins(self, backward: Backward) -> Iterable[Finding] | None:
        """A walk begins; ``backward.roots`` are its edges."""

    def gradient(self, node: Any, grads: Any, raw: bool) -> bool | None:
        """A node gave ``grads`` (arrays if ``raw``, else tensors) for its inputs. Called for every node: be quick.
        False: nodes of its class need not be told of outside of windows.
        """

    def passed(self, node: Any, g: Any, grads: Any, raw: bool) -> bool | None:
        """``gradient``, for rules that need the gradient ``g`` that came in too (a list for several outputs)."""

    def backward_ended(self, backward: Backward) -> Iterable[Finding] | None:
        """A walk has ended."""

    def step_begins(self, step: Step) -> Iterable[Finding] | None:
        """``optimizer.step()`` begins."""

    def step_ended(self, step: Step) -> Iterable[Finding] | None:
        """It has ended."""

    def window_ended(self) -> Iterable[Finding] | None:
        """A detailed window has ended: a step was made, or the last one had none."""

    def failed(self, error: BaseException) -> Iterable[Finding] | None:
        """An exception left the program, or was given to ``explain``."""

    def ended(self) -> Iterable[Finding] | None:
        """The diagnosis ends."""
