"""Samples for einsum."""

from __future__ import annotations

from ..sampling import A, call

SAMPLES = {
    "einsum": [
        call("ij,jk->ik", A(2, 3), A(3, 4)), call("ii->i", A(3, 3)), call("ij->", A(2, 3)), call("bij,bjk", A(2, 2, 3), A(2, 3, 2)),
        call("i,j->ij", A(2), A(3)), call("...ij,...jk->...ik", A(2, 1, 2, 3), A(3, 3, 2)), call("ij,jk,kl->il", A(2, 3), A(3, 4), A(4, 2)),
        call("ij,ij->j", A(1, 3), A(2, 3)), call(A(2, 3), [0, 1], A(3), [1], [0]), call("ij,jk->ik", A(0, 3), A(3, 2)),
    ],
}
