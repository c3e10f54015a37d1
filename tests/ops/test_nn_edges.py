"""Functions of ``nn.functional`` at their edges: borders, ties, NaN, masks that hide everything, wrong shapes and
types.

The expected numbers and messages are those of PyTorch 2.13.
"""

from __future__ import annotations

import importlib
import warnings

import numpy as np
import pytest

import wengert as torch
from wengert.nn import functional as F

inf, nan = float("inf"), float("nan")
L, z = torch.tensor, torch.zeros


def T(values, requires_grad=False):
    return torch.tensor(values, dtype=torch.float64, requires_grad=requires_grad)


x = L([[[[1.0, 2.0], [3.0, 4.0]]]])

# name, function, inputs, values, gradients of their sum
GRADIENTS = [
    ("relu", F.relu, [[-inf, -1.0, -0.0, 0.0, 1.0, inf, nan]], [0.0, 0.0, 0.0, 0.0, 1.0, inf, nan],
        [[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]]),
    ("relu6", F.relu6, [[-1.0, 0.0, 3.0, 6.0, 7.0, nan]], [0.0, 0.0, 3.0, 6.0, 6.0, nan],
        [[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]]),
    ("hardtanh", F.hardtanh, [[-2.0, -1.0, 0.0, 1.0, 2.0, nan]], [-1.0, -1.0, 0.0, 1.0, 1.0, nan],
        [[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]]),
    ("hardsigmoid", F.hardsigmoid, [[-4.0, -3.0, 0.0, 3.0, 4.0, nan]], [0.0, 0.0, 0.5, 1.0, 1.0, nan],
        [[0.0, 0.0, 0.166667, 0.0, 0.0, 0.0]]),
    ("hardswish", F.hardswish, [[-4.0, -3.0, 0.0, 3.0, 4.0, nan]], [0.0, 0.0, 0.0, 3.0, 4.0, nan],
        [[0.0, 0.0, 0.5, 1.0, 1.0, 1.0]]),
    ("leaky", F.leaky_relu, [[-inf, -1.0, -0.0, 0.0, 1.0, inf, nan]], [-inf, -0.01, 0.0, 0.0, 1.0, inf, nan],
     [[0.01, 0.01, 0.01, 0.01, 1.0, 1.0, 0.01]]),
    ("leaky-neg", lambda x: F.leaky_relu(x, -0.5), [[-1.0, 0.0, 1.0]], [0.5, 0.0, 1.0], [[-0.5, -0.5, 1.0]]),
    ("elu", F.elu, [[-inf, -1.0, -0.0, 0.0, 1.0, inf, nan]], [-1.0, -0.632121, 0.0, 0.0, 1.0, inf, nan],
     [[0.0, 0.367879, 1.0, 1.0, 1.0, 1.0, 1.0]]),
    ("elu-a", lambda x: F.elu(x, 2.0), [[-1.0, 0.0, 1.0]], [-1.26424, 0.0, 1.0], [[0.735759, 2.0, 1.0]]),
    ("celu", lambda x: F.celu(x, 2.0), [[-1.0, 0.0, 1.0, nan]], [-0.786939, 0.0, 1.0, nan],
        [[0.606531, 1.0, 1.0, 1.0]]),
    ("selu", F.selu, [[-1.0, 0.0, 1.0, nan]], [-1.11133, 0.0, 1.0507, nan], [[0.646769, 1.7581, 1.0507, 1.0507]]),
    ("gelu", F.gelu, [[-inf, -1.0, 0.0, 1.0, inf, nan]], [nan, -0.158655, 0.0, 0.841345, inf, nan],
        [[nan, -0.0833155, 0.5, 1.08332, nan, nan]]),
    ("gelu-t", lambda x: F.gelu(x, approximate="tanh"), [[-1.0, 0.0, 1.0, nan]], [-0.158808, 0.0, 0.841192, nan],
     [[-0.0829641, 0.5, 1.08296, nan]]),
    ("silu", F.silu, [[-1.0, 0.0, 1.0, nan, -1000.0]], [-0.268941, 0.0, 0.731059, nan, 0.0],
        [[0.0723295, 0.5, 0.927671, nan, 0.0]]),
    ("mish", F.mish, [[-1.0, 0.0, 1.0, nan, -1000.0, 1000.0]], [-0.303401, 0.0, 0.865098, nan, 0.0, 1000.0],
     [[0.0592168, 0.6, 1.04904, nan, 0.0, 1.0]]),
    ("softplus", F.softplus, [[-1000.0, 0.0, 19.0, 20.0, 21.0, 1000.0, nan]],
        [0.0, 0.693147, 19.0, 20.0, 21.0, 1000.0, nan],
     [[0.0, 0.5, 1.0, 1.0, 1.0, 1.0, nan]]),
    ("logsigmoid", F.logsigmoid, [[-1000.0, 0.0, 1000.0, nan]], [-1000.0, -0.693147, 0.0, nan], [[1.0, 0.5, 0.0, nan]]),
    ("hardshrink", F.hardshrink, [[-1.0, -0.5, 0.0, 0.5, 1.0, nan]], [-1.0, 0.0, 0.0, 0.0, 1.0, nan],
        [[1.0, 0.0, 0.0, 0.0, 1.0, 1.0]]),
    ("softshrink", F.softshrink, [[-1.0, -0.5, 0.0, 0.5, 1.0, nan]], [-0.5, 0.0, 0.0, 0.0, 0.5, nan],
        [[1.0, 0.0, 0.0, 0.0, 1.0, 1.0]]),
    ("threshold", lambda x: F.threshold(x, 1.0, 7.0), [[0.0, 1.0, 2.0, nan]], [7.0, 7.0, 2.0, nan],
        [[0.0, 0.0, 1.0, 1.0]]),
    ("prelu", F.prelu, [[[-1.0, 0.0], [1.0, nan]], [0.25]], [[-0.25, 0.0], [1.0, nan]],
        [[[0.25, 0.25], [1.0, 0.25]], [nan]]),
    ("softsign", F.softsign, [[-1.0, 0.0, 1.0]], [-0.5, 0.0, 0.5], [[0.25, 1.0, 0.25]]),
    ("softmax-inf", lambda x: F.softmax(x, 1)[:, :1], [[[-inf, -inf], [0.0, -inf], [inf, 0.0], [10000.0, 0.0]]],
        [[nan], [1.0], [nan], [1.0]],
     [[[nan, nan], [0.0, 0.0], [nan, nan], [0.0, 0.0]]]),
    ("log_softmax-inf", lambda x: F.log_softmax(x, 1)[:, :1], [[[-inf, -inf], [0.0, -inf], [10000.0, 0.0]]],
        [[nan], [0.0], [0.0]],
     [[[nan, nan], [0.0, 0.0], [0.0, 0.0]]]),
    ("glu", F.glu, [[1.0, 2.0, 0.0, nan]], [0.5, nan], [[0.5, nan, 0.25, nan]]),
    ("normalize0", F.normalize, [[[0.0, 0.0], [3.0, 4.0]]], [[0.0, 0.0], [0.6, 0.8]],
        [[[1e+12, 1e+12], [0.032, -0.024]]]),
    ("cos0", lambda x: F.cosine_similarity(x, T([[1.0, 2.0]])), [[[0.0, 0.0]]], [0.0], [[[4.47214e+07, 8.94427e+07]]]),
    ("pdist0", lambda x: F.pairwise_distance(x, T([[1.0, 2.0]]) + 1e-06, eps=0.0), [[[1.0 + 1e-06, 2.0 + 1e-06]]],
        [0.0], [[[0.0, 0.0]]]),
    ("mp1", lambda x: F.max_pool1d(x, 2), [[[[1.0, 1.0, 2.0, nan, nan, nan, -inf, -inf]]]], [[[1.0, nan, nan, -inf]]],
     [[[[1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]]]]),
    ("mp2", lambda x: F.max_pool2d(x, 2), [[[[[1.0, 1.0], [1.0, 1.0]]]]], [[[[1.0]]]], [[[[[1.0, 0.0], [0.0, 0.0]]]]]),
    ("mp2nan", lambda x: F.max_pool2d(x, 2), [[[[[1.0, nan], [3.0, nan]]]]], [[[[nan]]]],
        [[[[[0.0, 0.0], [0.0, 1.0]]]]]),
    ("amp1", lambda x: F.adaptive_max_pool1d(x, 2), [[[[1.0, 1.0, nan, 2.0]]]], [[[1.0, nan]]],
        [[[[1.0, 0.0, 1.0, 0.0]]]]),
    ("mp1pad", lambda x: F.max_pool1d(x, 3, 1, 1), [[[[-inf, -inf]]]], [[[-inf, -inf]]], [[[[2.0, 0.0]]]]),
    ("avgpool-nopad", lambda x: F.avg_pool1d(x, 3, 1, 1, False, False), [[[[1.0, 2.0, 3.0]]]], [[[1.5, 2.0, 2.5]]],
     [[[[0.833333, 1.33333, 0.833333]]]]),
    ("avgpool-ceil", lambda x: F.avg_pool1d(x, 2, 2, 0, True), [[[[1.0, 2.0, 3.0]]]], [[[1.5, 3.0]]],
        [[[[0.5, 0.5, 1.0]]]]),
    ("lp0", lambda x: F.lp_pool1d(x, 2, 2), [[[[0.0, 0.0, 3.0, 4.0]]]], [[[0.0, 5.0]]], [[[[0.0, 0.0, 0.6, 0.8]]]]),
    ("ce-allign-none", lambda x: F.cross_entropy(x, L([-100, -100]), reduction="none"), [[[1.0, 2.0], [3.0, 4.0]]],
        [0.0, 0.0],
     [[[0.0, 0.0], [0.0, 0.0]]]),
    ("nll-allign-none", lambda x: F.nll_loss(x, L([-100, -100]), reduction="none"), [[[1.0, 2.0], [3.0, 4.0]]],
        [0.0, 0.0],
     [[[0.0, 0.0], [0.0, 0.0]]]),
    ("ce-w-none", lambda x: F.cross_entropy(x, L([0, 1]), T([1.0, 3.0]), reduction="none"), [[[1.0, 2.0], [3.0, 4.0]]],
        [1.31326, 0.939785],
     [[[-0.731059, 0.731059], [0.806824, -0.806824]]]),
    ("ce-ls-none", lambda x: F.cross_entropy(x, L([0, 1]), reduction="none", label_smoothing=0.1),
        [[[1.0, 2.0], [3.0, 5.0]]], [1.26326, 0.226928],
     [[[-0.681059, 0.681059], [0.0692029, -0.0692029]]]),
    ("ce-lsw-none", lambda x: F.cross_entropy(x, L([0, 1]), T([1.0, 3.0]), reduction="none", label_smoothing=0.1),
        [[[1.0, 2.0], [3.0, 5.0]]],
     [1.29459, 0.468091], [[[-0.654164, 0.654164], [0.295688, -0.295688]]]),
    ("ce-lswi-none",
        lambda x: F.cross_entropy(x, L([0, 1, -1]), T([1.0, 3.0]), reduction="none", label_smoothing=0.1,
            ignore_index=-1),
     [[[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]], [1.29459, 0.468091, 0.0],
     [[[-0.654164, 0.654164], [0.295688, -0.295688], [0.0, 0.0]]]),
    ("ce-prob-none",
        lambda x: F.cross_entropy(x, T([[0.3, 0.7], [0.5, 0.5]]), T([1.0, 3.0]), reduction="none", label_smoothing=0.1),
     [[[1.0, 2.0], [3.0, 5.0]]], [1.0593, 1.25386], [[[0.314702, -0.314702], [-0.261594, 0.261594]]]),
    ("ce-0w-none", lambda x: F.cross_entropy(x, L([0, 0]), T([0.0, 3.0]), reduction="none"), [[[1.0, 2.0], [3.0, 4.0]]],
        [0.0, 0.0],
     [[[0.0, 0.0], [0.0, 0.0]]]),
    ("ce-empty-none", lambda x: F.cross_entropy(x.reshape(0, 2), L([]).long(), reduction="none"), [[]], [], [[]]),
    ("mse-empty-none", lambda x: F.mse_loss(x, x.detach(), reduction="none"), [[]], [], [[]]),
    ("ce1d-none", lambda x: F.cross_entropy(x, L(1), reduction="none"), [[1.0, 2.0, 3.0]], 1.40761,
        [[0.0900306, -0.755272, 0.665241]]),
    ("ce1dprob-none", lambda x: F.cross_entropy(x, T([0.2, 0.3, 0.5]), reduction="none"), [[1.0, 2.0, 3.0]], 1.10761,
     [[-0.109969, -0.0552715, 0.165241]]),
    ("ce-ign-none", lambda x: F.cross_entropy(x, L([1, -1]), reduction="none", ignore_index=-1),
        [[[1.0, 2.0], [inf, nan]]], [0.313262, 0.0],
     [[[0.268941, -0.268941], [nan, nan]]]),
    ("bce-none", lambda x: F.binary_cross_entropy(x, T([0.0, 1.0, 0.0, 1.0]), reduction="none"), [[0.0, 0.0, 1.0, 1.0]],
        [0.0, 100.0, 100.0, 0.0],
     [[0.0, -1e+12, 1e+12, 0.0]]),
    ("bcel-none", lambda x: F.binary_cross_entropy_with_logits(x, T([0.0, 1.0, 0.5, 1.0]), reduction="none"),
        [[0.0, 1000.0, -1000.0, -inf]],
     [0.693147, 0.0, 500.0, nan], [[0.5, 0.0, -0.5, -1.0]]),
    ("l1-none", lambda x: F.l1_loss(x, T([1.0, 1.0, 1.0]), reduction="none"), [[0.0, 1.0, 2.0]], [1.0, 0.0, 1.0],
        [[-1.0, 0.0, 1.0]]),
    ("sl1-none", lambda x: F.smooth_l1_loss(x, T([0.0, 0.0, 0.0]), reduction="none"), [[0.0, 1.0, -1.0]],
        [0.0, 0.5, 0.5], [[0.0, 1.0, -1.0]]),
    ("huber-none", lambda x: F.huber_loss(x, T([0.0, 0.0, 0.0]), reduction="none", delta=0.5), [[0.0, 0.5, -1.0]],
        [0.0, 0.125, 0.375],
     [[0.0, 0.5, -0.5]]),
    ("hinge-none", lambda x: F.hinge_embedding_loss(x, T([1.0, -1.0, -1.0]), reduction="none"), [[0.0, 1.0, 2.0]],
        [0.0, 0.0, 0.0],
     [[1.0, -1.0, 0.0]]),
    ("margin-none", lambda x: F.margin_ranking_loss(x, T([0.0, 0.0, 0.0]), T([1.0, -1.0, 1.0]), reduction="none"),
        [[0.0, 1.0, 2.0]],
     [0.0, 1.0, 0.0], [[-1.0, 1.0, 0.0]]),
    ("mm-none", lambda x: F.multi_margin_loss(x, L([0, 1]), reduction="none"), [[[1.0, 0.0, 2.0], [0.0, 1.0, 0.5]]],
        [0.666667, 0.166667],
     [[[-0.333333, 0.0, 0.333333], [0.0, -0.333333, 0.333333]]]),
    ("mlm-none", lambda x: F.multilabel_margin_loss(x, L([[0, -1, 1], [2, 1, -1]]), reduction="none"),
        [[[1.0, 0.0, 2.0], [0.0, 1.0, 0.5]]],
     [0.666667, 0.166667], [[[-0.333333, 0.0, 0.333333], [0.333333, 0.0, -0.333333]]]),
    ("kl-none", lambda x: F.kl_div(x, T([0.0, 0.5]), reduction="none"), [[-1.0, -2.0]], [0.0, 0.653426], [[0.0, -0.5]]),
    ("poisson-none", lambda x: F.poisson_nll_loss(x, T([0.0, 1.0, 3.0]), full=True, reduction="none"),
        [[0.0, 1.0, 2.0]], [1.0, 1.71828, 3.15314],
     [[1.0, 1.71828, 4.38906]]),
    ("gnll-none", lambda x, v: F.gaussian_nll_loss(x, T([0.0, 1.0]), v, reduction="none"), [[1.0, 1.0], [0.0, 2.0]],
        [499993.0, 0.346574],
     [[1e+06, 0.0], [-5e+11, 0.25]]),
    ("trip-none", lambda a: F.triplet_margin_loss(a, T([[1.0, 0.0]]), T([[0.0, 1.0]]), reduction="none"),
        [[[0.0, 0.0]]], [1.0], [[[-1.0, 1.0]]]),
    ("cosemb-none", lambda a: F.cosine_embedding_loss(a, T([[1.0, 0.0], [1.0, 1.0]]), L([1, -1]), reduction="none"),
        [[[0.0, 0.0], [1.0, 0.0]]],
     [1.0, 0.707107], [[[-1e+06, 0.0], [7.07212e-13, 0.707107]]]),
    ("softmargin-none", lambda a: F.soft_margin_loss(a, T([1.0, -1.0, 1.0]), reduction="none"), [[0.0, 1.0, -100.0]],
        [0.693147, 1.31326, 100.0],
     [[-0.5, 0.731059, -1.0]]),
    ("mlsm-none", lambda a: F.multilabel_soft_margin_loss(a, T([[1.0, 0.0]]), reduction="none"), [[[0.0, 1.0]]],
        [1.0032], [[[-0.25, 0.365529]]]),
    ("ce-allign-mean", lambda x: F.cross_entropy(x, L([-100, -100]), reduction="mean"), [[[1.0, 2.0], [3.0, 4.0]]], nan,
     [[[0.0, 0.0], [0.0, 0.0]]]),
    ("nll-allign-mean", lambda x: F.nll_loss(x, L([-100, -100]), reduction="mean"), [[[1.0, 2.0], [3.0, 4.0]]], nan,
        [[[0.0, 0.0], [0.0, 0.0]]]),
    ("ce-w-mean", lambda x: F.cross_entropy(x, L([0, 1]), T([1.0, 3.0]), reduction="mean"), [[[1.0, 2.0], [3.0, 4.0]]],
        0.563262,
     [[[-0.182765, 0.182765], [0.201706, -0.201706]]]),
    ("ce-ls-mean", lambda x: F.cross_entropy(x, L([0, 1]), reduction="mean", label_smoothing=0.1),
        [[[1.0, 2.0], [3.0, 5.0]]], 0.745095,
     [[[-0.340529, 0.340529], [0.0346015, -0.0346015]]]),
    ("ce-lsw-mean", lambda x: F.cross_entropy(x, L([0, 1]), T([1.0, 3.0]), reduction="mean", label_smoothing=0.1),
        [[[1.0, 2.0], [3.0, 5.0]]],
     0.44067, [[[-0.163541, 0.163541], [0.0739221, -0.0739221]]]),
    ("ce-lswi-mean",
        lambda x: F.cross_entropy(x, L([0, 1, -1]), T([1.0, 3.0]), reduction="mean", label_smoothing=0.1,
            ignore_index=-1),
     [[[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]], 0.44067, [[[-0.163541, 0.163541], [0.0739221, -0.0739221], [0.0, 0.0]]]),
    ("ce-prob-mean",
        lambda x: F.cross_entropy(x, T([[0.3, 0.7], [0.5, 0.5]]), T([1.0, 3.0]), reduction="mean", label_smoothing=0.1),
     [[[1.0, 2.0], [3.0, 5.0]]], 1.15658, [[[0.157351, -0.157351], [-0.130797, 0.130797]]]),
    ("ce-empty-mean", lambda x: F.cross_entropy(x.reshape(0, 2), L([]).long(), reduction="mean"), [[]], nan, [[]]),
    ("mse-empty-mean", lambda x: F.mse_loss(x, x.detach(), reduction="mean"), [[]], nan, [[]]),
    ("ce1d-mean", lambda x: F.cross_entropy(x, L(1), reduction="mean"), [[1.0, 2.0, 3.0]], 1.40761,
        [[0.0900306, -0.755272, 0.665241]]),
    ("ce1dprob-mean", lambda x: F.cross_entropy(x, T([0.2, 0.3, 0.5]), reduction="mean"), [[1.0, 2.0, 3.0]], 1.10761,
     [[-0.109969, -0.0552715, 0.165241]]),
    ("ce-ign-mean", lambda x: F.cross_entropy(x, L([1, -1]), reduction="mean", ignore_index=-1),
        [[[1.0, 2.0], [inf, nan]]], 0.313262,
     [[[0.268941, -0.268941], [nan, nan]]]),
    ("bce-mean", lambda x: F.binary_cross_entropy(x, T([0.0, 1.0, 0.0, 1.0]), reduction="mean"), [[0.0, 0.0, 1.0, 1.0]],
        50.0,
     [[0.0, -2.5e+11, 2.5e+11, 0.0]]),
    ("bcel-mean", lambda x: F.binary_cross_entropy_with_logits(x, T([0.0, 1.0, 0.5, 1.0]), reduction="mean"),
        [[0.0, 1000.0, -1000.0, -inf]], nan,
     [[0.125, 0.0, -0.125, -0.25]]),
    ("l1-mean", lambda x: F.l1_loss(x, T([1.0, 1.0, 1.0]), reduction="mean"), [[0.0, 1.0, 2.0]], 0.666667,
        [[-0.333333, 0.0, 0.333333]]),
    ("sl1-mean", lambda x: F.smooth_l1_loss(x, T([0.0, 0.0, 0.0]), reduction="mean"), [[0.0, 1.0, -1.0]], 0.333333,
        [[0.0, 0.333333, -0.333333]]),
    ("huber-mean", lambda x: F.huber_loss(x, T([0.0, 0.0, 0.0]), reduction="mean", delta=0.5), [[0.0, 0.5, -1.0]],
        0.166667,
     [[0.0, 0.166667, -0.166667]]),
    ("hinge-mean", lambda x: F.hinge_embedding_loss(x, T([1.0, -1.0, -1.0]), reduction="mean"), [[0.0, 1.0, 2.0]], 0.0,
     [[0.333333, -0.333333, 0.0]]),
    ("margin-mean", lambda x: F.margin_ranking_loss(x, T([0.0, 0.0, 0.0]), T([1.0, -1.0, 1.0]), reduction="mean"),
        [[0.0, 1.0, 2.0]], 0.333333,
     [[-0.333333, 0.333333, 0.0]]),
    ("mm-mean", lambda x: F.multi_margin_loss(x, L([0, 1]), reduction="mean"), [[[1.0, 0.0, 2.0], [0.0, 1.0, 0.5]]],
        0.416667,
     [[[-0.166667, 0.0, 0.166667], [0.0, -0.166667, 0.166667]]]),
    ("mlm-mean", lambda x: F.multilabel_margin_loss(x, L([[0, -1, 1], [2, 1, -1]]), reduction="mean"),
        [[[1.0, 0.0, 2.0], [0.0, 1.0, 0.5]]],
     0.416667, [[[-0.166667, 0.0, 0.166667], [0.166667, 0.0, -0.166667]]]),
    ("kl-mean", lambda x: F.kl_div(x, T([0.0, 0.5]), reduction="mean"), [[-1.0, -2.0]], 0.326713, [[0.0, -0.25]]),
    ("poisson-mean", lambda x: F.poisson_nll_loss(x, T([0.0, 1.0, 3.0]), full=True, reduction="mean"),
        [[0.0, 1.0, 2.0]], 1.95714,
     [[0.333333, 0.572761, 1.46302]]),
    ("gnll-mean", lambda x, v: F.gaussian_nll_loss(x, T([0.0, 1.0]), v, reduction="mean"), [[1.0, 1.0], [0.0, 2.0]],
        249997.0,
     [[500000.0, 0.0], [-2.5e+11, 0.125]]),
    ("trip-mean", lambda a: F.triplet_margin_loss(a, T([[1.0, 0.0]]), T([[0.0, 1.0]]), reduction="mean"),
        [[[0.0, 0.0]]], 1.0, [[[-1.0, 1.0]]]),
    ("cosemb-mean", lambda a: F.cosine_embedding_loss(a, T([[1.0, 0.0], [1.0, 1.0]]), L([1, -1]), reduction="mean"),
        [[[0.0, 0.0], [1.0, 0.0]]],
     0.853553, [[[-500000.0, 0.0], [3.53606e-13, 0.353553]]]),
    ("softmargin-mean", lambda a: F.soft_margin_loss(a, T([1.0, -1.0, 1.0]), reduction="mean"), [[0.0, 1.0, -100.0]],
        34.0021,
     [[-0.166667, 0.243686, -0.333333]]),
    ("mlsm-mean", lambda a: F.multilabel_soft_margin_loss(a, T([[1.0, 0.0]]), reduction="mean"), [[[0.0, 1.0]]], 1.0032,
        [[[-0.25, 0.365529]]]),
    ("ce-allign-sum", lambda x: F.cross_entropy(x, L([-100, -100]), reduction="sum"), [[[1.0, 2.0], [3.0, 4.0]]], 0.0,
        [[[0.0, 0.0], [0.0, 0.0]]]),
    ("nll-allign-sum", lambda x: F.nll_loss(x, L([-100, -100]), reduction="sum"), [[[1.0, 2.0], [3.0, 4.0]]], 0.0,
        [[[0.0, 0.0], [0.0, 0.0]]]),
    ("ce-w-sum", lambda x: F.cross_entropy(x, L([0, 1]), T([1.0, 3.0]), reduction="sum"), [[[1.0, 2.0], [3.0, 4.0]]],
        2.25305,
     [[[-0.731059, 0.731059], [0.806824, -0.806824]]]),
    ("ce-ls-sum", lambda x: F.cross_entropy(x, L([0, 1]), reduction="sum", label_smoothing=0.1),
        [[[1.0, 2.0], [3.0, 5.0]]], 1.49019,
     [[[-0.681059, 0.681059], [0.0692029, -0.0692029]]]),
    ("ce-lsw-sum", lambda x: F.cross_entropy(x, L([0, 1]), T([1.0, 3.0]), reduction="sum", label_smoothing=0.1),
        [[[1.0, 2.0], [3.0, 5.0]]],
     1.76268, [[[-0.654164, 0.654164], [0.295688, -0.295688]]]),
    ("ce-lswi-sum",
        lambda x: F.cross_entropy(x, L([0, 1, -1]), T([1.0, 3.0]), reduction="sum", label_smoothing=0.1,
            ignore_index=-1),
     [[[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]], 1.76268, [[[-0.654164, 0.654164], [0.295688, -0.295688], [0.0, 0.0]]]),
    ("ce-prob-sum",
        lambda x: F.cross_entropy(x, T([[0.3, 0.7], [0.5, 0.5]]), T([1.0, 3.0]), reduction="sum", label_smoothing=0.1),
     [[[1.0, 2.0], [3.0, 5.0]]], 2.31315, [[[0.314702, -0.314702], [-0.261594, 0.261594]]]),
    ("ce-0w-sum", lambda x: F.cross_entropy(x, L([0, 0]), T([0.0, 3.0]), reduction="sum"), [[[1.0, 2.0], [3.0, 4.0]]],
        0.0,
     [[[0.0, 0.0], [0.0, 0.0]]]),
    ("ce-empty-sum", lambda x: F.cross_entropy(x.reshape(0, 2), L([]).long(), reduction="sum"), [[]], 0.0, [[]]),
    ("mse-empty-sum", lambda x: F.mse_loss(x, x.detach(), reduction="sum"), [[]], 0.0, [[]]),
    ("ce1d-sum", lambda x: F.cross_entropy(x, L(1), reduction="sum"), [[1.0, 2.0, 3.0]], 1.40761,
        [[0.0900306, -0.755272, 0.665241]]),
    ("ce1dprob-sum", lambda x: F.cross_entropy(x, T([0.2, 0.3, 0.5]), reduction="sum"), [[1.0, 2.0, 3.0]], 1.10761,
     [[-0.109969, -0.0552715, 0.165241]]),
    ("ce-ign-sum", lambda x: F.cross_entropy(x, L([1, -1]), reduction="sum", ignore_index=-1),
        [[[1.0, 2.0], [inf, nan]]], 0.313262,
     [[[0.268941, -0.268941], [nan, nan]]]),
    ("bce-sum", lambda x: F.binary_cross_entropy(x, T([0.0, 1.0, 0.0, 1.0]), reduction="sum"), [[0.0, 0.0, 1.0, 1.0]],
        200.0,
     [[0.0, -1e+12, 1e+12, 0.0]]),
    ("bcel-sum", lambda x: F.binary_cross_entropy_with_logits(x, T([0.0, 1.0, 0.5, 1.0]), reduction="sum"),
        [[0.0, 1000.0, -1000.0, -inf]], nan,
     [[0.5, 0.0, -0.5, -1.0]]),
    ("l1-sum", lambda x: F.l1_loss(x, T([1.0, 1.0, 1.0]), reduction="sum"), [[0.0, 1.0, 2.0]], 2.0, [[-1.0, 0.0, 1.0]]),
    ("sl1-sum", lambda x: F.smooth_l1_loss(x, T([0.0, 0.0, 0.0]), reduction="sum"), [[0.0, 1.0, -1.0]], 1.0,
        [[0.0, 1.0, -1.0]]),
    ("huber-sum", lambda x: F.huber_loss(x, T([0.0, 0.0, 0.0]), reduction="sum", delta=0.5), [[0.0, 0.5, -1.0]], 0.5,
        [[0.0, 0.5, -0.5]]),
    ("hinge-sum", lambda x: F.hinge_embedding_loss(x, T([1.0, -1.0, -1.0]), reduction="sum"), [[0.0, 1.0, 2.0]], 0.0,
        [[1.0, -1.0, 0.0]]),
    ("margin-sum", lambda x: F.margin_ranking_loss(x, T([0.0, 0.0, 0.0]), T([1.0, -1.0, 1.0]), reduction="sum"),
        [[0.0, 1.0, 2.0]], 1.0,
     [[-1.0, 1.0, 0.0]]),
    ("mm-sum", lambda x: F.multi_margin_loss(x, L([0, 1]), reduction="sum"), [[[1.0, 0.0, 2.0], [0.0, 1.0, 0.5]]],
        0.833333,
     [[[-0.333333, 0.0, 0.333333], [0.0, -0.333333, 0.333333]]]),
    ("mlm-sum", lambda x: F.multilabel_margin_loss(x, L([[0, -1, 1], [2, 1, -1]]), reduction="sum"),
        [[[1.0, 0.0, 2.0], [0.0, 1.0, 0.5]]],
     0.833333, [[[-0.333333, 0.0, 0.333333], [0.333333, 0.0, -0.333333]]]),
    ("kl-sum", lambda x: F.kl_div(x, T([0.0, 0.5]), reduction="sum"), [[-1.0, -2.0]], 0.653426, [[0.0, -0.5]]),
    ("poisson-sum", lambda x: F.poisson_nll_loss(x, T([0.0, 1.0, 3.0]), full=True, reduction="sum"), [[0.0, 1.0, 2.0]],
        5.87142,
     [[1.0, 1.71828, 4.38906]]),
    ("gnll-sum", lambda x, v: F.gaussian_nll_loss(x, T([0.0, 1.0]), v, reduction="sum"), [[1.0, 1.0], [0.0, 2.0]],
        499993.0,
     [[1e+06, 0.0], [-5e+11, 0.25]]),
    ("trip-sum", lambda a: F.triplet_margin_loss(a, T([[1.0, 0.0]]), T([[0.0, 1.0]]), reduction="sum"), [[[0.0, 0.0]]],
        1.0, [[[-1.0, 1.0]]]),
    ("cosemb-sum", lambda a: F.cosine_embedding_loss(a, T([[1.0, 0.0], [1.0, 1.0]]), L([1, -1]), reduction="sum"),
        [[[0.0, 0.0], [1.0, 0.0]]],
     1.70711, [[[-1e+06, 0.0], [7.07212e-13, 0.707107]]]),
    ("softmargin-sum", lambda a: F.soft_margin_loss(a, T([1.0, -1.0, 1.0]), reduction="sum"), [[0.0, 1.0, -100.0]],
        102.006,
     [[-0.5, 0.731059, -1.0]]),
    ("mlsm-sum", lambda a: F.multilabel_soft_margin_loss(a, T([[1.0, 0.0]]), reduction="sum"), [[[0.0, 1.0]]], 1.0032,
        [[[-0.25, 0.365529]]]),
    ("bce-t", lambda t: F.binary_cross_entropy(T([0.0, 0.5, 1.0]), t), [[0.0, 0.5, 1.0]], 0.231049, [[inf, 0.0, -inf]]),
    ("sl1-0", lambda x: F.smooth_l1_loss(x, T([0.0, 0.0, 0.0]), beta=0.0), [[0.0, 1.0, -1.0]], 0.666667,
        [[0.0, 0.333333, -0.333333]]),
    ("bn1", lambda x: F.batch_norm(x, None, None, training=True), [[[1.0, 2.0], [3.0, 2.0]]],
        [[-0.999995, 0.0], [0.999995, 0.0]],
     [[[0.0, 0.0], [0.0, 0.0]]]),
    ("ln-const", lambda x: F.layer_norm(x, (2,)), [[[2.0, 2.0], [1.0, 3.0]]], [[0.0, 0.0], [-0.999995, 0.999995]],
        [[[0.0, 0.0], [0.0, 0.0]]]),
    ("gn", lambda x: F.group_norm(x, 1), [[[2.0, 2.0], [1.0, 3.0]]], [[0.0, 0.0], [-0.999995, 0.999995]],
        [[[0.0, 0.0], [0.0, 0.0]]]),
    ("rms0", lambda x: F.rms_norm(x, (2,)), [[[0.0, 0.0], [1.0, 3.0]]], [[0.0, 0.0], [0.447214, 1.34164]],
     [[[6.71089e+07, 6.71089e+07], [0.268328, -0.0894427]]]),
    ("emb-pad", lambda w: F.embedding(L([0, 1, 1]), w, padding_idx=1), [[[1.0], [2.0], [3.0]]], [[1.0], [2.0], [2.0]],
        [[[1.0], [0.0], [0.0]]]),
    ("emb-freq", lambda w: F.embedding(L([0, 1, 1]), w, scale_grad_by_freq=True), [[[1.0], [2.0], [3.0]]],
        [[1.0], [2.0], [2.0]],
     [[[1.0], [1.0], [0.0]]]),
    ("emb-padneg", lambda w: F.embedding(L([0, 1, 2]), w, padding_idx=-1), [[[1.0], [2.0], [3.0]]],
        [[1.0], [2.0], [3.0]], [[[1.0], [1.0], [0.0]]]),
    ("ebag-empty", lambda w: F.embedding_bag(L([0, 1]), w, L([0, 0, 2]), mode="mean"), [[[1.0], [2.0], [3.0]]],
        [[0.0], [1.5], [0.0]],
     [[[0.5], [0.5], [0.0]]]),
    ("ebag-emptymax", lambda w: F.embedding_bag(L([0, 1]), w, L([0, 0, 2]), mode="max"), [[[1.0], [2.0], [3.0]]],
        [[0.0], [2.0], [0.0]],
     [[[0.0], [1.0], [0.0]]]),
    ("ebag-pad", lambda w: F.embedding_bag(L([[0, 1], [1, 1]]), w, mode="mean", padding_idx=1), [[[1.0], [2.0], [3.0]]],
        [[1.0], [0.0]],
     [[[1.0], [0.0], [0.0]]]),
    ("sdpa-mask",
        lambda q: F.scaled_dot_product_attention(q, T([[1.0], [2.0]]), T([[3.0], [4.0]]),
            L([[False, False], [True, False]])),
     [[[1.0], [1.0]]], [[0.0], [3.0]], [[[0.0], [0.0]]]),
    ("sdpa-float",
        lambda q: F.scaled_dot_product_attention(q, T([[1.0], [2.0]]), T([[3.0], [4.0]]),
            T([[-inf, -inf], [0.0, -inf]])),
     [[[1.0], [1.0]]], [[0.0], [3.0]], [[[0.0], [0.0]]]),
    ("interp", lambda x: F.interpolate(x, 3), [[[[1.0, 2.0]]]], [[[1.0, 1.0, 2.0]]], [[[[2.0, 1.0]]]]),
    ("interp-lin", lambda x: F.interpolate(x, 3, mode="linear"), [[[[1.0, 2.0]]]], [[[1.0, 1.5, 2.0]]],
        [[[[1.5, 1.5]]]]),
    ("interp-al", lambda x: F.interpolate(x, 3, mode="linear", align_corners=True), [[[[1.0, 2.0]]]],
        [[[1.0, 1.5, 2.0]]], [[[[1.5, 1.5]]]]),
    ("gs-edge",
        lambda x: F.grid_sample(x, T([[[[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0], [2.0, 0.0]]]]), align_corners=False),
     [[[[[1.0, 2.0], [3.0, 4.0]]]]], [[[[0.25, 1.0, 2.5, 0.0]]]], [[[[[0.5, 0.25], [0.25, 0.5]]]]]),
    ("gs-grid", lambda g: F.grid_sample(T([[[[1.0, 2.0], [3.0, 4.0]]]]), g, align_corners=True),
     [[[[[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0], [2.0, 0.0]]]]], [[[[1.0, 4.0, 2.5, 1.5]]]],
     [[[[[0.5, 1.0], [-2.0, -2.0], [0.5, 1.0], [-1.5, 0.5]]]]]),
    ("gs-border",
        lambda g: F.grid_sample(T([[[[1.0, 2.0], [3.0, 4.0]]]]), g, padding_mode="border", align_corners=True),
     [[[[[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0], [2.0, 0.0]]]]], [[[[1.0, 4.0, 2.5, 3.0]]]],
     [[[[[0.0, 0.0], [0.0, 0.0], [0.5, 1.0], [0.0, 1.0]]]]]),
    ("gs-refl",
        lambda g: F.grid_sample(T([[[[1.0, 2.0], [3.0, 4.0]]]]), g, padding_mode="reflection", align_corners=True),
     [[[[[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0], [2.0, 0.0], [1.5, -1.5]]]]], [[[[1.0, 4.0, 2.5, 2.5, 2.25]]]],
     [[[[[0.0, 0.0], [0.0, 0.0], [0.5, 1.0], [-0.5, 1.0], [-0.5, -1.0]]]]]),
]

# name, call, value
VALUES = [
    ("embmax", lambda: F.embedding(L([1]), torch.ones(3, 2) * 3, max_norm=1.0)[0, 0].item(), 0.7071067690849304),
    ("ce-half", lambda: F.cross_entropy(torch.ones(1, 3).half(), L([0])).item(), 1.0986328125),
    ("ln-half", lambda: F.layer_norm(torch.tensor([[1.0, 3.0]]).half(), (2,)).tolist(), [[-1.0, 1.0]]),
    ("relu-int", lambda: F.relu(L([-1, 1])).tolist(), [0, 1]),
    ("relu6-int", lambda: F.relu6(L([-1, 9])).tolist(), [0, 6]),
    ("ht-int", lambda: F.hardtanh(L([-3, 9])).tolist(), [-1, 1]),
    ("thr-int", lambda: F.threshold(L([-3, 9]), 1, 2).tolist(), [2, 9]),
    ("mp2-int", lambda: F.max_pool2d(L([[[[1, 2], [3, 4]]]]), 2).tolist(), [[[[4]]]]),
    ("ap-int", lambda: F.avg_pool1d(L([[[1, 2, 3, 4]]]), 2).tolist(), [[[1, 3]]]),
    ("ap2-int", lambda: F.avg_pool2d(L([[[[1, 2], [3, 4]]]]), 2).tolist(), [[[[2]]]]),
    ("interp-u8", lambda: F.interpolate(L([[[1, 2]]]).to(torch.uint8), 4).tolist(), [[[1, 1, 2, 2]]]),
    ("softsign-int", lambda: F.softsign(L([1, 2])).tolist(), [0.5, 0.6666666865348816]),
    ("embw-int", lambda: F.embedding(L([0]), L([[1, 2]])).tolist(), [[1, 2]]),
    ("sdpa-zerokeys", lambda: F.scaled_dot_product_attention(z(1, 2, 2), z(1, 0, 2), z(1, 0, 2)).tolist(),
        [[[0.0, 0.0], [0.0, 0.0]]]),
    ("kl-bm0", lambda: F.kl_div(z(0, 2), z(0, 2), reduction="batchmean").item(), nan),
    ("l1-bc", lambda: F.l1_loss(z(2, 1), z(2)).item(), 0.0),
    ("ctc-empty", lambda: F.ctc_loss(z(3, 1, 2), torch.zeros(1, 0).long(), (3,), (0,)).item(), 0.0),
    ("lce-none", lambda: F.linear_cross_entropy(z(2, 3), z(4, 3), L([0, 1])).item(), 1.3862943649291992),
    ("pdist", lambda: F.pdist(z(3, 2)).tolist(), [0.0, 0.0, 0.0]),
    ("npo", lambda: F.max_pool2d(z(1, 1, 4, 4), 2, return_indices=True)[1].tolist(), [[[[0, 2], [8, 10]]]]),
    ("ss", lambda: F.softmin(z(2, 3), 1)[0, 0].item(), 0.3333333432674408),
    ("softmax-none0d", lambda: F.softmax(z(()), 0).item(), 1.0),
    ("cossim-bigeps",
        lambda: round(F.cosine_similarity(torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 2.0]]), eps=10.0).item(), 5),
        0.11),
    ("local",
        lambda: [round(v, 5)
            for v in F.local_response_norm(torch.tensor([[[1.0], [2.0], [3.0]]]), 2, 1.0).flatten().tolist()],
     [0.73779, 0.78159, 0.66195]),
    ("bn-running",
     lambda: (lambda m, v: (F.batch_norm(torch.tensor([[1.0], [3.0]]), m, v, training=True), m.tolist(),
         v.tolist())[1:])(torch.zeros(1), torch.ones(1)),
     ([0.20000000298023224], [1.100000023841858])),
    ("in-running",
     lambda: (lambda m, v: (F.instance_norm(torch.tensor([[[1.0, 3.0]], [[2.0, 8.0]]]), m, v), m.tolist(),
         v.tolist())[1:])(torch.zeros(1), torch.ones(1)),
     ([0.3499999940395355], [1.9000000953674316])),
    ("aap1", lambda: F.adaptive_avg_pool1d(torch.tensor([[[1.0, 2.0, 3.0, 4.0, 5.0]]]), 3).tolist(),
        [[[1.5, 3.0, 4.5]]]),
    ("fmp3-ratio",
     lambda: F.fractional_max_pool3d(torch.arange(216.0).reshape(1, 1, 6, 6, 6), 2, output_size=(2, 3, 4),
         _random_samples=torch.tensor([[[0.3, 0.6, 0.9]]])).flatten().tolist(),
     [43.0, 44.0, 45.0, 47.0, 55.0, 56.0, 57.0, 59.0, 67.0, 68.0, 69.0, 71.0, 187.0, 188.0, 189.0, 191.0, 199.0, 200.0,
         201.0, 203.0, 211.0, 212.0, 213.0, 215.0]),
    ("fmp2-rect",
     lambda: F.fractional_max_pool2d(torch.arange(42.0).reshape(1, 1, 6, 7), 2, output_size=(3, 4),
         _random_samples=torch.tensor([[[0.3, 0.9]]])).tolist(),
     [[[[8.0, 10.0, 11.0, 13.0], [22.0, 24.0, 25.0, 27.0], [36.0, 38.0, 39.0, 41.0]]]]),
    ("gs near border",
     lambda: F.grid_sample(x, torch.tensor([[[[3.0, -3.0], [0.2, -0.2], [-1.7, 1.2]]]]), mode="nearest",
         padding_mode="border", align_corners=False).tolist(),
     [[[[2.0, 2.0, 3.0]]]]),
    ("gs near refl",
     lambda: F.grid_sample(x, torch.tensor([[[[3.0, -3.0], [0.2, -0.2], [-1.7, 1.2]]]]), mode="nearest",
         padding_mode="reflection", align_corners=False).tolist(),
     [[[[3.0, 2.0, 3.0]]]]),
    ("fmp2",
     lambda: F.fractional_max_pool2d(torch.arange(42.0).reshape(1, 1, 6, 7), 2, output_size=(3, 4),
         _random_samples=torch.tensor([[[0.3, 0.9]]])).tolist(),
     [[[[8.0, 10.0, 11.0, 13.0], [22.0, 24.0, 25.0, 27.0], [36.0, 38.0, 39.0, 41.0]]]]),
    ("fmp3",
     lambda: F.fractional_max_pool3d(torch.arange(6 * 7 * 8.0).reshape(1, 1, 6, 7, 8), 2, output_size=(2, 3, 4),
         _random_samples=torch.tensor([[[0.3, 0.6, 0.9]]])).flatten().tolist(),
     [65.0, 67.0, 69.0, 71.0, 89.0, 91.0, 93.0, 95.0, 105.0, 107.0, 109.0, 111.0, 289.0, 291.0, 293.0, 295.0, 313.0,
         315.0, 317.0, 319.0, 329.0, 331.0, 333.0, 335.0]),
    ("nrm p0", lambda: F.normalize(torch.tensor([[3.0, 0.0]]), p=0).tolist(), [[3.0, 0.0]]),
    ("nrm inf", lambda: F.normalize(torch.tensor([[3.0, 4.0]]), p=float("inf")).tolist(), [[0.75, 1.0]]),
    ("pwd inf",
        lambda: F.pairwise_distance(torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 0.0]]), p=float("inf")).tolist(),
        [4.000000953674316]),
    ("pwd 0", lambda: F.pairwise_distance(torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 0.0]]), p=0).tolist(), [2.0]),
    ("pwd neg", lambda: F.pairwise_distance(torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 0.0]]), p=-1.0).tolist(),
        [1.7142863273620605]),
    ("cs dims", lambda: F.cosine_similarity(torch.tensor([3.0, 4.0]), torch.tensor([3.0, 4.0]), dim=0, eps=0).tolist(),
        1.0),
    ("interp f", lambda: F.interpolate(torch.tensor([[[1.0, 2.0, 3.0]]]), scale_factor=1.5).tolist(),
        [[[1.0, 1.0, 2.0, 3.0]]]),
    ("interp f2",
        lambda: F.interpolate(torch.tensor([[[1.0, 2.0, 3.0]]]), scale_factor=1.5,
            recompute_scale_factor=True).tolist(),
     [[[1.0, 1.0, 2.0, 3.0]]]),
    ("interp f3", lambda: F.interpolate(torch.tensor([[[1.0, 2.0, 3.0]]]), scale_factor=1.5, mode="linear").tolist(),
     [[[1.0, 1.5, 2.16667, 2.83333]]]),
    ("interp f4",
        lambda: F.interpolate(torch.tensor([[[1.0, 2.0, 3.0]]]), scale_factor=1.5, mode="linear",
            recompute_scale_factor=True).tolist(),
     [[[1.0, 1.625, 2.375, 3.0]]]),
    ("interp f5",
        lambda: F.interpolate(torch.tensor([[[1.0, 2.0, 3.0]]]), scale_factor=1.5, mode="nearest-exact").tolist(),
     [[[1.0, 2.0, 2.0, 3.0]]]),
    ("interp area", lambda: F.interpolate(torch.tensor([[[1.0, 2.0, 3.0]]]), scale_factor=1.5, mode="area").tolist(),
        [[[1.0, 1.5, 2.5, 3.0]]]),
    ("interp l half", lambda: F.interpolate(torch.tensor([[[1.0, 2.0, 3.0]]]).half(), 5, mode="linear").tolist(),
     [[[1.0, 1.400390625, 2.0, 2.599609375, 3.0]]]),
    ("interp bic u8",
        lambda: F.interpolate(torch.arange(16).reshape(1, 1, 4, 4).to(torch.uint8), (2, 3), mode="bilinear").tolist(),
     [[[[2, 4, 5], [10, 12, 13]]]]),
    ("ln bf", lambda: F.layer_norm(torch.tensor([[1.0, 2.0, 4.0]]).bfloat16(), (3,)).tolist(),
        [[-1.0703125, -0.267578125, 1.3359375]]),
    ("gn half", lambda: F.group_norm(torch.tensor([[1.0, 2.0, 4.0]]).half(), 1).tolist(),
        [[-1.0693359375, -0.267333984375, 1.3359375]]),
    ("mp half", lambda: F.max_pool1d(torch.tensor([[[1.0, 2.0, 4.0, 8.0]]]).half(), 2).tolist(), [[[2.0, 8.0]]]),
    ("ap half", lambda: F.avg_pool1d(torch.tensor([[[1.0, 2.0, 4.0, 8.0]]]).half(), 2).tolist(), [[[1.5, 6.0]]]),
    ("aap half", lambda: F.adaptive_avg_pool1d(torch.tensor([[[1.0, 2.0, 4.0, 8.0]]]).half(), 3).tolist(),
        [[[1.5, 3.0, 6.0]]]),
    ("conv bf",
        lambda: F.conv1d(torch.tensor([[[1.0, 2.0, 4.0, 8.0]]]).bfloat16(), torch.ones(1, 1, 2).bfloat16()).tolist(),
        [[[3.0, 6.0, 12.0]]]),
    ("gelu half", lambda: F.gelu(torch.tensor([1.0, -2.0]).half()).tolist(), [0.84130859375, -0.045501708984375]),
    ("sdpa half2", lambda: F.scaled_dot_product_attention(*[torch.eye(2).half()] * 3).tolist(),
     [[0.669921875, 0.330322265625], [0.330322265625, 0.669921875]]),
    ("emb half", lambda: F.embedding(L([0]), torch.eye(2).half()).tolist(), [[1.0, 0.0]]),
    ("gs half", lambda: F.grid_sample(torch.ones(1, 1, 2, 2).half(), z(1, 1, 1, 2).half()).tolist(), [[[[1.0]]]]),
    ("mish half", lambda: F.mish(torch.tensor([1.0, -2.0]).half()).tolist(), [0.865234375, -0.25244140625]),
    ("softplus bf", lambda: F.softplus(torch.tensor([1.0, -2.0]).bfloat16()).tolist(), [1.3125, 0.126953125]),
    ("lrn half", lambda: F.local_response_norm(torch.ones(1, 2, 1).half(), 2).tolist(), [[[1.0], [1.0]]]),
    ("mse half", lambda: F.mse_loss(torch.tensor([1.0, -2.0]).half(), torch.tensor([1.0, -1.0]).half()).item(), 0.5),
    ("bcel half",
        lambda: F.binary_cross_entropy_with_logits(torch.tensor([1.0, -2.0]).half(),
            torch.tensor([1.0, 0.0]).half()).item(),
     0.2200927734375),
    ("elu half", lambda: F.elu(torch.tensor([1.0, -2.0]).half()).tolist(), [1.0, -0.86474609375]),
    ("hsw bf", lambda: F.hardswish(torch.tensor([1.0, -2.0]).bfloat16()).tolist(), [0.66796875, -0.333984375]),
    ("rms half", lambda: F.rms_norm(torch.tensor([[1.0, -2.0]]).half(), (2,)).tolist(),
        [[0.63232421875, -1.2646484375]]),
    ("kl half", lambda: F.kl_div(torch.tensor([1.0, -2.0]).half(), torch.tensor([0.5, 0.5]).half()).item(),
        -0.0966796875),
    ("prelu half", lambda: F.prelu(torch.tensor([1.0, -2.0]).half(), torch.tensor([0.25]).half()).tolist(),
        [1.0, -0.5]),
    ("pixel", lambda: F.pixel_shuffle(torch.arange(8).reshape(1, 4, 1, 2), 2).tolist(),
        [[[[0, 2, 1, 3], [4, 6, 5, 7]]]]),
    ("glu half", lambda: F.glu(torch.tensor([1.0, -2.0]).half()).tolist(), [0.11920166015625]),
    ("cosine half",
        lambda: F.cosine_similarity(torch.tensor([[1.0, -2.0]]).half(), torch.tensor([[1.0, 2.0]]).half()).tolist(),
        [-0.60009765625]),
    ("fold half", lambda: F.fold(torch.ones(1, 4, 1).half(), 2, 2).tolist(), [[[[1.0, 1.0], [1.0, 1.0]]]]),
    ("convT bf", lambda: F.conv_transpose1d(torch.ones(1, 1, 2).bfloat16(), torch.ones(1, 1, 2).bfloat16()).tolist(),
        [[[1.0, 2.0, 1.0]]]),
    ("huber half", lambda: F.huber_loss(torch.tensor([1.0, -2.0]).half(), torch.tensor([1.0, -1.0]).half()).item(),
        0.25),
    ("ebag half", lambda: F.embedding_bag(L([[0, 1]]), torch.eye(2).half()).tolist(), [[0.5, 0.5]]),
    ("lp", lambda: F.lp_pool1d(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), float("inf"), 2).tolist(), [[[2.0, 4.0]]]),
    ("lp 0", lambda: F.lp_pool1d(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 0.5, 2).tolist(),
        [[[5.828427791595459, 13.928203582763672]]]),
    ("amp2idx",
        lambda: F.adaptive_max_pool2d(torch.arange(20.0).reshape(1, 1, 4, 5), (2, 3), return_indices=True)[1].tolist(),
     [[[[6, 8, 9], [16, 18, 19]]]]),
    ("mp3idx",
        lambda: F.max_pool3d(torch.arange(27.0).reshape(1, 1, 3, 3, 3), 2, 1,
            return_indices=True)[1].flatten().tolist(),
     [13, 14, 16, 17, 22, 23, 25, 26]),
    ("mp dil ceil", lambda: F.max_pool1d(torch.arange(7.0).reshape(1, 1, 7), 2, 3, 1, 2, True).tolist(),
        [[[1.0, 4.0, 5.0]]]),
    ("softmax big dt", lambda: F.softmax(torch.tensor([10000.0, 0.0]).half(), 0, dtype=torch.float64).tolist(),
        [1.0, 0.0]),
    ("one", lambda: F.embedding(L([0, 2]), torch.tensor([[3.0, 4.0], [1.0, 0.0], [6.0, 8.0]]), max_norm=1.0).tolist(),
     [[0.6000000238418579, 0.800000011920929], [0.6000000238418579, 0.800000011920929]]),
    ("one1",
        lambda: F.embedding(L([0, 2]), torch.tensor([[3.0, 4.0], [1.0, 0.0], [6.0, 8.0]]), max_norm=1.0,
            norm_type=1.0).tolist(),
     [[0.4285714030265808, 0.5714285373687744], [0.4285714626312256, 0.5714285969734192]]),
    ("bag maxnorm",
        lambda: F.embedding_bag(L([[0, 2]]), torch.tensor([[3.0, 4.0], [1.0, 0.0], [6.0, 8.0]]), max_norm=1.0,
            mode="sum").tolist(),
     [[1.2000000476837158, 1.600000023841858]]),
    ("lbl none weight soft",
     lambda: F.cross_entropy(torch.tensor([[1.0, 2.0]]), torch.tensor([[0.5, 0.5]]), torch.tensor([2.0, 3.0]),
         reduction="none").tolist(),
     [1.7831541299819946]),
    ("nll weight ign",
        lambda: F.nll_loss(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), L([0, 1]), torch.tensor([2.0, 3.0]),
            ignore_index=0).tolist(),
     -4.0),
    ("nll 3d", lambda: F.nll_loss(torch.arange(12.0).reshape(1, 3, 4), L([[0, 1, 2, 0]]), reduction="none").tolist(),
        [[-0.0, -5.0, -10.0, -3.0]]),
    ("nll 5d", lambda: F.nll_loss(torch.arange(24.0).reshape(1, 3, 2, 2, 2), z(1, 2, 2, 2).long()).tolist(), -3.5),
    ("rrelu eval", lambda: F.rrelu(torch.tensor([-1.0, 1.0])).tolist(), [-0.2291666716337204, 1.0]),
    ("poisson0",
        lambda: F.poisson_nll_loss(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]), log_input=False).tolist(), 0.5),
    ("hst", lambda: F.hinge_embedding_loss(torch.tensor([0.5, 0.5]), L([1, -1])).item(), 0.5),
    ("cel", lambda: F.cosine_embedding_loss(torch.ones(2, 2), torch.ones(2, 2), L([1, -1])).item(), 0.5),
    ("mrl int", lambda: F.margin_ranking_loss(torch.ones(2), torch.zeros(2), L([1, -1])).item(), 0.5),
    ("sml int", lambda: F.soft_margin_loss(torch.ones(2), L([1, -1])).item(), 0.813262),
    ("mlsm int", lambda: F.multilabel_soft_margin_loss(torch.ones(1, 2), L([[1, 0]])).item(), 0.8132617473602295),
    ("gnll float var", lambda: F.gaussian_nll_loss(torch.ones(2), torch.zeros(2), 2.0).item(), 0.5965735912322998),
    ("ctc mean",
        lambda: round(F.ctc_loss(torch.zeros(4, 2, 3).log_softmax(2), L([[1, 2], [1, 1]]), (4, 3), (2, 1)).item(), 5),
        1.17364),
    ("ctc sum",
        lambda: round(F.ctc_loss(torch.zeros(4, 2, 3).log_softmax(2), L([1, 2, 1]), L([4, 3]), L([2, 1]),
            reduction="sum").item(), 5),
     3.19048),
    ("ctc 1d", lambda: round(F.ctc_loss(torch.zeros(4, 3).log_softmax(1), L([1, 2]), L(4), L(2)).item(), 5), 0.8432),
    ("ctc empty", lambda: F.ctc_loss(z(3, 1, 2), torch.zeros(1, 0).long(), (3,), (0,)).item(), 0.0),
    ("lce opt",
        lambda: F.linear_cross_entropy(torch.ones(2, 3), torch.ones(4, 3), L([0, 1]),
            options=torch.nn.LinearCrossEntropyOptions()).item(),
     1.3862943649291992),
]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize(("function", "inputs", "values", "gradients"),
    [pytest.param(*row[1:], id=row[0]) for row in GRADIENTS])
