"""Bytes for reading: GiB are binary (2**30), GB are decimal (10**9), and the two differ by 7.4 %."""

from __future__ import annotations

BYTES_PER_GB = 10**9
BYTES_PER_GIB = 2**30

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human_bytes(n: float) -> str:
    """Return a number of bytes in the largest binary unit that leaves at least 1, such as `16.00 GiB`.

    Raises `ValueError` where `n` is negative, not finite or beyond all sense.
    """
    if isinstance(n, bool) or not 0 <= n < 1e300:  # so is NaN
        raise ValueError(f"n must be a number of bytes, 0 or more, not {n!r}")
    power = 0
    while power < len(_BINARY) - 1 and round(n / 1024**power, 2 if power else 0) >= 1024:
        power += 1
    return f"{n:g} B" if power == 0 else f"{n / 1024**power:.2f} {_BINARY[power]}"
