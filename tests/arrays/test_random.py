"""The random streams by themselves: golden values of PyTorch 2.13, states, threads, and the pieces they are made of."""

from __future__ import annotations

import threading
import zlib
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import wengert as torch
from wengert.arrays.plain import draws, roundings
from wengert.arrays.random import Generator, in_memory_order, integers, rejection
from wengert.arrays.random import generator as generator_module
from wengert.arrays.random.stream import NATIVE_CHOICES, NATIVE_GAMMAS, NATIVE_POISSONS, Doubles, Stream

BF16 = np.dtype(ml_dtypes.bfloat16)
WEIGHTS = (np.arange(40) % 7 + 1).astype(np.float32)

# Each case is drawn with the seed of its size, and once more without seeding, so that what a draw leaves behind counts.
SEEDS = {0: 0, 1: 1, 15: 42, 16: 2**31 - 1, 17: -1, 31: 2**63, 100: 123456789, 1000: 67280421310721}
DRAWS = {
    "rand float32": lambda g, n: g.uniform((n,), np.float32),
    "rand float64": lambda g, n: g.uniform((n,), np.float64),
    "rand float16": lambda g, n: g.uniform((n,), np.float16),
    "rand bfloat16": lambda g, n: g.uniform((n,), BF16),
    "rand complex64": lambda g, n: g.uniform((n,), np.complex64),
    "uniform float32 -0.3 0.7": lambda g, n: g.uniform((n,), np.float32, -0.3, 0.7),
    "uniform float32 2.0 7.7": lambda g, n: g.uniform((n,), np.float32, 2.0, 7.7),
    "uniform float64 2.0 7.7": lambda g, n: g.uniform((n,), np.float64, 2.0, 7.7),
    "uniform float16 0.0 0.1": lambda g, n: g.uniform((n,), np.float16, 0.0, 0.1),
    "random int64": lambda g, n: g.random((n,), np.int64),
    "random uint8": lambda g, n: g.random((n,), np.uint8),
    "random float32": lambda g, n: g.random((n,), np.float32),
    "random float64": lambda g, n: g.random((n,), np.float64),
    "randint 7": lambda g, n: g.randint(-5, 7, (n,)),
    "randint 268435450": lambda g, n: g.randint(-5, 268435450, (n,)),
    "randint 268435451": lambda g, n: g.randint(-5, 268435451, (n,)),
    "randint 8589934593": lambda g, n: g.randint(-5, 8589934593, (n,)),
    "randperm int64": lambda g, n: g.randperm(n),
    "bernoulli float32": lambda g, n: g.bernoulli((n,), 0.3),
    "bernoulli bool": lambda g, n: g.bernoulli((n,), 0.3, np.bool_),
    "bernoulli_array float32": lambda g, n: g.bernoulli_array((np.arange(n) % 97 * (1.0 / 96)).astype(np.float32)),
    "bernoulli_array float64": lambda g, n: g.bernoulli_array(np.arange(n) % 97 * (1.0 / 96)),
    "dropout": lambda g, n: g.dropout_mask((n,), 1 - 0.3),
    "geometric int64": lambda g, n: g.geometric((n,), 0.2, np.int64),
    "poisson float32 9.0": lambda g, n: g.poisson((np.arange(n) % 97 * (9.0 / 96)).astype(np.float32)),
    "poisson float64 300.0": lambda g, n: g.poisson(np.arange(n) % 97 * (300.0 / 96)),
    "multinomial": lambda g, n: g.multinomial(WEIGHTS, n, True) if n else np.zeros(0, np.int64),
    "multinomial apart": lambda g, n: g.multinomial(WEIGHTS, n) if 0 < n <= 40 else np.zeros(0, np.int64),
}
"""Equal to the bit. The golden numbers are CRC-32s of the two arrays' bytes, one after the other."""

