"""What the course models, once measured on a real model: log-probabilities at zero lag, seconds, and bytes.

    report = recorded_run()          # the run that comes with the course; needs nothing
    report = measure(Settings(random_weights=True, tiny=True), progress=print)
    report.rows(), report.figure(), report.sequences, report.comparison("temperature_forgotten")

Where to read on: `settings` has every choice, `run` the order of the steps, `control` the log-probabilities and their
mistakes, `sweep` the timings, `roofline` what they are compared with, `report` what comes out. `rlinfra measure` is the
same at the command line. Importing this needs neither torch nor NumPy; `measure` needs the extra `model`.
"""

from .problem import ModelProblem
from .report import Report, recorded_run
from .run import measure
from .settings import Settings, describe_plan

__all__ = ["ModelProblem", "Report", "Settings", "describe_plan", "measure", "recorded_run"]
