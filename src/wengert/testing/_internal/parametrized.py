"""One test written, many made: ``parametrize`` and what else says with which arguments a test is run."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from ...tensor import device as device_class
from ...tensor import dtype as dtype_class
from .checks import wrapSwapTensorsTest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class Case(NamedTuple):
    """One of the tests that are made of one: what its name says, its arguments, and decorators (a ``decorateIf`` is asked first)."""

    name: str
    given: dict[str, Any]
    decorators: tuple[Any, ...]


class _TestParametrizer:
    """A decorator of tests that says by ``cases`` what to make of one. Where several stand above each other, every pair is made."""

    def __call__(self, test: Any) -> Any:
        inner: Any = getattr(test, "parametrize_cases", None)

        def cases(device: str | None) -> Iterator[Case]:
            olds = [Case("", {}, ())] if inner is None else list(inner(device))
            for old, new in itertools.product(olds, list(self.cases(test, device))):
                twice = old.given.keys() & new.given.keys()
                if twice:
                    raise RuntimeError(
                        "Parametrization over the same parameter by multiple parametrization decorators is not supported. "
                        f'For test "{test.__name__}", the following parameters are handled multiple times: {twice}'
                    )
                yield Case(_joined(new.name, old.name), {**old.given, **new.given}, (*old.decorators, *new.decorators))

        test.parametrize_cases = cases
        return test

    def cases(self, test: Any, device: str | None) -> Iterable[Case]:
        """The tests to make of ``test``; ``device`` is None where they are for no device in particular."""
        raise NotImplementedError


class subtest:
    """One value of ``parametrize``, with a name and decorators of its own."""

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Sequence[Any] | None = None) -> None:
        self.arg_values, self.name, self.decorators = arg_values, name, list(decorators or ())


class parametrize(_TestParametrizer):
    """Decorator: one test for each value. ``arg_str``: the parameter, or several with commas between."""

    def __init__(self, arg_str: str, arg_values: Any, name_fn: Callable[..., str] | None = None) -> None:
        self.arg_names = [n.strip() for n in arg_str.split(",") if n != ""]
        self.arg_values, self.name_fn = arg_values, name_fn

    def cases(self, test: Any, device: str | None) -> Iterable[Case]:
        if not self.arg_names:
            return [Case("", {}, ())]
        made = [self._case(test, i, value) for i, value in enumerate(self.arg_values)]
        if not made:
            raise ValueError(f"{test}: An empty arg_values was passed to @parametrize. Note that this may result from reuse of a generator.")
        return made

    def _case(self, test: Any, i: int, value: Any) -> Case:
        name, decorators = (value.name, tuple(value.decorators)) if isinstance(value, subtest) else (None, ())
        value = value.arg_values if isinstance(value, subtest) else value
        row, names = ([value] if len(self.arg_names) == 1 else list(value)), self.arg_names
        if len(row) != len(names):
            raise RuntimeError(
                f'Expected # values == # arg names, but got: {len(row)} values and {len(names)} names for test "{test.__name__}"'
            )  # fmt: skip
        if not name:
            name = self.name_fn(*row) if self.name_fn is not None else "_".join(_named(n, v, i) for n, v in zip(names, row))
        return Case(name, dict(zip(names, row)), decorators)


class reparametrize(_TestParametrizer):
    """Decorator: the tests that ``parametrizer`` makes, each as ``adapter_fn(name, parameters)`` wants it.

    The function gives pairs of names and parameters; a test for which it gives None is left out.
    """

    def __init__(self, parametrizer: _TestParametrizer, adapter_fn: Callable[..., Any]) -> None:
        self.parametrizer, self.adapter_fn = parametrizer, adapter_fn

    def cases(self, test: Any, device: str | None) -> Iterable[Case]:
        for case in self.parametrizer.cases(test, device):
            for adapted in self.adapter_fn(case.name, case.given) or ():
                if adapted is not None:
                    name, given = adapted
                    yield Case(name, given, case.decorators)


class decorateIf(_TestParametrizer):
    """Decorator: of the tests that are made, those for whose parameters ``predicate_fn`` holds get ``decorator``."""

    def __init__(self, decorator: Any, predicate_fn: Callable[[dict[str, Any]], Any]) -> None:
        self.decorator, self.predicate_fn = decorator, predicate_fn

    def cases(self, test: Any, device: str | None) -> Iterable[Case]:
        return [Case("", {}, (self,))]


class swap(_TestParametrizer):
    """Decorator: one test for each of ``swap_values``, with modules converted by swapping tensors or not."""

    def __init__(self, swap_values: Any) -> None:
        self.swap_values = list(swap_values)

    def cases(self, test: Any, device: str | None) -> Iterable[Case]:
        return [Case(f"swap_{value}", {}, (wrapSwapTensorsTest(value),)) for value in self.swap_values]


def dtype_name(dtype: Any) -> str:
    """``float32`` for ``torch.float32``."""
    return str(dtype).rpartition(".")[2]


def instantiate_parametrized_tests(generic_cls: Any) -> Any:
    """Make the tests that ``parametrize`` describes."""
    for name in dir(generic_cls):
        test = getattr(generic_cls, name)
        cases = getattr(test, "parametrize_cases", None)
        if cases is None:
            continue
        delattr(generic_cls, name)
        for case in cases(None):
            add_test(generic_cls, f"{test.__name__}_{case.name}", with_arguments(test, case.given, case.decorators))
    return generic_cls


def add_test(cls: Any, name: str, test: Any) -> None:
    """Put a test that was made into its class, where no other may have the name."""
    if hasattr(cls, name):
        raise AssertionError(f"Redefinition of test {name}")
    setattr(cls, name, test)


def with_arguments(test: Any, given: dict[str, Any], decorators: Sequence[Any] = ()) -> Any:
    """A test method that passes ``given`` to ``test``, decorated, and compares as closely as the test wants for its dtype."""

    @functools.wraps(test)
    def decorated(self: Any, **kwargs: Any) -> Any:  # of its own: decorators mark functions
        return test(self, **kwargs)

    for decorator in decorators:
        if isinstance(decorator, decorateIf):
            decorated = decorator.decorator(decorated) if decorator.predicate_fn(given) else decorated
        else:
            decorated = decorator(decorated)
    kind = given.get("dtypes", given.get("dtype"))

    @functools.wraps(decorated)
    def run(self: Any) -> Any:
        before = self.precision, self.rel_tol
        try:
            if kind is not None:
                self.precision = getattr(decorated, "precision_overrides", {}).get(kind, self.precision)
                self.precision, self.rel_tol = getattr(decorated, "tolerance_overrides", {}).get(kind, (self.precision, self.rel_tol))
            return decorated(self, **given)
        finally:
            self.precision, self.rel_tol = before

    del run.__wrapped__  # type: ignore[attr-defined]  # its parameters are not those of a test
    return run


def _joined(*names: str) -> str:
    return "_".join(n for n in names if n != "")


def _named(name: str, value: Any, i: int) -> str:
    if isinstance(value, dtype_class):
        return dtype_name(value)
    if isinstance(value, device_class):
        return str(value)
    if type(value).__name__ in ("OpInfo", "ModuleInfo"):
        return str(value.formatted_name)
    return f"{name}_{str(value).replace('.', '_')}" if isinstance(value, (int, float, str)) else f"{name}{i}"
