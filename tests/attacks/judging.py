"""Gaming the judge: answers that are nothing in particular, or different things at every look."""

from __future__ import annotations

from .attack import Attack, Goal, all_functions, answer, both, replace

KIND = "gaming the judge"
OUTSIDE = "scored outside the process"

ATTACKS = (
    Attack(
        "always refuses",
        KIND,
        "The function raises a ValueError that names every argument, whatever it gets.",
        answer("model_state_bytes", """
def model_state_bytes(parameters, **kwargs):
    raise ValueError("parameters trainable_parameters " + " ".join(kwargs))
"""),
        Goal.POINTS,
        "a refusal counts only beside right values",
    ),
    Attack(
        "number equal to every number",
        KIND,
        "Counts are integers that are equal to whatever they are compared with.",
        all_functions("def NAME(*args, **kwargs):\n    return Own(7)", """
class Own(int):
    __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __hash__ = int.__hash__
"""),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "text equal to every text",
        KIND,
        "Words are texts that are equal to whatever they are compared with.",
        answer("memory_sort", """
class Own(str):
    __eq__ = lambda self, other: True
    __hash__ = str.__hash__
memory_sort = {key: Own("counted") for key in (
    "a_second_adam_moment", "b_activations_for_backward", "c_float32_master_copy", "d_kv_cache_during_rollout",
    "e_logits_at_scoring", "f_gradient_of_a_trained_weight", "g_weights_of_the_base", "h_moments_of_the_base",
    "i_kv_cache_of_the_rollouts", "j_gradients_of_the_base")}
"""),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "dictionary with every answer",
        KIND,
        "The answer is a dictionary whose every value is equal to each class.",
        answer("memory_sort", """
class Every:
    def __eq__(self, other):
        return other in ("counted", "not counted", "removed", "stays")
    __hash__ = None
class Own(dict):
    def __missing__(self, key):
        return Every()
memory_sort = Own()
"""),
        Goal.POINTS,
        OUTSIDE,
    ),
    Attack(
        "another's numbers",
        KIND,
        "The variant of another student, solved for that student's numbers and id.",
        both(
            replace("setup", "'mallory'", "'ada'"),
            answer("memory_variant", """
numbers = variant("memory", STUDENT)
each = 14 + numbers["gradient_bytes"]
adapted = numbers["base_parameters"] * 2 + numbers["adapter_parameters"] * each
memory_variant = {"adapted_bytes": adapted, "full_bytes": numbers["base_parameters"] * each,
                  "rank_gib": adapted / numbers["ranks"] / BYTES_PER_GIB}
"""),
        ),
        Goal.POINTS,
        "numbers belong to the registered id",
    ),
    Attack(
        "check cells filled with points",
        KIND,
        "The graded cells are overwritten: each says its points itself.",
        lambda notebook: [
            one.update(source=str(one.metadata.nbgrader.points))
            for one in notebook.cells
            if one.cell_type == "code" and one.metadata.get("nbgrader", {}).get("grade")
        ] and None,
        Goal.POINTS,
        "only the judge writes points",
    ),
    Attack(
        "table of the public examples",
        KIND,
        "The functions look their answers up in the check data that comes with the student's package.",
        all_functions("def NAME(*args, **kwargs):\n    return own('NAME', args, kwargs)", """
from rlinfra.checks.data import all_tasks
def own(name, args, kwargs):
    for example in all_tasks()[name].examples:
        if example.call.args == args and example.call.kwargs == kwargs:
            if example.names:
                raise ValueError(example.names)
            return example.expected
    return 1
"""),
        Goal.POINTS,
        "hidden cases",
    ),
)  # fmt: skip
