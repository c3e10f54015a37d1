"""The random streams against PyTorch's CPU generator: same seed, same numbers, same state afterwards."""

from __future__ import annotations

import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.arrays.random import Generator, in_memory_order

torch = pytest.importorskip("torch")

from tests.parity.twins import uses_mkl  # noqa: E402  where there is a torch

pytestmark = pytest.mark.parity

BF16 = np.dtype(ml_dtypes.bfloat16)
NUMPY = {
    torch.float16: np.dtype(np.float16), torch.bfloat16: BF16,
    torch.float32: np.dtype(np.float32), torch.float64: np.dtype(np.float64),
    torch.complex64: np.dtype(np.complex64), torch.complex128: np.dtype(np.complex128),
    torch.bool: np.dtype(np.bool_), torch.uint8: np.dtype(np.uint8), torch.int8: np.dtype(np.int8),
    torch.int16: np.dtype(np.int16), torch.int32: np.dtype(np.int32), torch.int64: np.dtype(np.int64),
    torch.uint16: np.dtype(np.uint16), torch.uint32: np.dtype(np.uint32), torch.uint64: np.dtype(np.uint64),
}
FLOATS = [t for t in NUMPY if t.is_floating_point]
COMPLEX = [t for t in NUMPY if t.is_complex]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
SIZES = [0, 1, 2, 15, 16, 17, 31, 32, 100, 1000]


def array(tensor):
    """A tensor's numbers as an array of the matching NumPy type."""
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(BF16)
    return tensor.numpy()