def test_value_and_gradient(function, inputs, values, gradients):
    ins = [T(v, True) for v in inputs]
    out = function(*ins)
    np.testing.assert_allclose(out.detach().numpy(), np.array(values, float), rtol=2e-5, atol=1e-6)
    for found, expected in zip(torch.autograd.grad(out.sum(), ins), gradients):
        np.testing.assert_allclose(found.numpy(), np.array(expected, float), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("call", "value"), [pytest.param(*row[1:], id=row[0]) for row in VALUES])
def test_value(call, value):
    np.testing.assert_allclose(np.array(call(), float), np.array(value, float), rtol=2e-5, atol=1e-6)


def test_sizes_of_an_affine_grid_may_be_tensors():
    K = torch.tensor
    expected = F.affine_grid(torch.ones(1, 2, 3), (1, 1, 2, 3), align_corners=False)
    for size in ([K(1), 1, K(2), 3], tuple(K([1, 1, 2, 3])), K([1, 1, 2, 3]), torch.Size([1, 1, 2, 3])):
        assert F.affine_grid(torch.ones(1, 2, 3), size, align_corners=False).equal(expected)
    for size in ([1, 1, 2, 3.0], [1, 1, K(2.0), 3], [1, 1, K([2, 2]), 3]):
        with pytest.raises(TypeError):
            F.affine_grid(torch.ones(1, 2, 3), size, align_corners=False)