ROUNDED = {
    "randn float32": lambda g, n: g.normal((n,), np.float32),
    "randn float64": lambda g, n: g.normal((n,), np.float64),
    "randn float16": lambda g, n: g.normal((n,), np.float16),
    "randn bfloat16": lambda g, n: g.normal((n,), BF16),
    "randn complex64": lambda g, n: g.normal((n,), np.complex64).view(np.float32),
    "normal float32": lambda g, n: g.normal((n,), np.float32, 0.1, 0.7),
    "log_normal float32": lambda g, n: g.log_normal((n,), np.float32, 0.1, 0.7),
    "cauchy float64": lambda g, n: g.cauchy((n,), np.float64, 0.1, 0.7),
    "exponential float32": lambda g, n: g.exponential((n,), np.float32, 1.7),
    "gamma float64 30.0": lambda g, n: g.standard_gamma(np.arange(n) % 97 * (30.0 / 96)),
    "gamma float32 1.0": lambda g, n: g.standard_gamma((np.arange(n) % 97 * (1.0 / 96)).astype(np.float32)),
}
"""Equal to rounding. Golden are, of the second array, the first, middle and last; and the CRC-32 of the position."""

POSITION = 5016
"""The bytes of a state up to the normal kept for later, whose last bit may differ."""

MIXED = [
    ("randn float32", 3), ("rand float32", 5), ("randn float32", 2), ("randn float64", 1), ("randn float32", 17),
    ("bernoulli float32", 4), ("log_normal float32", 3), ("normal float32", 31), ("gamma float64 30.0", 4),
    ("randn float16", 1), ("randperm int64", 9), ("randn float64", 15), ("poisson float32 9.0", 3),
    ("randn float64", 1),
]
"""Draws in a row: small normals keep a spare one, which everything else leaves alone."""

