"""The submission doctor: what a student handed in is repaired against the released notebook, or refused with a reason.

`folder` finds the file, `document` reads its cells, `pieces` takes merged cells apart, `match` finds which released
cell each one is, `rebuild` writes the notebook that is graded, and `doctor` decides between files.
"""

from .doctor import take_in
from .outcome import Admitted, Refused, Repair

__all__ = ["Admitted", "Refused", "Repair", "take_in"]
