"""Where student code runs: a notebook in, an executed notebook and observations out.

`child/` is what runs in the student's environment: a warm zygote, and the confined children that it forks, one for
each run. The rest is the grader's side: `zygote` starts it, `process` talks to one child, `attempt` follows one run and
keeps its time, `runner` begins again without what hangs or dies.
"""
