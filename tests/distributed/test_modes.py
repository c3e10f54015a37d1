"""Every way to train in several processes, against one process: equal losses, or nearly equal where gradients travel
compressed.
"""

from __future__ import annotations

import pytest

from .test_collectives import everyone_done


@pytest.mark.parametrize("count", [2, 3, 4])
def test_losses_are_those_of_one_process(torchrun, count):
    """``WENGERT_MODES=all`` trains all modes in both types and for 100 steps by three and four processes too."""
    everyone_done(torchrun("modes.py", count, timeout=600), count)


@pytest.mark.parametrize("count", [2, 3])
def test_compressed_gradients_lead_to_the_same_loss(torchrun, count):
    """A hook knows of the others only how many there are to divide by."""
    everyone_done(torchrun("compressed.py", count), count)
