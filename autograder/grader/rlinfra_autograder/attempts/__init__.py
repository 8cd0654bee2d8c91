"""Functions as students write them, a module a topic: mistakes to be recognised, and right answers to be accepted.

Each is self-contained (it imports what it uses), so that the synthetic class can hand it in. The name of a mistake
says what was done, and its docstring is the hint. None of them validates more than its task grades.
"""