def test_group_statistics_of_no_examples(torch):
    shapes = [tuple(t.shape) for t in torch.native_group_norm(torch.rand(0, 4, 3), None, None, 0, 4, 3, 2, 1e-5)]
    assert shapes == [(0, 4, 3), (0, 2), (0, 2)]


def functional(torch):
    return importlib.import_module(f"{torch.__name__}.nn.functional")


@pytest.mark.parametrize("volume", [False, True], ids=["image", "volume"])
def test_padding_with_a_number_keeps_channels_innermost(torch, volume):
    n = 3 if volume else 2
    x = torch.randn(2, 3, *[4] * n).to(memory_format=torch.channels_last_3d if volume else torch.channels_last)
    for amounts in ((1, 1), (-1, 2, 0, 1)):
        y = functional(torch).pad(x, amounts, value=2.0)
        assert y.stride(1) == 1
        assert torch.equal(y, functional(torch).pad(x.contiguous(), amounts, value=2.0))
    assert functional(torch).pad(x.contiguous(), (1, 1)).is_contiguous()


def test_rms_norm_keeps_channels_innermost(torch):
    x = torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)
    assert functional(torch).rms_norm(x, (4,)).stride() == x.stride()
    assert functional(torch).rms_norm(x, (3, 4, 4), torch.ones(3, 4, 4)).stride() == x.stride()
    assert functional(torch).rms_norm(x.transpose(0, 3), (2,)).is_contiguous()


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
@pytest.mark.parametrize("p, writes", [(0.0, 0), (0.5, 2), (1.0, 1)])
def test_alpha_dropout_in_place(torch, name, p, writes):
    x = torch.ones(2, 3, 4, requires_grad=True).clone()
    y = getattr(functional(torch), name)(x, p, True, inplace=True)
    assert y is x
    assert x._version == writes


