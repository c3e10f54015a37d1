"""Pickle bytes to objects, without running code from the file.

A pickle is a little program for a stack machine. Here the machine has only the instructions that build plain data;
the names that a program may look up are those of :mod:`.names`, what it may call, make or fill are the things that
these names stand for.
"""

from __future__ import annotations

import pickle
from collections import Counter, OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

from numpy import dtype, ndarray

from ..tensor.tensor import Tensor
from ..tensor.types import strided
from .calls import checked
from .errors import shown
from .limits import Budget, Nests, keys_for
from .names import BLOCKED, allowed_by_user, known
from .numpy_objects import fill_array, fill_dtype
from .rebuild import DimRange, rebuild_from_type_v2, rebuild_sparse_tensor, validate

if TYPE_CHECKING:
    from collections.abc import Callable

UnpicklingError = pickle.UnpicklingError
_MAPPINGS = (dict, OrderedDict, Counter, defaultdict)
# Instructions that only move plain data: numbers, text, containers, the stack and the memo.
_DATA = (
    "PROTO FRAME STOP MARK POP POP_MARK DUP NONE NEWFALSE NEWTRUE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT "
    "BINFLOAT STRING BINSTRING SHORT_BINSTRING BINBYTES SHORT_BINBYTES BINBYTES8 UNICODE BINUNICODE "
    "SHORT_BINUNICODE BINUNICODE8 EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_LIST LIST EMPTY_DICT EMPTY_SET "
    "GET BINGET LONG_BINGET PUT BINPUT LONG_BINPUT MEMOIZE GLOBAL STACK_GLOBAL"
)


class _Instructions(dict[int, Any]):
    def __missing__(self, code: int) -> Any:
        raise UnpicklingError(f"Unsupported operand {code}")


def todays_name(module: str, name: str, protocol: int) -> tuple[str, str]:
    """The module and name that a pickle means, in today's Python: protocols below 3 use the names of Python 2."""
    if protocol < 3:
        from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING

        if (module, name) in NAME_MAPPING:
            module, name = NAME_MAPPING[module, name]
        else:
            module = IMPORT_MAPPING.get(module, module)
    return "torch._tensor" if module == "torch.tensor" else module, name


_Machine: Any = pickle._Unpickler  # the C unpickler cannot leave instructions out


