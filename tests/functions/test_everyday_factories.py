"""The short cuts of functions that make tensors: what their definitions give, errors and random streams too."""

from __future__ import annotations

import math
from functools import partial
from itertools import product

import numpy as np
import pytest

import wengert as torch
from wengert.functions import everyday

NAMES = ("filled", "full", "identity", "counted", "listed", "spaced", "logspaced", "drawn", "chosen")
pytestmark = pytest.mark.skipif(everyday.filled is everyday._not_native, reason="needs the native extension")

OPTIONS = [
    {},
    {"dtype": torch.float64},
    {"dtype": torch.float32, "device": "cpu"},
    {"dtype": torch.int64},
    {"dtype": torch.bool},
    {"requires_grad": True},
    {"device": torch.device("cpu"), "layout": torch.strided},
    {"dtype": torch.float16},
    {"dtype": torch.int8},
    {"dtype": torch.complex64},
    {"device": "meta"},
    {"dtype": float},
    {"dtype": "float32"},
    {"device": 3.5},
    {"pin_memory": 1},
    {"dtype": torch.bfloat16},
    {"dtype": torch.uint8},
]
SIZES = [
    (),
    (3,),
    (2, 3),
    ((2, 3),),
    ([2],),
    ((),),
    (0,),
    (2, 0),
    (-1,),
    (2.0,),
    (True,),
    ((2, (3,)),),
    (torch.Size([2]),),
    (2**63,),
    (2**40, 2**40),
]
INF, NAN = float("inf"), float("nan")
DATA = [1, 2.5, True, [1.0, 2], [1, 2], [True, False], [True, 1], [1.0, True], [[1, 2], [3, 4]], [(1.0,), [2]],
    [[1], [2, 3]], [[1], 2], [], [[]], [[], []],
    (1.0, 2.0), torch.Size([2, 3]), [1j, 2], [2**63], [-(2**63)], [2**53 + 1, 0.5],
    [2**53 + 1], 2**53 + 1, [1e300, INF, NAN, -0.0], [[[1.5]]], "ab", ["a"], None, [None], [np.float32(1)],
    np.arange(2),
    [torch.tensor(1.5), 2], {"a": 1}, [[1.0, [2.0]]], [3.7, -3.7], [200, -1], range(3)]