def test_a_margin_loss_of_one_example_has_the_shape_of_its_target(torch):
    f, x = functional(torch).multi_margin_loss, torch.randn(5)
    assert [f(x, torch.tensor(t), reduction="none").shape for t in (3, [3])] == [(), (1,)]


@pytest.mark.parametrize("one", [np.int32, np.int64, np.uint8, "tensor"])
def test_numpys_integers_and_tensors_of_one_as_sizes(torch, one):
    one = torch.tensor if one == "tensor" else one
    F = torch.nn.functional
    row, image, w = torch.arange(24.0).view(1, 2, 12), torch.arange(72.0).view(1, 2, 6, 6), torch.ones(2, 2, 3)
    for f in (lambda k: F.conv1d(row, w, padding=k, dilation=k, stride=k), lambda k: F.conv1d(row, w, groups=k // 2),
            lambda k: F.conv_transpose1d(row, w, stride=k), lambda k: F.conv2d(image, w[..., None], padding=(k, k)),
            lambda k: F.avg_pool1d(row, k), lambda k: F.avg_pool2d(image, k, stride=k), lambda k: F.pad(row, (k, 1)),
            lambda k: F.adaptive_max_pool1d(row, k), lambda k: F.interpolate(image, size=k)):
        assert torch.equal(f(one(2)), f(2))
    if one is not torch.tensor:  # which PyTorch's maxima do not take
        for f in (lambda k: F.max_pool1d(row, k, k), lambda k: F.max_pool2d(image, k, stride=k),
                lambda k: torch.nn.MaxPool2d(k)(image), lambda k: torch.nn.Conv1d(2, 2, k, padding=k).weight):
            assert f(one(2)).shape == f(2).shape


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 4, 5), (1, 2, 3, 4, 5)])
def test_one_window_over_all_of_an_image(shape):
    n = len(shape) - 2
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[n - 1]
    numbers = np.random.default_rng(0).integers(-3, 3, shape).astype(np.float64)
    with_nan = numbers.copy()
    with_nan[0, 1].flat[[1, 3]] = nan
    for data in (numbers, with_nan, np.full(shape, -inf)):
        a = torch.tensor(data, requires_grad=True)
        values, places = pool(a, shape[2:], return_indices=True)
        with torch.no_grad():
            np.testing.assert_array_equal(pool(a, shape[2:]).numpy(), values.detach().numpy())
        rows = data.reshape(*shape[:2], -1)
        np.testing.assert_array_equal(values.detach().numpy().reshape(shape[:2]), rows.max(-1))
        expected = rows.argmax(-1)
        if data is with_nan:
            expected[0, 1] = 3  # the last
        assert places.flatten().tolist() == expected.reshape(-1).tolist()
        values.nansum().backward()
        assert int((a.grad != 0).sum()) == values.numel() - (data is with_nan)


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_lies_as_its_queries_do(order, causal):
    sizes, back = (2, 3, 4), [order.index(i) for i in range(3)]
    q, k, v = (torch.randn([*(sizes[d] for d in order), 8]).permute(*back, 3) for _ in range(3))
    found = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    plain = F.scaled_dot_product_attention(*(t.contiguous() for t in (q, k, v)), is_causal=causal)
    assert found.stride() == q.stride()
    np.testing.assert_array_equal(found.numpy(), plain.numpy())