class Unpickler(_Machine):
    """Reads what :class:`.pickler.Pickler` and PyTorch write from ``file``, which has at most ``size`` bytes.

    ``load_storage`` is called with the identifier of a storage, ``("storage", type, key, location, number of
    elements)``; ``encoding`` is that of text in pickles that Python 2 wrote; with ``own_classes`` files may also name
    what the program has, see :mod:`.program`. Raises ``UnpicklingError`` for what is not allowed.
    """

    def __init__(self, file: Any, size: int, load_storage: Callable[[tuple[Any, ...]], Any], *, encoding: str = "utf-8",
            own_classes: bool = False) -> None:
        super().__init__(file, encoding=encoding)
        self.load_storage, self.own_classes = load_storage, own_classes
        self.unread: list[Tensor] = []  # sparse and nested tensors, whose numbers say where they lie
        self.budget, self.nests = Budget(size), Nests()
        self.proto = 0
        by_user = allowed_by_user()
        self.names = {**by_user, **known()}
        self.checked = checked()
        self.allowed = {id(thing) for thing in self.names.values()}
        self.fillable = {id(thing) for thing in (*by_user.values(), DimRange)}

    def find_class(self, module: str, name: str) -> Any:
        module, name = todays_name(module, name, self.proto)
        full = f"{module}.{name}"
        if module in BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.")
        found = self.names.get(full)
        if found is None and self.own_classes:
            from .program import look_up

            named = look_up(module, name)
            if named is not None:
                found = self.names[full] = named.thing
                if named.callable:
                    self.allowed.add(id(found))
                if named.fillable:
                    self.fillable.add(id(found))
        if found is None:
            full = full.removeprefix("builtins.")
            raise UnpicklingError(f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
                f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` "
                "context manager to allowlist this global if you trust this class/function.")
        return found

    def load(self) -> Any:
        try:
            found = super().load()
            self.nests.check()
        except BaseException:
            self.nests.undo()
            raise
        return found

    def validate(self) -> None:
        """Look at what the tensors say of their numbers; call it when all storages are read."""
        for tensor in self.unread:
            validate(tensor)

    # -- the instructions that could do more than build data ------------------------------------------------------

    def load_reduce(self) -> None:
        args, func = self.stack.pop(), self.stack[-1]
        if id(func) not in self.allowed or type(args) is not tuple:
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {shown(func)}")
        self.budget.spend(args)
        self.budget.tell_apart(keys_for(func, args))
        made = self.stack[-1] = self.checked.get(id(func), func)(*args)
        if (func is rebuild_sparse_tensor or func is rebuild_from_type_v2) and made.layout is not strided:
            self.unread.append(made)

    def load_newobj(self) -> None:
        args = self.stack.pop()
        self._make(self.stack.pop(), args, {})

    def load_newobj_ex(self) -> None:
        kwargs, args = self.stack.pop(), self.stack.pop()
        self._make(self.stack.pop(), args, kwargs)

    def _make(self, kind: Any, args: Any, kwargs: Any) -> None:
        known = id(kind) in self.allowed or id(kind) in self.fillable
        if not known or not isinstance(kind, type) or (type(args), type(kwargs)) != (tuple, dict):
            raise UnpicklingError("Can only create new object for nn.Parameter or classes allowlisted via "
                f"`add_safe_globals` but got {shown(kind)}")
        self.budget.spend((args, kwargs))
        self.budget.tell_apart(keys_for(kind, args))
        call = self.checked.get(id(kind))
        self.stack.append(kind.__new__(kind, *args, **kwargs) if call is None else call(*args, **kwargs))

    def load_build(self) -> None:
        state, thing = self.stack.pop(), self.stack[-1]
        kind = type(thing)
        if kind is OrderedDict:
            _attributes(thing, state)
            return
        listed = dtype if issubclass(kind, dtype) else kind  # each of NumPy's types has a class of its own
        if id(listed) not in self.fillable or isinstance(thing, (type, Tensor)):
            raise UnpicklingError("Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                f"`add_safe_globals`, but got {kind}")
        if isinstance(thing, dtype):
            self.budget.spend((state,))
            fill_dtype(thing, state)
        elif isinstance(thing, ndarray) and kind.__setstate__ is ndarray.__setstate__:  # type: ignore[attr-defined]
            self.budget.spend((state,))
            self.nests.note(thing, fill_array(thing, state))
        elif hasattr(thing, "__setstate__"):
            thing.__setstate__(state)
        else:
            own, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            if own:
                _attributes(thing, own)
            for name, value in (slots or {}).items():
                setattr(thing, name, value)

    def load_append(self) -> None:
        self._extend([self.stack.pop()], "append to")

    def load_appends(self) -> None:
        self._extend(self.pop_mark(), "extend")

    def _extend(self, items: list[Any], verb: str) -> None:
        target = self.stack[-1]
        if type(target) is not list and not (isinstance(target, (list, deque)) and id(type(target)) in self.fillable):
            raise UnpicklingError(f"Can only {verb} lists, but got {type(target)}")
        target.extend(items)
        self.nests.note(target, items)

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set([key, value], "SETITEM")

    def load_setitems(self) -> None:
        self._set(self.pop_mark(), "SETITEMS")

    def _set(self, items: list[Any], instruction: str) -> None:
        target = self.stack[-1]
        kind = type(target)
        if kind not in _MAPPINGS and not (issubclass(kind, dict) and id(kind) in self.fillable):
            raise UnpicklingError(f"Can only {instruction} for dict, collections.OrderedDict, collections.Counter, but "
                f"got {kind}")
        keys, values = items[::2], items[1::2]
        self._hashable(keys)
        for key, value in zip(keys, values):
            target[key] = value
        self.nests.note(target, values)

    def load_dict(self) -> None:
        items = self.pop_mark()
        self.stack.append({})
        self._set(items, "DICT")

    def load_additems(self) -> None:
        items = self.pop_mark()
        if type(self.stack[-1]) is not set:
            raise UnpicklingError(f"Can only ADDITEMS for sets, but got {type(self.stack[-1])}")
        self._hashable(items)
        self.stack[-1].update(items)

    def load_frozenset(self) -> None:
        items = self.pop_mark()
        self._hashable(items)
        self.stack.append(frozenset(items))

    def _hashable(self, keys: list[Any]) -> None:
        odd = [key for key in keys if type(key) is not str and (type(key) is not int or key.bit_length() > 60)]
        if odd:
            self.budget.spend(odd)
            self.budget.tell_apart(odd)

    def load_bytearray8(self) -> None:
        self.stack.append(bytearray(self.read(int.from_bytes(self.read(8), "little"))))

    def load_binpersid(self) -> None:
        identifier = self.stack.pop()
        if type(identifier) is not tuple or not identifier:
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(identifier)}")
        kind = identifier[0].decode("ascii") if isinstance(identifier[0], bytes) else identifier[0]
        if type(kind) is not str or kind != "storage":
            raise UnpicklingError("Only persistent_load of storage is allowed, but got "
                f"{repr(kind[:50]) if type(kind) is str else shown(kind)}")
        self.stack.append(self.load_storage(identifier))

    dispatch = _Instructions(
        {getattr(pickle, name)[0]: _Machine.dispatch[getattr(pickle, name)[0]] for name in _DATA.split()})
    dispatch |= {
        pickle.REDUCE[0]: load_reduce, pickle.NEWOBJ[0]: load_newobj, pickle.NEWOBJ_EX[0]: load_newobj_ex,
        pickle.BUILD[0]: load_build, pickle.APPEND[0]: load_append, pickle.APPENDS[0]: load_appends,
        pickle.SETITEM[0]: load_setitem, pickle.SETITEMS[0]: load_setitems, pickle.ADDITEMS[0]: load_additems,
        pickle.BINPERSID[0]: load_binpersid, pickle.BYTEARRAY8[0]: load_bytearray8,
        pickle.DICT[0]: load_dict, pickle.FROZENSET[0]: load_frozenset,
    }


def _attributes(thing: Any, state: Any) -> None:
    if not isinstance(state, dict):
        raise UnpicklingError(f"attributes are {shown(state)}, not a dictionary")
    thing.__dict__.update(state)


def globals_in(data: bytes) -> set[str]:
    """The full names that a pickle looks up."""
    from pickletools import genops

    arg: Any
    found, protocol = set(), 0
    texts: list[Any] = [None, None]  # what was put on the stack last, where it is text
    memo: dict[int, Any] = {}
    for op, arg, _ in genops(data):
        if op.name == "PROTO":
            protocol = arg
        elif op.name == "GLOBAL":
            module, _, name = arg.partition(" ")
            found.add(".".join(todays_name(module, name, protocol)))
        elif op.name == "STACK_GLOBAL" and None not in texts[-2:]:
            found.add(".".join(todays_name(texts[-2], texts[-1], protocol)))
        if op.name == "MEMOIZE" or op.name.endswith("PUT"):
            memo[len(memo) if arg is None else arg] = texts[-1]
        elif op.name.endswith("GET"):
            texts.append(memo.get(arg))
        else:
            texts.append(arg if "UNICODE" in op.name else None)
    return found