CALLS = {
    "tensor": [((data,), o) for data in DATA for o in (*OPTIONS, {"dtype": torch.float32, "requires_grad": True})],
    "as_tensor": [((data,), {key: o[key] for key in o if key in ("dtype", "device")})
        for data in DATA for o in OPTIONS],
    "normal": [
        (a, o)
        for a in [(0.0, 1.0, (3,)), (1, 2, (2, 9)), (2.5, 0.1, (16,)), (0, -1.0, (2,)), (0.0, INF, (2,)), (0, 0, [3]),
            (1.5, 2.0), (0.0, 1.0, 3), (1e39, 1.0, (3,)), ("a", 1.0, (2,)), (0.0, 1.0, (0,)), (0.0, 1.0, ())]
        for o in OPTIONS
        if not {"layout", "pin_memory"} & {*o}
    ],
    "zeros": [(s, o) for s in SIZES for o in (*OPTIONS, {"size": (2,)})],
    "ones": list(product(SIZES, OPTIONS)),
    "full": [
        ((size, v), o)
        for size in [(2, 3), [2], (), 3, ((2,),), (-1,), torch.Size([3]), (1.5,)]
        for v in (0, 1, 2.5, True, -1, 200, 2**40, 2**70, 1e300, INF, -INF, NAN, 1j, "a", None, 3e38)
        for o in OPTIONS
    ],
    "eye": [(a, o) for a in [(3,), (2, 4), (4, 2), (0,), (-1,), (2.0,), (None,), (3, None), (2, -1)] for o in OPTIONS],
    "arange": [
        (a, o)
        for a in [
            (5,),
            (0,),
            (2, 7),
            (7, 2),
            (7, 2, -2),
            (1, 8, 3),
            (1, 8, 0),
            (0.5,),
            (0, 1, 0.1),
            (5.0,),
            (1, 2.5, 0.3),
            (INF,),
            (NAN,),
            (0, 1, INF),
            (True,),
            (1j,),
            (2**62, 2**62 + 3),
            (2**53 + 1, 2**53 + 4),
            (0, 2**40, 2**38),
            (-5, 5, 3),
            (1, -1),
            (3, 3),
            (0.1, 0.7, 0.2),
            (1e10, 1e10 + 5),
            (None, 3),
            ("a",),
            (0, 10, 2.5),
        ]
        for o in OPTIONS
    ],
    "linspace": [
        (a, o)
        for a in [
            (0, 1, 5),
            (0, 1, 1),
            (0, 1, 0),
            (0, 1, -1),
            (1, 0, 4),
            (0.1, 0.7, 7),
            (-3, 3, 100),
            (0, 1, 2),
            (INF, 1, 3),
            (NAN, 1, 3),
            (0, 1, 5.0),
            (1e38, -3e38, 5),
            (2**60, 0, 3),
            (1j, 2, 3),
            (0, True, 3),
            (0,),
            (5, 5, 3),
        ]
        for o in OPTIONS
    ],
    "rand": list(product(SIZES, OPTIONS)),
    "randn": list(product([*SIZES, (17,), (16,), (5, 7)], OPTIONS)),
    "randperm": [((n,), o) for n in (0, 1, 2, 17, 4096, 4097, -1, 2.0, True, (3,)) for o in OPTIONS],
    "randint": [
        (a, o)
        for a in [
            (5, (3,)),
            (2, 5, (2, 2)),
            (2, 2, (3,)),
            (5, 3),
            (5, [2]),
            (-5, 5, (4,)),
            (0, 2**40, (3,)),
            (2**28, (3,)),
            (2**28 - 1, (3,)),
            (2**62, (2,)),
            (2**70, (2,)),
            (1.5, 4, (2,)),
            (0, 5, ((2,),)),
            (True, (2,)),
            (5, ()),
            (5,),
        ]
        for o in (*OPTIONS, {"low": 1}, {"high": 9})
    ],
}


def seen(call):
    """What a call gives, or how it fails, and where the random stream then is."""
    torch.manual_seed(7)
    try:
        t = call()
        numbers = t.tolist() if t.device.type == "cpu" else None
        found = (t.dtype, t.shape, t.stride(), repr(numbers), t.requires_grad, t.device, t._version, t.is_inference())
    except (TypeError, ValueError, RuntimeError, IndexError, OverflowError, NotImplementedError) as error:
        found = (type(error), str(error))
    return found, torch.get_rng_state().tolist()[:40], torch.rand(1).item()


@pytest.fixture
def defined(monkeypatch):
    """Calls a function without the short cuts."""

    def call(f):
        with monkeypatch.context() as patch:
            for name in NAMES:
                patch.setattr(everyday, name, everyday._not_native)
            patch.setattr(everyday, "draw_in", lambda *args: False)
            return f()

    return call


@pytest.mark.parametrize("name", CALLS)
def test_factories_give_what_their_definitions_give(name, defined):
    function = getattr(torch, name)
    for args, options in CALLS[name]:

        def call(args=args, options=options):
            return seen(lambda: function(*args, **options))

        assert call() == defined(call), (args, options)
    with torch.inference_mode():
        assert call() == defined(call)