def tensor(numbers):
    """An array's numbers as a tensor of the matching type."""
    if numbers.dtype == BF16:
        return torch.from_numpy(numbers.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(numbers)


def unset(dtype, n):
    return torch.empty(n, dtype=dtype)


def rates(dtype, n, greatest):
    return (np.arange(n) % 97 * (greatest / 96)).astype(NUMPY[dtype])


EXACT, CLOSE, MKL_ON_INTEL = {}, {}, {}
for T in FLOATS + COMPLEX:
    N = NUMPY[T]
    EXACT[f"rand {N}"] = (lambda n, T=T: torch.rand(n, dtype=T), lambda g, n, N=N: g.uniform((n,), N))
    CLOSE[f"randn {N}"] = (lambda n, T=T: torch.randn(n, dtype=T), lambda g, n, N=N: g.normal((n,), N))
    CLOSE[f"normal {N}"] = (
        lambda n, T=T: unset(T, n).normal_(0.1, 0.7),
        lambda g, n, N=N: g.normal((n,), N, 0.1, 0.7),
    )
    for low, high in ((-0.3, 0.7), (0.0, 0.1), (2.0, 7.7), (1e-3, 1e3), (1.0, 1.0)):
        EXACT[f"uniform {N} {low} {high}"] = (
            lambda n, T=T, low=low, high=high: unset(T, n).uniform_(low, high),
            lambda g, n, N=N, low=low, high=high: g.uniform((n,), N, low, high),
        )
for T in FLOATS:
    N = NUMPY[T]
    CLOSE[f"log_normal {N}"] = (
        lambda n, T=T: unset(T, n).log_normal_(0.1, 0.7),
        lambda g, n, N=N: g.log_normal((n,), N, 0.1, 0.7),
    )
    CLOSE[f"cauchy {N}"] = (
        lambda n, T=T: unset(T, n).cauchy_(0.1, 0.7),
        lambda g, n, N=N: g.cauchy((n,), N, 0.1, 0.7),
    )
    MKL_ON_INTEL[f"exponential {N}"] = (
        lambda n, T=T: unset(T, n).exponential_(1.7),
        lambda g, n, N=N: g.exponential((n,), N, 1.7),
    )
    EXACT[f"bernoulli_array {N}"] = (
        lambda n, T=T: torch.bernoulli(tensor(rates(T, n, 1.0))),
        lambda g, n, T=T: g.bernoulli_array(rates(T, n, 1.0)),
    )
    for greatest in (9.0, 300.0):
        EXACT[f"poisson {N} {greatest}"] = (
            lambda n, T=T, greatest=greatest: torch.poisson(tensor(rates(T, n, greatest))),
            lambda g, n, T=T, greatest=greatest: g.poisson(rates(T, n, greatest)),
        )
for T in (torch.float32, torch.float64):
    N = NUMPY[T]
    for greatest in (1.0, 30.0):
        CLOSE[f"gamma {N} {greatest}"] = (
            lambda n, T=T, greatest=greatest: torch._standard_gamma(tensor(rates(T, n, greatest))),
            lambda g, n, T=T, greatest=greatest: g.standard_gamma(rates(T, n, greatest)),
        )
    CLOSE[f"dirichlet {N}"] = (
        lambda n, T=T: torch._sample_dirichlet(tensor(rates(T, n, 5.0) + 1)),
        lambda g, n, T=T: g.dirichlet(rates(T, n, 5.0) + 1),
    )
    EXACT[f"binomial {N}"] = (
        lambda n, T=T: torch.binomial(tensor(np.floor(rates(T, n, 200.0))), tensor(rates(T, n, 1.0)[::-1].copy())),
        lambda g, n, T=T: g.binomial(np.floor(rates(T, n, 200.0)), rates(T, n, 1.0)[::-1]),
    )
for T in FLOATS + INTEGERS:
    N = NUMPY[T]
    EXACT[f"geometric {N}"] = (
        lambda n, T=T: unset(T, n).geometric_(0.2),
        lambda g, n, N=N: g.geometric((n,), 0.2, N),
    )
    if T not in (torch.uint8, torch.int8):
        EXACT[f"randperm {N}"] = (lambda n, T=T: torch.randperm(n, dtype=T), lambda g, n, N=N: g.randperm(n, N))
for T in [*FLOATS, *INTEGERS, torch.bool]:
    N = NUMPY[T]
    MKL_ON_INTEL[f"bernoulli {N}"] = (
        lambda n, T=T: unset(T, n).bernoulli_(0.3),
        lambda g, n, N=N: g.bernoulli((n,), 0.3, N),
    )
    EXACT[f"random {N}"] = (lambda n, T=T: unset(T, n).random_(), lambda g, n, N=N: g.random((n,), N))
for high in (1, 2, 7, 1000, 2**28 - 6, 2**28 - 5, 2**33 + 1, 2**62 + 3):
    EXACT[f"randint {high}"] = (
        lambda n, high=high: torch.randint(-5, high, (n,)),
        lambda g, n, high=high: g.randint(-5, high, (n,)),
    )
MKL_ON_INTEL["dropout"] = (
    lambda n: torch.nn.functional.dropout(torch.ones(n), 0.3) != 0,
    lambda g, n: g.dropout_mask((n,), 1 - 0.3),
)
ALL = {**EXACT, **CLOSE, **MKL_ON_INTEL}
NAMES = sorted(ALL)


def check(name, n, generator):
    """Draw the same on both sides, which were seeded alike."""
    theirs, ours = ALL[name]
    want, got = array(theirs(n)), ours(generator, n)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if name in EXACT or name.startswith(("bernoulli", "dropout")):
        np.testing.assert_array_equal(got, want)
    else:
        bound = {np.dtype("f2"): 2e-3, BF16: 1e-2, np.dtype("f4"): 3e-6, np.dtype("c8"): 3e-6}.get(want.dtype, 1e-12)
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(got.astype(wide), want.astype(wide), rtol=bound, atol=bound)
    np.testing.assert_array_equal(generator.get_state(), torch.get_rng_state().numpy())


def seeded(seed):
    torch.manual_seed(seed)
    return Generator().manual_seed(seed)


def skip_on_intel(*names):
    if any(name in MKL_ON_INTEL for name in names) and uses_mkl():
        pytest.skip("PyTorch asks MKL for these numbers on this processor")


@pytest.mark.parametrize("name", NAMES)
def test_draws(name):
    skip_on_intel(name)
    for n in SIZES:
        check(name, n, seeded(n))


@pytest.mark.parametrize("name", ["rand float32", "randn float32", "randn float16", "randn float64", "randint 7",
                                  "randperm int64", "log_normal float32", "uniform float64 2.0 7.7"])
def test_large_draws(name):
    """Larger than the pieces that arrays are filled in."""
    generator = seeded(5)
    for n in (40_000, 70_001):
        check(name, n, generator)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(-(2**63), 2**64 - 1),
    program=st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 70)), min_size=1, max_size=8),
)
def test_programs_of_mixed_draws(seed, program):
    skip = uses_mkl()
    generator = seeded(seed)
    for name, n in program:
        if not (skip and name in MKL_ON_INTEL):
            check(name, n, generator)
    assert generator.initial_seed() == torch.initial_seed()


BOUND = st.floats(-60000, 60000).filter(lambda x: x == 0.0 or abs(x) > 1e-30)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(FLOATS), BOUND, BOUND, st.integers(0, 2**64 - 1))
def test_uniform_bounds(dtype, a, b, seed):
    low, high = min(a, b), max(a, b)
    if dtype == torch.float16 and high - low > 65504:
        return
    generator = seeded(seed)
    want = array(unset(dtype, 200).uniform_(low, high))
    np.testing.assert_array_equal(generator.uniform((200,), NUMPY[dtype], low, high), want)


