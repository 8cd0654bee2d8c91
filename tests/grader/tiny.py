"""A task small enough to be judged by hand, in a module of its own, since mutants are made of a module's source.

Sending parcels costs `each` for every one and 5 for the collection. Four points: 2 for the price, 1 for sending
none, 1 for refusing a negative count. The last two count only with the first.
"""

from rlinfra.checks.compare import Integer
from rlinfra_autograder.tasks.model import Criterion, FunctionTask, case, refused


def parcel_cost(parcels, *, each):
    """Return the cost of sending parcels."""
    if parcels < 0:
        raise ValueError(f"parcels must be at least 0, not {parcels}")
    return parcels * each + 5


def fee_forgotten(parcels, *, each):
    """Your value lacks exactly 5.

    Who collects the parcels?
    """
    return parcels * each


def fee_for_each(parcels, *, each):
    """Your value takes the fee for each parcel. How often is the collector called?"""
    return parcels * (each + 5)


def _checked(parcels):
    if parcels < 0:
        raise ValueError("parcels is negative")
    return parcels


def cost_sum(parcels, *, each):
    return sum([each] * _checked(parcels)) + 5


def cost_float(parcels, *, each):
    return 5.0 + each * _checked(parcels)


def cost_turned(parcels, *, each):
    return 5 + each * _checked(parcels)


TASK = FunctionTask(
    name="parcel_cost",
    reference=parcel_cost,
    accept=Integer(),
    examples=(case(3, each=4), case(0, each=4), refused("parcels", -1, each=4)),
    criteria=(
        Criterion("some", "a few parcels", 2, lambda draws: [case(3, each=draws.integer(60, 69)), case(2, each=70)]),
        Criterion("none", "no parcels", 1, lambda draws: [case(0, each=draws.integer(60, 69))], "some"),
        Criterion("senseless", "a negative count is refused", 1, lambda _: [refused("parcels", -1, each=70)], "some"),
    ),
    misconceptions=(fee_forgotten, fee_for_each),
    correct=(cost_sum, cost_float, cost_turned),
)

# 2 × 2 = 2 + 2 and 0 × 0 = 0 + 0: of the 9 mutants of `parcels * each + 5` one survives.
WEAK = (Criterion("some", "a few parcels", 2, lambda _: [case(2, each=2), case(0, each=0)]),)