@pytest.mark.parametrize("name", ["rand", "randn", "randint"])
def test_random_numbers_like_others_are_as_defined(name, defined):
    others = [torch.ones(2, 3), torch.ones(3, 7, dtype=torch.float64), torch.ones(2, 3).t(), torch.arange(3),
        torch.ones(2, requires_grad=True), torch.ones(()), torch.ones(0, 2), torch.ones(3, device="meta"),
        torch.ones(3).expand(2, 3), torch.ones(2, dtype=torch.float16), torch.ones(5000),
        torch.ones(2, dtype=torch.bool)]
    limits = [()]
    if name == "randint":
        limits = [(7,), (-5, 9), (0, 2**24), (0, 2**25), (2, 1), (0, 2**60), (0, 2.5)]
    generator = torch.Generator()
    for other, options, args in product(others, [*OPTIONS, {"memory_format": torch.contiguous_format},
            {"generator": generator}], limits):

        def like(other=other, options=options, args=args):
            generator.manual_seed(3)
            return seen(lambda: getattr(torch, name + "_like")(other, *args, **options))

        assert like() == defined(like), (other, options, args)


def test_normal_numbers_of_tensors_are_as_defined(defined):
    x, y = torch.linspace(-3, 3, 24).reshape(2, 12), torch.linspace(0, 2, 12)
    means = [x, x.double(), x.t(), x[:1, :5], x.half(), torch.arange(12), 1.5, x.clone().requires_grad_()]
    spreads = [y, y[:5], torch.zeros(12, 1), -y, y * NAN, 2.0, -1.0, y.double().requires_grad_()]
    for mean, std, generator in product(means, spreads, (None, torch.Generator())):
        if isinstance(mean, torch.Tensor) or isinstance(std, torch.Tensor):

            def call(mean=mean, std=std, generator=generator):
                if generator is not None:
                    generator.manual_seed(4)
                return seen(lambda: torch.normal(mean, std, generator=generator))

            assert call() == defined(call), (mean, std)


@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_tensors_like_others_are_as_defined(name, defined):
    others = [
        torch.ones(2, 3),
        torch.ones(2, 3).t(),
        torch.arange(3),
        torch.ones(2, requires_grad=True),
        torch.ones(()),
        torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last),
        torch.ones(2, dtype=torch.bfloat16),
        torch.ones(0, 2),
        torch.ones(3, device="meta"),
        torch.ones(3).expand(2, 3),
        torch.ones(2, dtype=torch.complex128),
    ]
    for other, options in product(others, [*OPTIONS, {"memory_format": torch.contiguous_format}]):

        def like(other=other, options=options):
            return seen(lambda: getattr(torch, name + "_like")(other, **options))

        def new(other=other, options=options):
            return seen(lambda: getattr(other, "new_" + name)(2, 3, **options))

        assert like() == defined(like), (other, options)
        assert new() == defined(new), (other, options)


def test_the_default_type_and_uninitialized_memory(defined):
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.zeros(2).dtype == torch.rand(2).dtype == torch.arange(0.5).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.empty(2, 3).shape == (2, 3)
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(2).isnan().all() and torch.empty_like(torch.ones(2)).isnan().all()
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("name", ["normal_", "uniform_", "random_", "bernoulli_", "exponential_", "cauchy_",
    "log_normal_", "geometric_"])
def test_fillings_are_as_defined(name, defined):
    rows = [(), (0, 1), (0.0, 1.0), (2.5, 3.5), (1, -1), (3, 2), (0, INF), (NAN, 1), (0.1, 0.1), (1e39, 1e39), (0, 0)]
    if name == "random_":
        rows += [(7,), (-5, 1000), (0, 2**24), (-(2**24) + 1, 2**24 - 1), (0, 2**28), (2**24, 2**24 + 3), (0, 2**53)]
    elif name == "cauchy_" or name == "log_normal_":
        rows.remove((1e39, 1e39))
    elif name != "normal_" and name != "uniform_":
        rows = [(), *((p,) for p in (0, 1, 0.3, 0.0, 1.0, 2.5, 1e-300, -0.1, NAN, INF, True))]
    kinds = [torch.float32, torch.float64, torch.float16, torch.int64]
    u = np.random.default_rng(0).random(1000)
    if name in ("cauchy_", "log_normal_"):
        kinds.remove(torch.float64)  # C's tangents and exponentials are not those of NumPy, which the definition takes
    if name == "exponential_" and (np.log1p(-u) != [math.log1p(-x) for x in u]).any():
        kinds.remove(torch.float64)  # with AVX-512 NumPy's logarithms, which the definition takes, are not C's
    for shape, kind, args in product([(8,), (2, 9), (16,), (), (0,), (40, 7)], kinds, rows):

        def fill(shape=shape, kind=kind, args=args):
            t = torch.ones(shape, dtype=kind)
            return seen(lambda: getattr(t, name)(*args)), t._version

        assert fill() == defined(fill), (shape, kind, args)
    leaf, expanded, turned = torch.ones(2, requires_grad=True), torch.ones(1).expand(3), torch.ones(2, 3).t()
    for t in (leaf, expanded, turned, leaf * 1):

        def write(t=t):
            return seen(lambda: getattr(t.detach().clone() if t is turned else t, name)())[0][:4]

        assert write() == defined(write)