WIDE = st.integers(-(2**63), 2**63 - 1)
NEAR = st.integers(0, 62).flatmap(lambda k: st.integers(-3, 3).map(lambda d: d + 2**k))
ENDS = st.one_of(WIDE, NEAR, NEAR.map(lambda x: -x), st.integers(-300, 300))


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from([t for t in NUMPY if t not in COMPLEX]),
    ENDS,
    st.one_of(st.none(), ENDS),
)
def test_random_between(dtype, low, high):
    """Numbers, errors and warnings of ``random_(low, high)``."""
    generator = seeded(11)

    def attempt(draw):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                result = draw()
            except (RuntimeError, NotImplementedError) as error:
                return type(error), str(error).splitlines()[0]
        return result, [str(w.message).split(" (Triggered")[0] for w in seen]

    want, warned = attempt(lambda: array(unset(dtype, 9).random_(low, high)))
    got, ours = attempt(lambda: generator.random((9,), NUMPY[dtype], low, high))
    assert ours == warned
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(generator.get_state(), torch.get_rng_state().numpy())


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(FLOATS),
    st.integers(1, 40),
    st.one_of(st.none(), st.integers(1, 6)),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_multinomial(dtype, categories, rows, transposed, seed):
    if uses_mkl():
        pytest.skip("PyTorch asks MKL for exponential numbers on this processor")
    shape = (categories,) if rows is None else (categories, rows) if transposed else (rows, categories)
    weights = np.random.default_rng(seed).random(shape).astype(NUMPY[dtype]) + NUMPY[dtype].type(0.01)
    given = tensor(weights)
    if transposed and rows is not None:
        weights, given = weights.T, given.t()
    generator = seeded(seed)
    want = torch.multinomial(given, 50, True).numpy()
    got = generator.multinomial(weights, 50, True)
    np.testing.assert_array_equal(got, want)
    for count in {1, categories}:
        want = torch.multinomial(given, count).numpy()
        got = generator.multinomial(weights, count)
        assert got.dtype == np.int64
        if dtype in (torch.float16, torch.bfloat16) and count > 1:  # equal scores may come in either order
            np.testing.assert_array_equal(np.sort(got), np.sort(want))
        else:
            np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(generator.get_state(), torch.get_rng_state().numpy())


@pytest.mark.parametrize(
    "weights, count, replacement",
    [
        ([0.0, 0.0], 1, False), ([0.0, 0.0], 2, True), ([[0.0, 0.0], [1.0, 1.0]], 1, False),
        ([-1.0, 2.0], 1, False), ([-1.0, 2.0], 2, True), ([np.inf, 2.0], 2, True), ([np.nan, 2.0], 2, True),
        ([np.nan, 2.0], 1, False), ([1.0], 0, True), ([1.0], -1, False), ([1.0], 2, False),
        (1.0, 1, True), ([], 1, False),
    ],
)
def test_multinomial_refuses(weights, count, replacement):
    weights = np.array(weights)
    with pytest.raises(RuntimeError) as theirs:
        torch.multinomial(tensor(weights), count, replacement)
    with pytest.raises(RuntimeError) as ours:
        Generator().multinomial(weights, count, replacement)
    assert str(ours.value) == str(theirs.value).splitlines()[0]


REFUSED = [
    (lambda t: t.uniform_(2, 1), lambda g, d: g.uniform((0,), d, 2, 1)),
    (lambda t: t.uniform_(-1e39, 1e39), lambda g, d: g.uniform((0,), d, -1e39, 1e39)),
    (lambda t: t.uniform_(0, float("inf")), lambda g, d: g.uniform((0,), d, 0, float("inf"))),
    (lambda t: t.uniform_(float("nan"), 1), lambda g, d: g.uniform((0,), d, float("nan"), 1)),
    (lambda t: t.normal_(0, -1), lambda g, d: g.normal((0,), d, 0, -1)),
    (lambda t: t.normal_(0, float("nan")), lambda g, d: g.normal((0,), d, 0, float("nan"))),
    (lambda t: t.log_normal_(0, 0), lambda g, d: g.log_normal((0,), d, 0, 0)),
    (lambda t: t.exponential_(0), lambda g, d: g.exponential((0,), d, 0)),
    (lambda t: t.exponential_(1), lambda g, d: g.exponential((0,), d, 1)),
    (lambda t: t.cauchy_(0, 0), lambda g, d: g.cauchy((0,), d, 0, 0)),
    (lambda t: t.cauchy_(0, 1), lambda g, d: g.cauchy((0,), d, 0, 1)),
    (lambda t: t.geometric_(1), lambda g, d: g.geometric((0,), 1, d)),
    (lambda t: t.bernoulli_(1.5), lambda g, d: g.bernoulli((0,), 1.5, d)),
    (lambda t: t.random_(5, 5), lambda g, d: g.random((0,), d, 5, 5)),
    (lambda t: torch.randperm(-1, dtype=t.dtype), lambda g, d: g.randperm(-1, d)),
    (lambda t: torch.randperm(300, dtype=t.dtype), lambda g, d: g.randperm(300, d)),
    (lambda t: torch.randperm(2050, dtype=t.dtype), lambda g, d: g.randperm(2050, d)),
    (lambda t: torch.poisson(torch.full((1,), -1.0).to(t.dtype)), lambda g, d: g.poisson(np.full(1, -1).astype(d))),
]


