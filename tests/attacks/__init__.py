"""Attacks on the grader, as tests that it withstands them: wrong answers plus one trick each.

`attack.py` says what an attack is, `world.py` what it could reach, the modules of `catalogue.py` hold the attacks by
kind, `defences.py` switches single defences off, `stock.py` measures what the same notebooks get from plain nbgrader.
"""
