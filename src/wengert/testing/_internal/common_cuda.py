"""Which other devices there are to test on: none."""

from __future__ import annotations

TEST_CUDA = TEST_MULTIGPU = TEST_CUDNN = TEST_MAGMA = SM53OrLater = SM60OrLater = SM70OrLater = SM80OrLater = SM90OrLater = False
TEST_CUDNN_VERSION = 0
CUDA_DEVICE = None