@pytest.mark.parametrize("p", [0.1, 0.3, 0.8])
def test_alpha_dropout_shifts_by_the_share_that_is_dropped(torch, p):
    a = ((1.7580993408473766**2 * p + 1) * (1 - p)) ** -0.5
    torch.manual_seed(0)
    y = torch.nn.functional.alpha_dropout(torch.full((200,), 2.0), p, True)
    kept, dropped = 2 * a + 1.7580993408473766 * a * p, -1.7580993408473766 * a * (1 - p)
    assert len(y.unique()) == 2 and abs(y.max() - kept) < 1e-5 and abs(y.min() - dropped) < 1e-5


def test_convolutions_of_lines_lie_row_by_row(torch):
    """PyTorch copies permuted lines first, so what is drawn in the order of memory afterwards is in this order too."""
    x, w = torch.randn(3, 5, 6).transpose(1, 2), torch.randn(4, 6, 3)
    assert torch.nn.functional.conv1d(x, w).stride() == (12, 3, 1)
    assert torch.nn.functional.conv_transpose1d(x, w.transpose(0, 1)[:, :, :1]).stride() == (20, 5, 1)


def test_convolutions_see_one_channel_innermost_by_its_strides(torch):
    line, image = torch.randn(3, 5, 1).transpose(1, 2), torch.randn(2, 5, 6, 1).permute(0, 3, 1, 2)
    assert torch.nn.functional.conv1d(line, torch.randn(4, 1, 1)).stride() == (20, 1, 4)
    assert torch.nn.functional.conv2d(image, torch.randn(4, 1, 1, 1)).stride() == (120, 1, 24, 4)
    assert torch.nn.functional.conv2d(image.clone(memory_format=torch.contiguous_format)[:, :, :4],
        torch.randn(4, 1, 1, 1)).stride() == (96, 24, 6, 1)


def test_elu_keeps_the_sign_of_zero(torch):
    f = torch.nn.functional
    for d in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        x = torch.tensor([0.0, -0.0] * 20, dtype=d)
        for call in (f.elu, f.celu, f.selu, lambda x: f.elu(x, -2.0)):
            assert torch.equal(torch.signbit(call(x)), torch.signbit(x))


@pytest.mark.parametrize("offset", [0.0, 100.0, 1e4])
def test_gradients_of_cross_entropy_of_images_add_up_to_nothing(offset: float) -> None:
    """Also where the logarithm of the sum is rounded to much less than the scores differ by."""
    torch.manual_seed(0)
    x = (torch.randn(2, 5, 8, 8) + offset).requires_grad_()
    torch.nn.functional.cross_entropy(x, torch.randint(0, 5, (2, 8, 8)), reduction="sum").backward()
    assert x.grad.sum(1).abs().max() < 1e-6
    wide = x.detach().double().softmax(1)
    assert ((x.grad - (wide - (x.grad < 0).double())).abs() < 1e-6).all()
