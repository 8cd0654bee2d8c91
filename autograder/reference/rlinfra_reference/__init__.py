"""The reference solutions of the course, one module a topic. Staff only: enrolled students do not install it.

The public names of every topic's module (`__all__`) are offered here too, so that a new topic needs no line here.
"""

from importlib import import_module

from rlinfra.given import BYTES_PER_GIB, human_bytes
from rlinfra.topics import TOPICS

__version__ = "0.1.0"
__all__ = ["BYTES_PER_GIB", "human_bytes"]

for _topic in TOPICS:
    _module = import_module(f"{__name__}.{_topic.module}")
    globals().update({_name: getattr(_module, _name) for _name in _module.__all__})
    __all__ += _module.__all__
