"""Where student code runs: a notebook in, an executed notebook and observations out.

`child/` is what runs in the student's environment, in a process of its own; `runner.py` is the parent's side, which
owns the clock and the notebook; `confinement` is what the child puts on before it meets student code.
"""
