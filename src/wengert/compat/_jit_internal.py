"""``torch._jit_internal``: what libraries take from it is in ``torch.jit``; and annotations of its own.

Users: nemo-toolkit, pyro-ppl, sglang, timm, torchtext, torchvision.
"""

from __future__ import annotations

import typing
from typing import Any

from ..futures import Future as Future
from ..jit import Final as Final
from ..jit import _copy_to_script_wrapper as _copy_to_script_wrapper
from ..jit import _drop as _drop
from ..jit import _overload as _overload
from ..jit import _overload_method as _overload_method
from ..jit import export as export
from ..jit import ignore as ignore
from ..jit import is_scripting as is_scripting
from ..jit import unused as unused
from ..names.missing import missing_from

List, Dict, Tuple = typing.List, typing.Dict, typing.Tuple  # noqa: UP006
Optional, Union = typing.Optional, typing.Union


class BroadcastingListCls:
    """For annotations: one number that stands for a list of them."""

    def __getitem__(self, types: Any) -> None:
        return None


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingListCls()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = BroadcastingListCls()


def boolean_dispatch(arg_name: str, arg_index: int, default: bool, if_true: Any, if_false: Any, module_name: str,
        func_name: str) -> Any:
    """A function that is one or another, by one of its arguments."""

    def choose(*args: Any, **kwargs: Any) -> Any:
        asked = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if asked else if_false)(*args, **kwargs)

    choose.__name__, choose.__module__, choose.__doc__ = func_name, module_name, if_true.__doc__
    return choose


__getattr__ = missing_from(__name__)
