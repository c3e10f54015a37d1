"""``debug=True``: the operators of both runs, with the lines that called them, for when the runs differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...arrays.errors import callers
from ...tensor.tensor import Tensor
from .._python_dispatch import TorchDispatchMode
from .recompute import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Callable

_HERE = __file__.rpartition("/utils/")[0]


class _Log(TorchDispatchMode):
    """Writes down every operator: ``$2: f32[1] = torch._ops.aten.exp.default($1)``, and the stack above it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.stacks: list[str] = []
        self.names: dict[int, str] = {}
        self.alive: list[Any] = []  # an id is a name only while its tensor lives

    def __enter__(self) -> Any:
        for row in (self.lines, self.stacks, self.names, self.alive):
            row.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        given = ", ".join([self._shown(a) for a in args] + [f"{k}={self._shown(v)}" for k, v in (kwargs or {}).items()])
        results = [t for t in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(t, Tensor)]
        made = ", ".join(f"{self._shown(t)}: {_kind(t)}" for t in results)
        self.lines.append(f"{made} = torch._ops.{func}({given})")
        self.stacks.append(_stack())
        return out

    def _shown(self, x: Any) -> str:
        if isinstance(x, (list, tuple)):
            return f"[{', '.join(self._shown(v) for v in x)}]"
        if not isinstance(x, Tensor):
            return repr(x)
        key = id(x._wg_data)
        if key not in self.names:
            self.names[key] = f"${len(self.names)}"
            self.alive.append(x._wg_data)
        return self.names[key]

    def clear(self) -> None:
        self.alive.clear()
        self.names.clear()


def _kind(t: Any) -> str:
    letters = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bfloat": "bf"}
    name = str(t.dtype).removeprefix("torch.")
    family = name.rstrip("0123456789")
    return f"{letters.get(family, family)}{name[len(family) :]}{list(t.shape)}"


def _stack() -> str:
    return "\n".join(f"{f.f_code.co_filename}:{f.f_lineno}:{f.f_code.co_name}" for f in callers(2)
        if not f.f_code.co_filename.startswith((_HERE, "<wengert ")))


def logs() -> tuple[Callable[[], Any], Callable[[CheckpointError], None]]:
    """A ``context_fn`` that writes both runs down, and what turns an error into one that shows them."""
    first, second = _Log(), _Log()

    def complain(error: CheckpointError) -> None:
        def stacks(log: _Log, name: str) -> str:
            count = len(log.lines)
            return "\n".join(f"{line}   ({i} of {count} in {name})\n\n{stack}\n\n"
                for i, (line, stack) in enumerate(zip(log.lines, log.stacks), 1))

        text = _TEXT.format(stacks_first=stacks(first, "original"), stacks_second=stacks(second, "recompute"),
            first="\n".join(first.lines), second="\n".join(second.lines))
        raise CheckpointError(text) from error

    return lambda: (first, second), complain


_BAR = "+" + "-" * 78 + "+"
_TEXT = f"""\
 An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.
Scroll all the way down for guidance on how to navigate these logs.

{_BAR}
|        1. Stack traces of the operators that ran in the original forward     |
{_BAR}

{{stacks_first}}
{_BAR}
|        2. Stack traces of the operators that ran during recomputation        |
{_BAR}

{{stacks_second}}
{_BAR}
|       3. Log of operators in the original forward and recomputation          |
{_BAR}

"detach" calls come from checkpointing itself: the runs may differ in them.

Operations executed during the original forward:

{{first}}

Operations executed during recomputation:

{{second}}

{_BAR}
 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 tensors to be saved during the original forward and differ between those saved
 during recomputation. This can happen if different operators were ran in the
 original forward and in the recomputation.

 To find the cause, compare the operators of the two runs (section 3, in the
 order in which they ran), and look up the first that differs in the stack
 traces (sections 1 and 2).
{"-" * 80}
"""