GOLDEN = {
    "rand float32": (
        0, 3698806354, 2585190238, 799352829,
        1118717398, 3407385133, 583184352, 3659068420,
    ),
    "rand float64": (
        0, 158000798, 3302854979, 3947903350,
        73923227, 3842100369, 3833353140, 3693704073,
    ),
    "rand float16": (
        0, 2666786702, 2841857632, 4196752077,
        2641685066, 1790833790, 738101410, 2693823893,
    ),
    "rand bfloat16": (
        0, 1108636712, 1695298697, 4126722949,
        4271106854, 3869008132, 1188310054, 907549754,
    ),
    "rand complex64": (
        0, 4078792584, 3002115590, 2216625182,
        1696659755, 3345737572, 3140719668, 4122017745,
    ),
    "uniform float32 -0.3 0.7": (
        0, 1975716071, 3346394048, 1359635573,
        3080941935, 2454251271, 413136815, 4136133946,
    ),
    "uniform float32 2.0 7.7": (
        0, 4159219685, 3361780671, 3429907687,
        1941027592, 4073102717, 1844663742, 844097352,
    ),
    "uniform float64 2.0 7.7": (
        0, 2847808598, 3574441746, 243492573,
        849552879, 4129760016, 1040719664, 1623019152,
    ),
    "uniform float16 0.0 0.1": (
        0, 765173956, 2577145858, 1535824023,
        3829881608, 2743543907, 3453620267, 1937379525,
    ),
    "random int64": (
        0, 1717334401, 953606416, 683385412,
        302452405, 4231353560, 3237086358, 3266210407,
    ),
    "random uint8": (
        0, 2666723816, 4279392492, 2106813094,
        1179461238, 3749359785, 2038572056, 3412164339,
    ),
    "random float32": (
        0, 1048460701, 2322359556, 3915696426,
        336011351, 79937810, 1939732206, 2352712,
    ),
    "random float64": (
        0, 2300065490, 2455606913, 2986060755,
        2725779540, 3207142571, 3550654154, 3529321247,
    ),
    "randint 7": (
        0, 2490530586, 1181546926, 798781578,
        4252151724, 835535983, 1775781695, 976427585,
    ),
    "randint 268435450": (
        0, 2696467490, 3199155193, 2521233917,
        3228242340, 1939482952, 829896541, 1186528085,
    ),
    "randint 268435451": (
        0, 1907239617, 1545283799, 1908127812,
        1684822070, 946208770, 1463436147, 3194100219,
    ),
    "randint 8589934593": (
        0, 1201908110, 2041113776, 1892371811,
        4053599712, 1943099939, 2593702505, 10191687,
    ),
    "randperm int64": (
        0, 3971697493, 2535544192, 3419849726,
        1162214449, 791857110, 2609481291, 2995030409,
    ),
    "bernoulli float32": (
        0, 3573961104, 4157725186, 3223974630,
        642423659, 1654285342, 994170276, 3214863712,
    ),
    "bernoulli bool": (
        0, 801444648, 920659296, 4161742065,
        1553778371, 757022983, 2178635303, 3963384273,
    ),
    "bernoulli_array float32": (
        0, 1696784233, 3032010577, 2949920845,
        500707173, 398452868, 3951689, 2216685429,
    ),
    "bernoulli_array float64": (
        0, 3971697493, 2596431566, 227968344,
        3578471244, 1383415445, 389162965, 2217747581,
    ),
    "dropout": (
        0, 801444648, 2475316510, 1447239900,
        3523335968, 2381491276, 4104994943, 2993885225,
    ),
    "geometric int64": (
        0, 4013162517, 317475444, 2301200512,
        922729806, 674278199, 1308393599, 2648592204,
    ),
    "poisson float32 9.0": (
        0, 1696784233, 548134094, 2125014149,
        3412778240, 2790307459, 2010363318, 1856880815,
    ),
    "poisson float64 300.0": (
        0, 3971697493, 869653205, 2171464972,
        2457942786, 1095068159, 659667834, 3295633229,
    ),
    "multinomial": (
        0, 1691787403, 3707730430, 1675042840,
        1458663667, 4257667828, 1715229320, 3662974263,
    ),
    "multinomial apart": (
        0, 1691787403, 2197571215, 4259599769,
        2410381606, 1081463609, 0, 0,
    ),
}
GOLDEN_ROUNDED = {
    "randn float32": [
        (0.26692411, 0.26692411, 0.26692411, 3779976981),
        (0.95797181, -0.32775864, 0.52633697, 2841967189),
        (1.5617843, -0.070729837, 0.7276178, 1900997233),
        (1.7220553, 0.5040977, 0.22806808, 800033572),
        (0.48886982, -1.0924683, -0.95650083, 3327408866),
        (-0.08053498, -0.0041341418, -0.72599441, 3193174734),
        (0.99487114, -1.0016867, 0.85148287, 2069130764),
    ],
    "randn float64": [
        (0.266924098292519, 0.266924098292519, 0.266924098292519, 3779976981),
        (0.957971793959975, -0.327758651483432, 0.526336939395767, 2841967189),
        (-2.60423819082729, -1.19400206510475, 0.947625684432341, 133735029),
        (-0.580947664740705, 0.230900993986495, -2.00083260249654, 4277796476),
        (-0.187202193297589, -0.891345605994444, 0.286344063317678, 2358705597),
        (0.349857599021469, 0.269048870385864, -1.49039213981844, 772769051),
        (-0.593359808903702, 0.316950809407092, -0.315342602380108, 3403666663),
    ],
    "randn float16": [
        (0.2668457, 0.2668457, 0.2668457, 3779976981),
        (0.95800781, -0.32763672, 0.52636719, 2841967189),
        (1.5615234, -0.070739746, 0.72753906, 1900997233),
        (-0.021270752, -0.17077637, -0.11889648, 2181303243),
        (-0.61376953, -0.67285156, -0.55175781, 126760702),
        (0.058776855, 1.3837891, 0.67871094, 342137479),
        (-0.13696289, -1.1865234, 0.48168945, 1074743822),
    ],
    "randn bfloat16": [
        (0.26757812, 0.26757812, 0.26757812, 3779976981),
        (0.95703125, -0.328125, 0.52734375, 2841967189),
        (1.5625, -0.070800781, 0.7265625, 1900997233),
        (-0.021240234, -0.17089844, -0.11865234, 2181303243),
        (-0.61328125, -0.671875, -0.55078125, 126760702),
        (0.058837891, 1.3828125, 0.6796875, 342137479),
        (-0.13671875, -1.1875, 0.48242188, 1074743822),
    ],
    "randn complex64": [
        (0.043612409, 0.4393377, 0.4393377, 3831144401),
        (-0.77016324, -0.8090263, 0.42702094, 2178874485),
        (0.036143012, 0.038191501, -1.0866263, 133735029),
        (-1.0725067, -0.5755409, -0.73205811, 3060199045),
        (-0.77249169, -0.61190993, 0.092402905, 1238922842),
        (0.47939351, 0.60695988, 0.67155945, 1488571679),
        (0.22032094, 0.20126119, -0.21884087, 657152288),
    ],
    "normal float32": [
        (0.28684688, 0.28684688, 0.28684688, 3779976981),
        (0.77058023, -0.12943105, 0.46843585, 2841967189),
        (1.193249, 0.050489116, 0.60933244, 1900997233),
        (1.3054388, 0.45286837, 0.25964767, 800033572),
        (0.44220886, -0.66472775, -0.56955057, 3327408866),
        (0.043625515, 0.097106099, -0.40819606, 3193174734),
        (0.79640979, -0.60118067, 0.69603801, 2069130764),
    ],
    "log_normal float32": [
        (1.3322202, 1.3322202, 1.3322202, 3779976981),
        (2.1610198, 0.87859517, 1.5974935, 2841967189),
        (2.6350703, 0.3837994, 1.6615247, 133735029),
        (1.7980639, 2.1021805, 1.1547637, 757345094),
        (0.44097576, 1.2618722, 1.0066125, 3722637821),
        (0.98268491, 0.44152203, 2.9347405, 3288008924),
        (0.9672209, 0.70106399, 0.45520014, 657152288),
    ],
    "cauchy float64": [
        (-0.72192124912054, -0.72192124912054, -0.72192124912054, 3779976981),
        (0.358085218426438, -0.368556743268366, -1.5115795060884, 2841967189),
        (13.5845785727216, 0.252821194767377, -1.0079772801742, 133735029),
        (-0.456966387049238, 2.76999959224406, -0.416302641678829, 757345094),
        (0.404459554489992, 1.63087789727446, -4.47913899234603, 3722637821),
        (-0.415206161307667, -0.218365036147268, 0.491959331524447, 3288008924),
        (0.362875189357969, 0.486617896791695, 0.904110039877424, 657152288),
    ],
    "exponential float32": [
        (0.14959858, 0.14959858, 0.14959858, 3779976981),
        (0.55757397, 0.22018437, 0.082212038, 2841967189),
        (2.4140286, 0.49429366, 0.11627355, 133735029),
        (0.19821474, 1.4739645, 0.20789051, 757345094),
        (0.5857935, 1.1713715, 0.029111767, 3722637821),
        (0.20816126, 0.2663312, 0.63889927, 3288008924),
        (0.56048501, 0.63567495, 0.86964595, 657152288),
    ],
    "gamma float64 30.0": [
        (2.2250738585072e-308, 2.2250738585072e-308, 2.2250738585072e-308, 3974214088),
        (2.2250738585072e-308, 1.42671867162142, 3.96337703372435, 1646476350),
        (2.2250738585072e-308, 1.49211329332562, 1.47933564832679, 3292169312),
        (2.2250738585072e-308, 1.31656222475457, 10.394767829903, 1936562381),
        (2.2250738585072e-308, 3.99218135021727, 11.5526140719177, 3715820594),
        (2.2250738585072e-308, 16.8611006130214, 0.678736995485778, 1141806513),
        (2.2250738585072e-308, 5.75261703689444, 11.6186657393105, 1003484287),
    ],
    "gamma float32 1.0": [
        (1.1754944e-38, 1.1754944e-38, 1.1754944e-38, 3974214088),
        (1.1754944e-38, 3.5655927e-07, 0.1268042, 721015144),
        (1.1754944e-38, 0.0013531388, 3.2782474e-10, 827595510),
        (1.1754944e-38, 0.0078197047, 3.9708564, 4075330041),
        (1.1754944e-38, 0.1778971, 1.1307476, 2685686401),
        (1.1754944e-38, 0.048328351, 6.6636158e-10, 1649805635),
        (1.1754944e-38, 0.049081117, 7.7754608e-05, 3661645378),
    ],
}
GOLDEN_MIXED = [
    -0.81403875, 0.17347544, -0.49390182, -0.57282856, -0.92246383, 0, 2.2012339,
    -0.046299968, 0.76681217, -0.0079116821, 3, -0.15791182, 1, 0.5310698,
]


