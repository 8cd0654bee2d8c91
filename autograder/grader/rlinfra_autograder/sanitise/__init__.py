"""What a student's notebook brings, made safe to show: no script, nothing from outside, nothing over its neighbours.

Sources, outputs, metadata, attachments and ids are hostile. Nothing of them is passed on: every node is built anew from
the keys that are known, and every function takes whatever JSON may hold and never raises.
"""

from .markdown import clean_markdown
from .notebook import clean_cell, clean_notebook
from .outputs import clean_output

__all__ = ["clean_cell", "clean_markdown", "clean_notebook", "clean_output"]