@pytest.mark.parametrize("dtype", [t for t in NUMPY if t not in COMPLEX], ids=str)
def test_the_same_is_refused(dtype):
    refusals = 0
    for theirs, ours in REFUSED:
        value = torch.zeros(1, dtype=dtype)
        try:
            theirs(value)
        except RuntimeError as error:  # NotImplementedError too
            with pytest.raises(type(error)) as raised:
                ours(Generator(), NUMPY[dtype])
            assert str(raised.value) == str(error).splitlines()[0]
            refusals += 1
        except (IndexError, TypeError):
            pass
    assert refusals > 5


def test_states_travel_both_ways():
    generator = seeded(77)
    check("randn float32", 5, generator)  # leaves a spare normal in the state
    torch.rand(400)
    generator.set_state(torch.get_rng_state().numpy())
    check("randn float64", 3, generator)
    generator.uniform((1000,), np.float32)
    torch.set_rng_state(torch.from_numpy(generator.get_state()))
    check("randn float64", 4, generator)
    fresh = Generator().manual_seed(-3)
    torch.manual_seed(-3)
    np.testing.assert_array_equal(fresh.get_state(), torch.get_rng_state().numpy())
    assert Generator().set_state(fresh.get_state()).get_state().tobytes() == fresh.get_state().tobytes()


@pytest.mark.parametrize("size", [10, 5048, 5056])
def test_the_same_states_are_refused(size):
    with pytest.raises(RuntimeError) as theirs:
        torch.Generator().set_state(torch.zeros(size, dtype=torch.uint8))
    with pytest.raises(RuntimeError) as ours:
        Generator().set_state(np.zeros(size, np.uint8))
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("seed", [-(2**63) - 1, 2**64, 1.5, True, "3", None])
def test_the_same_seeds_are_refused(seed):
    with pytest.raises((RuntimeError, ValueError)) as theirs:
        torch.Generator().manual_seed(seed)
    with pytest.raises(theirs.type) as ours:
        Generator().manual_seed(seed)
    assert str(ours.value) == str(theirs.value)


def test_first_seeds():
    assert Generator().initial_seed() == torch.Generator().initial_seed()
    ours, theirs = Generator(), torch.Generator()
    np.testing.assert_array_equal(ours.uniform((3,), np.float32), torch.rand(3, generator=theirs).numpy())


@pytest.mark.parametrize("shape, axes", [((4, 6), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (0, 2, 1)),
                                         ((2, 1, 4), (2, 1, 0)), ((3, 1, 5), (1, 0, 2))])
def test_other_memory_orders(shape, axes):
    model = np.empty(shape, np.float32).transpose(axes)

    def view():
        return torch.empty(shape).permute(axes)

    fills = [
        (lambda: view().uniform_(0.1, 0.3), lambda g, s: g.uniform(s, np.float32, 0.1, 0.3), True),
        (lambda: view().random_(99), lambda g, s: g.random(s, np.float32, 0, 99), True),
        (
            lambda: view().normal_(),
            lambda g, s: g.normal(s, np.float32, contiguous=view().is_contiguous()),
            False,
        ),
    ]
    for theirs, ours, exact in fills:
        generator = seeded(4)
        want = theirs().numpy()
        got = in_memory_order(lambda s, ours=ours, generator=generator: ours(generator, s), model.shape, model.strides)
        np.testing.assert_allclose(got, want, rtol=0 if exact else 1e-6)
    p = np.full(model.shape, 0.5, np.float32)
    generator = seeded(4)
    want = view().bernoulli_(torch.from_numpy(p)).numpy()
    np.testing.assert_array_equal(generator.bernoulli_array(p, strides=model.strides), want)
    if not uses_mkl():
        generator = seeded(4)
        want = torch.nn.functional.dropout(view().fill_(1), 0.5).numpy() != 0
        np.testing.assert_array_equal(generator.dropout_mask(model.shape, 0.5, model.strides), want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_rrelu_slopes(dtype):
    x = np.random.default_rng(0).standard_normal(500).astype(NUMPY[dtype])
    generator = seeded(9)
    noise = torch.empty(500, dtype=dtype)
    torch._C._nn.rrelu_with_noise(tensor(x), noise, 0.1, 0.3, True)
    np.testing.assert_array_equal(generator.rrelu_slopes(x, 0.1, 0.3), array(noise))