@pytest.mark.parametrize("name", DRAWS)
def test_golden_bits(name):
    got = []
    for n, seed in SEEDS.items():
        g = Generator().manual_seed(seed)
        first, second = DRAWS[name](g, n), DRAWS[name](g, n)
        got.append(zlib.crc32(first.tobytes() + second.tobytes()))
    assert tuple(got) == GOLDEN[name]


@pytest.mark.skipif(NATIVE_GAMMAS is None, reason="the extension was not built")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shapes", [[], [0.0], [np.nan], [0.0, 0.3, 1.0, 30.0, np.nan] * 41], ids=str)
def test_native_gammas_are_those_of_python(shapes, dtype):
    one, two = Generator().manual_seed(3), Generator().manual_seed(3)
    for _ in range(2):
        got, want = one.standard_gamma(np.array(shapes, dtype)), two._one_by_one("gamma", np.array(shapes, dtype))
        want = np.maximum(want, np.finfo(dtype).tiny)
        np.testing.assert_allclose(got, want, rtol=1e-6 if dtype == np.float32 else 1e-14)
        np.testing.assert_array_equal(one.get_state(), two.get_state())


@pytest.mark.skipif(NATIVE_POISSONS is None, reason="the extension was not built")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rates", [[], [0.0], [np.inf], [0.0, 0.3, 4.0, 9.99, 10.0, 37.5, 1e4, np.inf] * 41], ids=str)
def test_native_poissons_are_those_of_python(rates, dtype):
    one, two = Generator().manual_seed(3), Generator().manual_seed(3)
    for _ in range(2):
        np.testing.assert_array_equal(one.poisson(np.array(rates, dtype)),
            two._one_by_one("poisson", np.array(rates, dtype)))
        np.testing.assert_array_equal(one.get_state(), two.get_state())


