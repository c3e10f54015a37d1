"""Samples for losses."""

from __future__ import annotations

import numpy as np

import wengert as torch

from ..sampling import A, C, P, U, call

_TARGETS = torch.tensor([[0.9, 0.3, 0.62], [0.45, 0.2, 0.7]], dtype=torch.float64, requires_grad=True)
_CHANCES = torch.tensor([[0.4, 0.55, 0.73], [0.12, 0.35, 0.81]], dtype=torch.float64, requires_grad=True)
_NONE = torch.zeros(0, 3, dtype=torch.float64, requires_grad=True)
_HALF = torch.tensor([[0.3, 0.6, 0.8], [0.2, 0.5, 0.9]], dtype=torch.float64)
_TWICE = torch.tensor([[0.6, 1.2, 1.6], [0.4, 1.0, 1.8]], dtype=torch.float64)  # weights have no gradient
_WEIGHTS = torch.tensor([0.7, 1.9, 0.4, 1.3], dtype=torch.float64)
_SIGNS = C([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])
_TWO = [call(A(2, 3), A(2, 3)), call(A(2, 3), A(2, 3), "sum"), call(A(2, 3), A(3), "none"), call(A(), A()), call(A(0, 3), A(0, 3), "sum")]

SAMPLES = {
    "kl_div": [call(A(2, 3), P(2, 3)), call(A(2, 3), P(2, 3), reduction="batchmean"), call(A(2, 3), A(2, 3), reduction="none", log_target=True),
               call(A(2, 3), P(3), reduction="sum"), call(A(0, 3), P(0, 3), reduction="sum")],
    "binary_cross_entropy": [call(_CHANCES, _CHANCES), call(_CHANCES, _HALF, _TWICE), call(_CHANCES, _HALF, reduction="none"), call(_NONE, _NONE, reduction="sum")],
    "binary_cross_entropy_with_logits": [call(A(2, 3), U(2, 3)), call(A(2, 3), _HALF, _TWICE, reduction="sum"), call(A(2, 3), U(2, 3), _WEIGHTS[:3], pos_weight=_WEIGHTS[1:]),
                                         call(A(2, 3), _HALF, reduction="none"), call(A(0, 3), U(0, 3), reduction="sum")],
    "soft_margin_loss": [call(A(2, 3), _SIGNS), call(A(2, 3), C([[0.5, -2.0, 1.0], [-1.0, 3.0, -0.7]]), reduction="sum"), call(A(2, 3), _SIGNS, reduction="none"),
                         call(A(0, 3), C(np.zeros((0, 3))), reduction="sum")],
    "hinge_embedding_loss": [call(A(2, 3), _SIGNS), call(A(2, 3), _SIGNS, 0.4, reduction="sum"), call(A(2, 3), _SIGNS, reduction="none")],
    "margin_ranking_loss": [call(A(3), A(3), C([1.0, -1.0, 1.0])), call(A(2, 3), A(2, 3), _SIGNS, 0.7, reduction="sum"), call(A(2, 3), A(2, 3), _SIGNS, reduction="none"),
                            call(A(0), A(0), A(0), reduction="sum")],
    "cosine_embedding_loss": [call(A(3, 4), A(3, 4), C([1.0, -1.0, 1.0])), call(A(3, 4), A(3, 4), C([1.0, -1.0, -1.0]), -0.9, reduction="sum"),
                              call(A(4), A(4), C(-1.0), -0.9, reduction="none")],
    "triplet_margin_loss": [call(A(3, 4), A(3, 4), A(3, 4)), call(A(3, 4), A(3, 4), A(3, 4), 2.0, 3.0, 1e-6, True), call(A(4), A(4), A(4), reduction="sum"),
                            call(A(3, 4), A(3, 4), A(3, 4), 5.0, reduction="none")],
    "poisson_nll_loss": [call(A(2, 3), P(2, 3)), call(P(2, 3), P(2, 3), False), call(A(2, 3), C([[0.5, 3.0, 2.0], [1.5, 0.2, 4.0]]), full=True, reduction="sum"),
                         call(A(2, 3), A(2, 3), reduction="none")],
    "gaussian_nll_loss": [call(A(2, 3), A(2, 3), P(2, 3)), call(A(2, 3), A(2, 3), P(2, 1), full=True), call(A(2, 3), A(2, 3), P(2), reduction="sum"),
                          call(A(2, 3), A(2, 3), 0.5, reduction="none"), call(A(0, 3), A(0, 3), P(0, 3), reduction="sum")],
    "multi_margin_loss": [call(A(3, 4), C([1, 0, 3])), call(A(3, 4), C([1, 0, 3]), 2, 0.7, _WEIGHTS), call(A(4), C(2), reduction="sum"), call(A(3, 4), C([1, 0, 3]), reduction="none")],
    "multilabel_margin_loss": [call(A(2, 4), C([[3, 0, -1, 1], [1, -1, 2, 0]])), call(A(4), C([2, -1, 0, 1]), reduction="sum"), call(A(2, 3), C([[0, 1, 2], [-1, 0, 1]]), reduction="none")],
    "multilabel_soft_margin_loss": [call(A(2, 3), C([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])), call(A(2, 3), A(2, 3), P(3), reduction="sum"),
                                    call(A(2, 3), C([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]), reduction="none")],
    # what the overloads of nn.functional call
    "mse_loss": _TWO, "l1_loss": _TWO, "smooth_l1": [*_TWO, call(A(2, 3), A(2, 3), "mean", 0.4)], "huber": [*_TWO, call(A(2, 3), A(2, 3), "mean", 0.4)],
    "bce_elements": [call(_CHANCES, _TARGETS)], "bce_logit_elements": [call(A(2, 3), U(2, 3)), call(A(2, 3), U(2, 3), "mean", C([0.5, 1.0, 2.0]), C([2.0, 0.3, 3.0]))],
    "cross_entropy_soft": [call(A(2, 3), P(2, 3), None, "mean", 0.0), call(A(2, 3), P(2, 3), P(3), "sum", 0.2), call(A(2, 3, 2), P(2, 3, 2), P(3), "none", 0.0),
                           call(A(3), P(3), None, "mean", 0.1)],
    "nll": [call(A(2, 3), np.array([1, 0]), None, "mean", -100), call(A(3, 3), np.array([1, 0, 2]), np.array([0.5, 2.0, 1.0]), "mean", 0),
            call(A(2, 3, 2), np.array([[1, 0], [2, 2]]), None, "none", -100), call(A(0, 3), np.zeros(0, int), None, "sum", -100)],
    "margin_losses": [call(A(2, 4), np.array([[3, 0, -1, 1], [-1, 1, 2, 0]]), 1, 1.0, None, "none"), call(A(3, 4), np.array([[1], [0], [3]]), 2, 0.7, np.array([0.5, 2.0, 1.0, 0.3]), "mean"),
                      call(A(0, 3), np.zeros((0, 1), int), 1, 1.0, None, "sum")],
    "cross_entropy_index": [call(A(2, 3), np.array([1, 0]), None, "mean", -100), call(A(3, 3), np.array([1, 0, 2]), np.array([0.5, 2.0, 1.0]), "mean", 0),
                            call(A(2, 3, 2), np.array([[1, 0], [2, 2]]), None, "none", -100), call(A(0, 3), np.zeros(0, int), None, "sum", -100)],
}
