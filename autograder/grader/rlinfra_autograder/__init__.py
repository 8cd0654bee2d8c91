"""Grading the rlinfra course: tasks, hidden cases, judge, and the way from submission to grade. Staff only."""

__version__ = "0.1.0"
