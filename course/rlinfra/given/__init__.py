"""What notebooks hand out: units, the validators of arguments, and a module a topic."""

from .arguments import require_count, require_fraction, require_nonnegative, require_positive
from .tables import Table, attempt, table
from .units import BYTES_PER_GB, BYTES_PER_GIB, human_bytes

__all__ = [
    "BYTES_PER_GB",
    "BYTES_PER_GIB",
    "Table",
    "attempt",
    "human_bytes",
    "require_count",
    "require_fraction",
    "require_nonnegative",
    "require_positive",
    "table",
]
