"""Functions and scopes that are surrounded while a diagnosis is on: what modules, optimizers and tensors are asked."""

from __future__ import annotations

import weakref
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..amp import GradScaler
from ..autograd import backward, grad
from ..autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from ..dispatch.watch_functions import surround
from ..functions.conversion import LegacyType
from ..functions.indexing import as_indices
from ..functions.overloads_pointwise import where
from ..graph.modes import enable_grad, inference_mode, modes, no_grad, set_grad_enabled
from ..nn import Module, Parameter
from ..nn.modules import module as nn_hooks
from ..nn.utils import clip_grad_norm_, clip_grad_value_
from ..optim import Optimizer
from ..tensor import Tensor
from .chains import stub
from .places import called_by_library, called_by_user, maker_site, user_frames, user_site
from .record import Backward, Event, Made, Refused, Replacement, shape_of
from .scopes import ScopeWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from .watching import Watching

#: An error that the program has caught so often at one place, and does not mean to happen, is explained.
CAUGHT = 3
FEW = 16  # elements of an array
CONVERSIONS = ("item", "tolist", "numpy", "__array__", "__float__", "__int__", "__bool__", "__index__", "__complex__")


class Surroundings:
    """Surrounds them; ``undo`` has what ends it."""

    def __init__(self, watching: Watching) -> None:
        self.watching, self.record = watching, watching.record
        self.undo: list[Callable[[], None]] = []
        self._raised: Counter[Any] = Counter()  # by site and kind of error

    def around(self, f: Any, form: Callable[[Any], Any]) -> None:
        """Surround ``f`` while the diagnosis is on."""

        def around(original: Any) -> Any:
            watched = form(original)

            def call(*args: Any, **kwargs: Any) -> Any:
                return watched(*args, **kwargs) if self.watching.on else original(*args, **kwargs)

            return call

        self.undo.append(surround(f, around))

    def _after(self, f: Any, tell: Callable[..., None]) -> None:
        """Call ``tell(result, *args, **kwargs)`` after every call of ``f``."""
        watching = self.watching

        def around(original: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                found = original(*args, **kwargs)
                if watching.on:
                    try:
                        tell(found, *args, **kwargs)
                    except Exception as error:
                        watching.failure(tell, error)
                return found

            return call

        self.undo.append(surround(f, around))

    def begin(self) -> None:
        """Surround everything."""
        self._after(Module.__init__, self._module_made)
        self._after(Module.__setstate__, self._module_copied)
        for kind in (Tensor, Parameter):
            self._after(kind.__deepcopy__, self._tensor_copied)
        self.undo += [nn_hooks.register_module_module_registration_hook(self._registered("_modules")).remove,
            nn_hooks.register_module_parameter_registration_hook(self._registered("_parameters")).remove]
        for clip in (clip_grad_norm_, clip_grad_value_):
            self.around(clip, self._clipping)
        self._after(GradScaler.scale, self._scaled)
        switches: tuple[Any, ...] = (Module.train, Module.eval)
        for f in switches:
            self.around(f, self._mode)
        self._after(Optimizer.__init__, self._optimizer_made)
        for f in (Optimizer.zero_grad, Module.zero_grad):
            self._after(f, self._zeroed)
        for name in ("detach", "detach_"):
            self._after(getattr(Tensor, name), self._cutting(name))
        for name in CONVERSIONS:
            self._after(getattr(Tensor, name), self._cutting(name))
        self._after(Tensor.data.fget, self._cutting("data"))  # type: ignore[attr-defined]
        self._after(Tensor.data.fset, self._data_set)  # type: ignore[attr-defined]
        self._after(Tensor.requires_grad_, lambda found, t, wanted=True: self._requirement(t, wanted))
        self._after(Tensor.requires_grad.fset,  # type: ignore[attr-defined]
            lambda found, t, wanted: self._requirement(t, wanted))
        self._after(Parameter.__new__, self._parameter_made)
        self.around(Tensor.backward, lambda original: self._backward(original, False))
        self.around(backward, lambda original: self._backward(original, False))
        self.around(grad, lambda original: self._backward(original, True))
        for f in (gradcheck, gradgradcheck):
            self.around(f, self._gradcheck)
        for f in (LegacyType.__call__, Tensor.__new__):
            self._after(f, self._constructed)
        self._after(as_indices, lambda found, given: self._places(found, given))
        self._after(where, lambda found, condition, *more, **others: self._places(found, [condition]))
        self._scopes()

    def _backward(self, original: Any, captured: bool) -> Any:
        names = (("inputs", "grad_outputs", "retain_graph", "create_graph") if captured
            else ("gradient", "retain_graph", "create_graph", "inputs"))

        def call(*args: Any, **kwargs: Any) -> Any:
            record = self.record
            here = record.here
            rows: list[Tensor] = []
            inputs: list[Tensor] = []
            if here.backward is None and here.called is None:
                called = here.called = Backward(captured)
                roots: Any = args[0] if args else kwargs.get("tensors", kwargs.get("outputs"))
                rows = [roots] if isinstance(roots, Tensor) else _tensors(roots)
                if len(args) > 1 or kwargs:
                    options = {**dict(zip(names, args[1:])), **kwargs}
                    inputs = _tensors(options.get("inputs"))
                    for name, value in options.items():  # a record keeps no tensor alive
                        options[name] = value if value is None or type(value) is bool else True
                    called.options = options
                if record.detailed:
                    called.root = [record.event_of(t) for t in rows]
                if len(rows) == 1 and type(a := rows[0]._wg_data) is np.ndarray and a.size == 1:
                    called.loss = float(a.real.item())
                if captured:
                    return self._capture(original, args, kwargs, rows, inputs)
            try:
                return original(*args, **kwargs)
            except Exception as error:
                self._refused(error, rows, inputs)
                raise
            finally:
                here.called = None

        return call

    def _gradcheck(self, original: Any) -> Any:
        """``gradcheck`` or ``gradgradcheck``: what it raised is told, or would have."""

        def call(func: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            if self.record.checking:
                return original(func, inputs, *args, **kwargs)
            self.record.checking = True
            raising = kwargs.pop("raise_exception", True)
            try:
                return original(func, inputs, *args, **kwargs)
            except GradcheckError as error:
                self.watching.take("gradchecked", original.__name__, inputs, user_site(), error)
                if raising:
                    raise
                return False
            finally:
                self.record.checking = False

        return call

    def _capture(self, original: Any, args: Any, kwargs: Any, rows: list[Any], inputs: list[Any]) -> Any:
        """Call ``grad()``, and note whose gradients it gave."""
        record = self.record
        try:
            found = original(*args, **kwargs)
        except Exception as error:
            self._refused(error, rows, inputs)
            raise
        finally:
            record.here.called = None
        for t, gradient in zip(inputs, found):
            if t._wg_edge is None and gradient is not None:
                record.gradient_of(t).captured += 1
        return found

    def _refused(self, error: BaseException, rows: list[Any], inputs: list[Any]) -> None:
        """A backward has raised; note it if it had not begun, and explain it if the program goes on all the same."""
        record = self.record
        if record.here.called is not None and rows:  # a walk takes it
            root, wanted = ([record.event_of(t) for t in group] for group in (rows, inputs))
            off = None if modes().grad else record.scope()
            record.refused.append(Refused(error, user_site(), root, wanted, record.step_count, record.detailed, off))
        key = user_site(), type(error), str(error)[:40]
        self._raised[key] += 1
        if self._raised[key] != CAUGHT or not record.optimizers:
            return
        own = whole = error.__traceback__
        for frame in user_frames(2):  # as if it had left the program
            whole = TracebackType(whole, frame, frame.f_lasti, frame.f_lineno)
        error.__traceback__ = whole
        try:
            self.watching.take("failed", error)
        finally:
            error.__traceback__ = own

    def _places(self, found: Any, given: list[Any]) -> None:
        """Places of true elements were found outside of operators, where masks are ``given``: they come from these."""
        record = self.record
        made = [t for t in found if t is not None and all(t is not x for x in given)] if type(found) in (
            list, tuple) else []
        if not record.detailed or not made:
            return
        inputs: list[Event] = []
        self.watching.tracer.add([t for t in given if isinstance(t, Tensor)], inputs)
        event = Event("nonzero", "operator", user_site(), tuple(inputs), record.step_count)
        record.event_count += 1
        event.number = record.event_count
        for t in made:
            record.events.put(t, event)

    def _module_made(self, found: Any, module: Any, *args: Any, **kwargs: Any) -> None:
        self.record.modules.put(module, Made(module, *maker_site(module)))

    def _module_copied(self, found: Any, module: Any, *args: Any, **kwargs: Any) -> None:
        """A module was made by ``deepcopy`` or read from a file."""
        if self.record.modules.get(module) is None:
            self.record.modules.put(module, Made(module, user_site()))

    def _tensor_copied(self, found: Any, tensor: Any, *args: Any) -> None:
        if tensor._wg_edge is None and tensor._wg_meta is not None and self.record.copies.get(found) is None:
            self.record.copies.put(found, (weakref.ref(tensor), user_site()))

    def _registered(self, kind: str) -> Callable[[Any, str, Any], None]:
        def hook(module: Any, name: str, new: Any) -> None:
            old = module.__dict__[kind].get(name)
            if self.watching.on and old is not None and new is not None and new is not old:
                self.record.replacements.append(Replacement(module, name, old, new, user_site(),
                    self.record.step_count))

        return hook

    def _scaled(self, found: Any, scaler: Any, outputs: Any) -> None:
        self.record.scaler = weakref.ref(scaler), self.record.backward_count

    def _clipping(self, original: Any) -> Any:
        def call(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            rows = [parameters] if isinstance(parameters, Tensor) else list(parameters)
            found = original(rows or parameters, *args, **kwargs)
            self.watching.take("clipped", rows, user_site())
            return found

        return call

    def _mode(self, original: Any) -> Any:
        """``Module.train`` or ``eval``: the outermost call is noted for all modules below."""

        def call(module: Module, *args: Any, **kwargs: Any) -> Any:
            here = self.record.here
            if here.switching:
                return original(module, *args, **kwargs)
            here.switching, site = True, user_site()
            try:
                found = original(module, *args, **kwargs)
            finally:
                here.switching = False
            for m in module.modules():
                made = self.record.modules.get(m)
                if made is not None:
                    made.mode_step = self.record.step_count
                if made is not None and m.training:
                    made.train_site = site
                elif made is not None:
                    made.eval_site = site
            return found

        return call

    def _optimizer_made(self, found: Any, optimizer: Any, *args: Any, **kwargs: Any) -> None:
        self.record.enter_optimizer(optimizer, *maker_site(optimizer))

    def _zeroed(self, found: Any, holder: Any, set_to_none: bool = True) -> None:
        site, record = user_site(), self.record
        rows = ([(record.gradients.get(p), None) for p in holder.parameters()] if isinstance(holder, Module)
            else record.held(holder))
        for facts, _ in rows:
            if facts is not None:
                facts.wasted = facts.filled if facts.consumed is None else []
                facts.filled, facts.carried, facts.consumed, facts.zeroed = [], False, None, site

    def _parameter_made(self, found: Any, cls: Any, data: Any = None, requires_grad: bool = True) -> None:
        site = user_site()
        self.record.made_tensors.put(found, site)
        if not requires_grad:
            self.record.frozen.put(found, site)
        if isinstance(data, Tensor) and data._wg_edge is not None:
            event = Event("Parameter", "parameter", site, (self.record.event_of(data),), self.record.step_count)
            event.wanted, event._tensor, event.shape = True, weakref.ref(found), shape_of(found)
            self.record.events.put(found, event)

    def _constructed(self, found: Any, kind: Any, *args: Any, **kwargs: Any) -> None:
        """A constructor of old has made ``found``: ``torch.Tensor(rows)``."""
        record = self.record
        if not record.detailed or not isinstance(found, Tensor) or not called_by_user():
            return
        inputs: list[Event] = []
        wanted = self.watching.tracer.add(args, inputs)
        event = Event("Tensor", "function", user_site(), tuple(inputs), record.step_count)
        event.wanted, event._tensor, event.shape = wanted, weakref.ref(found), shape_of(found)
        record.event_count += 1
        event.number = record.event_count
        record.events.put(found, event)

    def _data_set(self, found: Any, tensor: Any, value: Any) -> None:
        if self.record.detailed and isinstance(value, Tensor):
            self.watching.take("data_set", tensor, value, user_site())

    def _requirement(self, tensor: Any, wanted: bool) -> None:
        if not wanted:
            self.record.frozen.put(tensor, user_site())

    def _cutting(self, name: str) -> Callable[..., None]:
        record = self.record

        def tell(found: Any, tensor: Any, *args: Any, **kwargs: Any) -> None:
            if type(found) is float and not record.detailed and found - found == 0:
                return  # a number to look at; what is computed from it is not seen outside of windows
            meta = tensor._wg_meta
            known = tensor._wg_edge is not None or (meta is not None and meta.requires_grad) or (
                self.record.detailed and self.record.events.get(tensor) is not None)
            if known and called_by_user():
                self.cut(name, tensor, found)

        return tell

    # -- scopes -------------------------------------------------------------------------------------------------------

    def _scopes(self) -> None:
        """Put methods of these classes before those that they inherit, which are the extension's."""
        kinds = no_grad, enable_grad, set_grad_enabled, inference_mode
        names = "__enter__", "__exit__", "clone", "__call__"
        for kind, inherited in [(kind, {name: getattr(kind, name) for name in names}) for kind in kinds]:
            self.undo.append(ScopeWatch(self.watching, kind).put(inherited))

    # -- cuts ---------------------------------------------------------------------------------------------------------

    def cut(self, name: str, source: Any, result: Any) -> None:
        """A value without a history was made of ``source``, which has one."""
        record = self.record
        before = record.event_of(source)
        if not record.detailed and before.kind == "cut":  # cut and cut again, perhaps without end
            before = stub(before)
        event = Event(name, "cut", user_site(), (before,), record.step_count)
        event.wanted = source._wg_edge is not None or (source._wg_meta is not None and source._wg_meta.requires_grad)
        event.shape, event.modules, event.library = shape_of(source), tuple(record.here.modules), called_by_library()
        if not modes().grad:
            event.off = record.scope()
        record.event_count += 1
        event.number = record.event_count
        if isinstance(result, Tensor):
            event._tensor = weakref.ref(result)
            record.events.put(result, event)
        elif isinstance(result, (float, complex)):
            record.numbers.append((result, event))
        elif isinstance(result, np.ndarray):
            record.arrays.put(result, event)
            if result.base is not None:
                record.arrays.put(result.base, event)
            if result.size <= FEW and result.dtype.kind == "f":  # its elements are numbers to compute with
                record.numbers += [(number, event) for number in result.ravel().tolist()]
        elif isinstance(result, list):
            self._numbers(result, event)
        self.watching.take("cut", event, source, result)

    def _numbers(self, rows: Any, event: Event) -> None:
        for v in rows[:256]:
            if isinstance(v, list):
                self._numbers(v, event)
            else:
                self.record.numbers.append((v, event))


def _tensors(given: Any) -> list[Tensor]:
    """The tensors among what was given for one or several."""
    rows = given if type(given) in (list, tuple) else (given,)
    return [t for t in rows if isinstance(t, Tensor)]