@pytest.mark.skipif(NATIVE_CHOICES is None, reason="the extension was not built")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("size", [(1,), (9,), (1, 1), (7, 5), (3, 1000)], ids=str)
def test_native_choices_are_those_of_python(size, dtype, monkeypatch):
    weights = np.random.default_rng(0).random(size).astype(dtype)
    weights[..., ::3] = 0 if size[-1] > 1 else 1
    one, two = Generator().manual_seed(3), Generator().manual_seed(3)
    found = [one.multinomial(weights, 40, True), one.multinomial(weights.T.copy().T, 2, True)]
    state = one.get_state()
    for bad in ([0.0, 0.0], [1.0, -1.0], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(RuntimeError, match="invalid multinomial distribution"):
            one.multinomial(np.array(bad, dtype), 4, True)
    np.testing.assert_array_equal(one.get_state(), state)
    monkeypatch.setattr(generator_module, "NATIVE_CHOICES", None)
    for got in found:
        np.testing.assert_array_equal(got, two.multinomial(weights, got.shape[-1], True))
    np.testing.assert_array_equal(state, two.get_state())


@pytest.mark.parametrize("name", ROUNDED)
def test_golden_values(name):
    for (n, seed), (*values, state) in zip(list(SEEDS.items())[1:], GOLDEN_ROUNDED[name]):
        g = Generator().manual_seed(seed)
        ROUNDED[name](g, n)
        second = ROUNDED[name](g, n)
        rtol = 5e-3 if second.dtype.itemsize == 2 else 1e-5 if second.dtype.itemsize == 4 else 1e-12
        picked = second[[0, len(second) // 2, -1]].astype(np.float64)
        np.testing.assert_allclose(picked, values, rtol=rtol, atol=rtol / 10)
        assert zlib.crc32(g.get_state()[:POSITION].tobytes()) == state


def test_first_values():
    g = Generator().manual_seed(0)
    np.testing.assert_array_equal(g.uniform((2,), np.float32), np.float32([0.49625658988952637, 0.7682217955589294]))
    assert Generator().initial_seed() == 67280421310721


def test_mixed_draws():
    g = Generator().manual_seed(2024)
    last = [float({**DRAWS, **ROUNDED}[name](g, n)[-1]) for name, n in MIXED]
    np.testing.assert_allclose(last, GOLDEN_MIXED, rtol=1e-5)


# ---- shapes and layouts


def test_shapes_and_types():
    g = Generator()
    results = [
        g.uniform((), np.float32), g.uniform((), np.complex64), g.normal((), np.float64), g.normal((), np.complex128),
        g.random((), np.int64), g.randint(0, 5, ()), g.bernoulli((), 0.5), g.bernoulli_array(np.array(0.5)),
        g.dropout_mask((), 0.5), g.dropout_mask((), 1.0), g.exponential((), np.float16), g.cauchy((), BF16),
        g.log_normal((), np.float32), g.geometric((), 0.5, np.int8), g.poisson(np.array(3.0)),
        g.standard_gamma(np.array(3.0)), g.binomial(np.array(3.0), np.array(0.5)),
        g.rrelu_slopes(np.array(-1.0), 0.1, 0.3),
    ]
    assert all(type(result) is np.ndarray and result.shape == () for result in results)
    assert g.multinomial(np.ones(4), 1).shape == (1,)
    assert g.multinomial(np.ones((3, 4)), 2).shape == (3, 2)
    assert g.uniform((2, 3), "f4").flags.c_contiguous
    assert g.randperm(5, np.int16).dtype == np.int16


def test_weights_whose_sum_overflows():
    g = Generator(1)
    weights = np.array([[3e38, 3e38, 1.0, 3e38], [1.0, 0.0, 0.0, 0.0]], np.float32)
    assert g.multinomial(weights, 5, True).tolist() == [[1] * 5, [0] * 5]  # as in PyTorch


def test_shape_does_not_matter():
    for draw in (Generator.uniform, Generator.normal):
        flat = draw(Generator().manual_seed(5), (60,), np.float32)
        np.testing.assert_array_equal(draw(Generator().manual_seed(5), (3, 4, 5), np.float32).ravel(), flat)


def test_empty_shapes_draw_nothing():
    g = Generator().manual_seed(1)
    g.normal((3,), np.float32)  # a spare one waits
    before = g.get_state()
    g.uniform((0,), np.float32)
    g.normal((2, 0), np.float32)
    g.random((0, 3), np.int64)
    g.bernoulli((0,), 0.5)
    g.randperm(0)
    g.randperm(1)
    g.poisson(np.zeros(0))
    g.poisson(np.zeros(3))
    g.dropout_mask((5,), 0.0)
    g.dropout_mask((5,), 1.0)
    g.multinomial(np.ones((0, 3)), 1)
    np.testing.assert_array_equal(g.get_state(), before)


def test_memory_order():
    model = np.empty((4, 1, 6), np.float32).transpose(2, 1, 0)
    got = in_memory_order(lambda shape: np.arange(24).reshape(shape), model.shape, model.strides)
    np.testing.assert_array_equal(got, np.arange(24).reshape(4, 1, 6).transpose(2, 1, 0))
    kept = Generator().dropout_mask(model.shape, 0.5, model.strides)
    np.testing.assert_array_equal(kept.transpose(2, 1, 0), Generator().dropout_mask((4, 1, 6), 0.5))


# ---- seeds, states, threads


def test_seeds():
    g = Generator()
    assert g.manual_seed(-1) is g
    assert g.initial_seed() == 2**64 - 1
    assert g.manual_seed(np.int64(7)).initial_seed() == 7
    assert g.seed() == g.initial_seed()
    assert torch.initial_seed() != Generator().initial_seed()
    for wrong, error in ((2**64, ValueError), (-(2**63) - 1, ValueError), (1.5, RuntimeError), (True, RuntimeError)):
        with pytest.raises(error, match="Overflow when unpacking|expected a long, but got"):
            g.manual_seed(wrong)


def test_reseeding_forgets_the_spare_normal():
    g = Generator().manual_seed(3)
    first = g.normal((1,), np.float64)
    np.testing.assert_array_equal(g.manual_seed(3).normal((1,), np.float64), first)


@pytest.mark.parametrize("used", [0, 1, 3, 623, 624, 625, 1248])
def test_states_continue(used):
    g = Generator().manual_seed(9)
    g.random((used,), np.uint8)
    if used == 3:
        g.normal((1,), np.float32)
    state = g.get_state()
    assert (state.dtype, state.shape) == (np.uint8, (5056,))
    others = [Generator().set_state(state), g.clone_state()]
    expected = g.normal((20,), np.float64), g.normal((3,), np.float64)
    for other in others:
        assert other.initial_seed() == 9
        np.testing.assert_array_equal(other.normal((20,), np.float64), expected[0])
        np.testing.assert_array_equal(other.normal((3,), np.float64), expected[1])
    np.testing.assert_array_equal(Generator().set_state(state).get_state(), state)


def test_states_that_are_refused_change_nothing():
    g = Generator().manual_seed(9)
    before = g.get_state()
    for wrong, error, text in (
        (np.zeros(10, np.uint8), RuntimeError, "Expected a CPUGeneratorImplState of size 5056"),
        (np.zeros(5056, np.uint8), RuntimeError, "Invalid mt19937 state"),
        (np.zeros(5056, np.float32), TypeError, "RNG state must be a torch.ByteTensor"),
    ):
        with pytest.raises(error, match=text):
            g.set_state(wrong)
    np.testing.assert_array_equal(g.get_state(), before)


def test_threads_share_a_stream():
    g = Generator().manual_seed(6)
    parts = []

    def work():
        for _ in range(200):
            parts.append(g.random((3,), np.int64))  # noqa: PERF401  the threads are to interleave

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drawn = {tuple(part) for part in parts}
    assert drawn == {tuple(row) for row in Generator().manual_seed(6).random((800, 3), np.int64)}


def test_the_source_waits_for_the_first_draw():
    assert Generator().manual_seed(3)._stream._bits is None


# ---- what is refused


@pytest.mark.parametrize(
    "draw, error, text",
    [
        (lambda g: g.uniform((2,), np.float32, 2, 1), RuntimeError, r"\[from, to\) range, but found from=2 > to=1"),
        (lambda g: g.uniform((2,), np.float32, 0, np.inf), RuntimeError, "to is out of bounds for float"),
        (lambda g: g.uniform((2,), np.int64), NotImplementedError, "not implemented for 'Long'"),
        (lambda g: g.normal((2,), np.float32, 0, -1), RuntimeError, "expects std >= 0.0, but found std -1"),
        (lambda g: g.normal((2,), np.int32), NotImplementedError, "not implemented for 'Int'"),
        (lambda g: g.random((2,), np.uint8, 0, 257), RuntimeError, "to - 1 is out of bounds for unsigned char"),
        (lambda g: g.randint(5, 5, (2,)), RuntimeError, "but got from=5 >= to=5"),
        (lambda g: g.randperm(-1), RuntimeError, "negative dimension -1"),
        (lambda g: g.randperm(300, np.uint8), RuntimeError, "without overflow"),
        (lambda g: g.bernoulli((2,), 1.5), RuntimeError, r"p to be in \[0, 1\], but got p=1.5"),
        (lambda g: g.bernoulli_array(np.array([2.0])), RuntimeError, "p_in >= 0 && p_in <= 1"),
        (lambda g: g.exponential((2,), np.float32, 0), RuntimeError, "lambda > 0.0, but found lambda=0"),
        (lambda g: g.cauchy((2,), np.float32, 0, 0), RuntimeError, "sigma > 0.0, but found sigma=0"),
        (lambda g: g.geometric((2,), 1.0), RuntimeError, r"p to be in \(0, 1\), but got p=1"),
        (lambda g: g.log_normal((2,), np.float32, 0, 0), RuntimeError, "std > 0.0, but found std=0"),
        (lambda g: g.poisson(np.array([-1.0])), RuntimeError, "rate to be non-negative"),
        (lambda g: g.multinomial(np.ones(3), 4), RuntimeError, "n_sample > prob_dist.size"),
        (lambda g: g.multinomial(np.zeros(3), 1), RuntimeError, "sum of probabilities <= 0"),
        (lambda g: g.multinomial(np.array([-1.0, 2.0]), 3, True), RuntimeError, "probability entry < 0"),
        (lambda g: g.uniform((2,), "U3"), TypeError, "no random numbers of type"),
    ],
)
def test_refusals_draw_nothing(draw, error, text):
    g = Generator().manual_seed(1)
    before = g.get_state()
    with pytest.raises(error, match=text):
        draw(g)
    np.testing.assert_array_equal(g.get_state(), before)


# ---- the pieces


def swapped(partner):
    order = list(range(len(partner)))
    for i, j in enumerate(partner):
        order[i], order[j] = order[j], order[i]
    return order


@pytest.mark.parametrize("n", [1, 2, 3, 10, 257, 1000])
def test_exchanges_all_at_once(n):
    rng = np.random.default_rng(n)
    later = np.arange(n) + rng.integers(0, np.arange(n, 0, -1))
    np.testing.assert_array_equal(draws._exchanged(later), swapped(later.tolist()))
    earlier = rng.integers(0, np.arange(1, n + 1))
    np.testing.assert_array_equal(draws._exchanged_backwards(earlier), swapped(earlier.tolist()))


def test_very_long_permutations_draw_64_bits(monkeypatch):
    monkeypatch.setattr(integers, "MANY", 10)
    stream = Stream(3)
    order = integers.permutation(stream, 12)
    longs = Stream(3).longs(12)
    np.testing.assert_array_equal(order, swapped([int(draw) % (i + 1) for i, draw in enumerate(longs)]))


def test_fused_double_rounds_once():
    rng = np.random.default_rng(0)
    for width, low in ((5.7, 2.0), (1.0, -0.3), (1e-3, 1e3), (0.1, -0.05), (1e250, -1e240), (3.0, 0.0), (-2.5, 1.0)):
        x = rng.random(300)
        exact = [float(Fraction(v) * Fraction(width) + Fraction(low)) for v in x.tolist()]
        np.testing.assert_array_equal(roundings.fused_double(x, width, low), exact)


def test_fused_double_at_ties():
    """x * width + low lies just beside the middle of two doubles, by less than a double of the sum can tell."""
    tiny = 2.0**-80
    x = np.array([1.0 + 2.0**-52, 1.0 - 2.0**-53])
    exact = [float(Fraction(v) * Fraction(1.0 + 2.0**-52) + Fraction(2.0**53 + tiny)) for v in x.tolist()]
    np.testing.assert_array_equal(roundings.fused_double(x, 1.0 + 2.0**-52, 2.0**53 + tiny), exact)


def test_fused_single_at_ties():
    """The product's last bits decide on which side of the middle of two floats the sum lies."""
    x = np.float32([1 + 2**-23, 1 - 2**-24, 1.0])
    width = float(np.float32(2**-24 * (1 + 2**-23)))
    for low in (1.0, 1 + 2**-23, -1.0):
        exact = [Fraction(float(v)) * Fraction(width) + Fraction(low) for v in x]
        nearest = [min(around(float(e)), key=lambda f, e=e: (abs(Fraction(float(f)) - e), even_bits(f))) for e in exact]
        np.testing.assert_array_equal(roundings.fused_single(x, width, low), nearest)


def around(value):
    middle = np.float32(value)
    return [np.nextafter(middle, np.float32(-np.inf)), middle, np.nextafter(middle, np.float32(np.inf))]


def even_bits(value):
    return int(np.float32(value).view(np.uint32)) & 1


def test_uniform_half_never_reaches_the_open_end():
    g = Generator().manual_seed(3)
    for dtype in (np.dtype(np.float16), BF16):
        values = g.uniform((200_000,), dtype).astype(np.float32)
        assert values.min() == 0
        assert values.max() < 1


def test_drawing_one_at_a_time_uses_no_more():
    stream, other = Stream(5), Stream(5)
    with Doubles(stream) as uniform:
        got = [uniform() for _ in range(100)]
    assert got == other.doubles(100).tolist()
    assert stream.words(1) == other.words(1)


@pytest.mark.parametrize("rate", [0.3, 4.0, 12.0, 500.0])
def test_poisson_moments(rate):
    values = Generator().manual_seed(1).poisson(np.full(20_000, rate))
    assert abs(values.mean() - rate) < 4 * (rate / 20_000) ** 0.5
    assert abs(values.var() / rate - 1) < 0.06


@pytest.mark.parametrize("shape", [0.1, 0.9, 3.0])
def test_gamma_moments(shape):
    values = Generator().manual_seed(1).standard_gamma(np.full(20_000, shape))
    assert abs(values.mean() - shape) < 4 * (shape / 20_000) ** 0.5
    assert abs(values.var() / shape - 1) < 0.15


@pytest.mark.parametrize("count, p", [(5, 0.3), (40, 0.9), (1000, 0.5), (200, 0.02)])
def test_binomial_moments(count, p):
    values = Generator().manual_seed(1).binomial(np.full(20_000, float(count)), np.array(p))
    spread = count * p * (1 - p)
    assert abs(values.mean() - count * p) < 4 * (spread / 20_000) ** 0.5
    assert abs(values.var() / spread - 1) < 0.06


def test_edges_of_the_rejection_samplers():
    with Doubles(Stream(1)) as uniform:
        assert rejection.poisson(0.0, uniform) == 0.0
        assert rejection.poisson(float("inf"), uniform) == float("inf")
        assert np.isnan(rejection.gamma(float("nan"), uniform, Stream(1)))
        assert rejection.gamma(0.0, uniform, Stream(1)) == 0.0
        assert rejection.binomial(0.0, 0.5, uniform) == rejection.binomial(5.0, 0.0, uniform) == 0.0
        assert rejection.binomial(5.0, 1.0, uniform) == 5.0
        assert np.isnan(rejection.binomial(5.0, float("nan"), uniform))


def test_dirichlet_lies_on_the_simplex():
    points = Generator().dirichlet(np.full((50, 4), 0.7, np.float32))
    assert points.dtype == np.float32
    np.testing.assert_allclose(points.sum(-1), 1, rtol=1e-6)
