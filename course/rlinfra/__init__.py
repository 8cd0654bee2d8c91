"""A course on reinforcement-learning infrastructure for large language models: what students install.

Pure Python: importing it, its checks and its variants needs neither NumPy nor torch nor a network.
"""

from .checks import check
from .variants import variant

__version__ = "0.1.0"

__all__ = ["__version__", "check", "variant"]
