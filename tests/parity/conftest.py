"""Seeds are for the processor."""

from __future__ import annotations

import torch


def ask_for_nothing(call: object, **kind: bool) -> None:
    """What a device that is not there shall do once it is."""


# ``torch.manual_seed`` notes each seed for devices that are not there, with a traceback in words: milliseconds, of
# which a test of random calls spent three quarters.
for device, place in ((torch.cuda, torch.cuda.random), (torch.xpu, torch.xpu.random), (torch.mtia, torch.mtia)):
    if not device.is_available():
        assert callable(place._lazy_call)
        place._lazy_call = ask_for_nothing