def test_truths_with_probabilities_of_their_own_are_as_defined(defined):
    p = torch.rand(6, 5)
    several = [p, p.double(), p.half(), p.t(), p[:, ::2], p * 2, -p, p[:0], p.clone().requires_grad_(),
        torch.tensor(0.3), torch.full((2,), NAN), torch.rand(70, 70)]
    calls = (
        lambda a: torch.bernoulli(a), lambda a: torch.bernoulli(a, generator=torch.Generator().manual_seed(2)),
        lambda a: a.bernoulli(), lambda a: torch.bernoulli(a, 0.4), lambda a: torch.zeros(6, 5).bernoulli_(a),
        lambda a: torch.ones(6, 5, dtype=torch.float64).bernoulli_(a),
        lambda a: torch.ones(6, 5).t().bernoulli_(a.t()), lambda a: torch.ones(6, 5, dtype=torch.int64).bernoulli_(a),
        lambda a: a.detach().clone().bernoulli_(a),
    )
    for a in several:
        for f in calls:
            call = partial(f, a)
            assert seen(call) == defined(lambda call=call: seen(call))
    x = torch.full((4, 4), 0.5)
    x.bernoulli_(x)
    assert x._version == 1 and {*x.flatten().tolist()} <= {0.0, 1.0}


def test_powers_of_a_base(defined):
    for args in ((0, 2, 9), (-1.5, 3, 10, 2), (0, 1, 2, 0.5), (3, 3, 4), (2, -2, 5, 10.0), (0, 1, 1), (0, 1, 0),
            (0, 1, -1), (0, INF, 3), (0, 400, 3), (0, 1, 3, -2.0), (1j, 2, 3), (0, 1, 3, "2"), (0, 1, 3, 0)):
        for options in OPTIONS:
            call = lambda args=args, options=options: seen(lambda: torch.logspace(*args, **options))  # noqa: E731
            (found, *rest), (want, *wanted) = call(), defined(call)
            assert rest == wanted
            if len(found) == 2 or found[5].type != "cpu":
                assert found == want
                continue
            assert found[:3] + found[4:] == want[:3] + want[4:]
            close = {"inf": INF, "nan": NAN, "nanj": NAN}
            rtol = 1e-15 if found[0] is torch.float64 else 0
            np.testing.assert_allclose(eval(found[3], close), eval(want[3], close), rtol=rtol)


def test_the_spare_normal_number_and_other_generators(defined):
    def draw():
        torch.manual_seed(3)
        g = torch.Generator().manual_seed(5)
        return [
            torch.randn(n, generator=by).tolist() for n in (1, 3, 2, 16, 1, 15, 20) for by in (None, g)
        ], torch.rand(3).tolist()

    assert draw() == defined(draw)


def test_a_stream_that_another_thread_draws_from_is_waited_for():
    torch.rand(1)
    lock = torch.default_generator._lock
    lock.acquire()
    try:
        assert everyday.drawn(everyday.UNIFORM, None, None, None, (2,), None, None, None, False) is NotImplemented
    finally:
        lock.release()
    assert everyday.drawn(everyday.UNIFORM, None, None, None, (2,), None, None, None, False).shape == (2,)
