"""Attempts at the tasks of topic `memory`: mistakes, each with its hint, then right answers written in other ways."""


# --- bytes_per_parameter -----------------------------------------------------------------------------------------


def master_forgotten(*, parameter_bytes, gradient_bytes, optimizer_state_bytes, master_parameter_bytes):
    """Your value lacks exactly the master copy. In which precision does the optimizer add its small updates?"""
    return parameter_bytes + gradient_bytes + optimizer_state_bytes


def gradient_forgotten(*, parameter_bytes, gradient_bytes, optimizer_state_bytes, master_parameter_bytes):
    """Your value lacks exactly the gradient. What does the backward pass leave behind for every trainable parameter?"""
    return parameter_bytes + optimizer_state_bytes + master_parameter_bytes


def moments_doubled(*, parameter_bytes, gradient_bytes, optimizer_state_bytes, master_parameter_bytes):
    """Your value counts the optimizer twice. Do the 8 bytes stand for one moment or for both?"""
    return parameter_bytes + gradient_bytes + 2 * optimizer_state_bytes + master_parameter_bytes


def profile_sum(**components):
    return sum(components.values())


def profile_loop(*, parameter_bytes, gradient_bytes, optimizer_state_bytes, master_parameter_bytes):
    total = 0.0
    for size in (master_parameter_bytes, optimizer_state_bytes, gradient_bytes, parameter_bytes):
        total += size
    return total


def profile_numpy(*, parameter_bytes, gradient_bytes, optimizer_state_bytes, master_parameter_bytes):
    import numpy as np

    return np.array([parameter_bytes, gradient_bytes, optimizer_state_bytes, master_parameter_bytes]).sum()


# --- model_state_bytes -------------------------------------------------------------------------------------------


def frozen_gradients(
    parameters, *, trainable_parameters=None, parameter_bytes, gradient_bytes, optimizer_state_bytes,
    master_parameter_bytes,
):  # fmt: skip
    """Your value gives frozen weights a gradient and optimizer state. Which parameters does the optimizer step?"""
    parts = {
        "parameter_bytes": parameters * parameter_bytes,
        "gradient_bytes": parameters * gradient_bytes,
        "optimizer_state_bytes": parameters * optimizer_state_bytes,
        "master_parameter_bytes": parameters * master_parameter_bytes,
    }
    return {**parts, "total_bytes": sum(parts.values())}


def frozen_master(
    parameters, *, trainable_parameters=None, parameter_bytes, gradient_bytes, optimizer_state_bytes,
    master_parameter_bytes,
):  # fmt: skip
    """Your value keeps a master copy of frozen weights. What is a master copy needed for, if a weight never changes?"""
    trainable = parameters if trainable_parameters is None else trainable_parameters
    parts = {
        "parameter_bytes": parameters * parameter_bytes,
        "gradient_bytes": trainable * gradient_bytes,
        "optimizer_state_bytes": trainable * optimizer_state_bytes,
        "master_parameter_bytes": parameters * master_parameter_bytes,
    }
    return {**parts, "total_bytes": sum(parts.values())}


def trainable_weights_only(
    parameters, *, trainable_parameters=None, parameter_bytes, gradient_bytes, optimizer_state_bytes,
    master_parameter_bytes,
):  # fmt: skip
    """Your value holds only the trainable weights. Can the forward pass do without the frozen ones?"""
    trainable = parameters if trainable_parameters is None else trainable_parameters
    parts = {
        "parameter_bytes": trainable * parameter_bytes,
        "gradient_bytes": trainable * gradient_bytes,
        "optimizer_state_bytes": trainable * optimizer_state_bytes,
        "master_parameter_bytes": trainable * master_parameter_bytes,
    }
    return {**parts, "total_bytes": sum(parts.values())}


def zero_means_all(
    parameters, *, trainable_parameters=None, parameter_bytes, gradient_bytes, optimizer_state_bytes,
    master_parameter_bytes,
):  # fmt: skip
    """Your value treats "0 trainable" like "not given". How do you tell 0 from None?"""
    trainable = trainable_parameters or parameters
    parts = {
        "parameter_bytes": parameters * parameter_bytes,
        "gradient_bytes": trainable * gradient_bytes,
        "optimizer_state_bytes": trainable * optimizer_state_bytes,
        "master_parameter_bytes": trainable * master_parameter_bytes,
    }
    return {**parts, "total_bytes": sum(parts.values())}


def state_with_validators(
    parameters, *, trainable_parameters=None, parameter_bytes, gradient_bytes, optimizer_state_bytes,
    master_parameter_bytes,
):  # fmt: skip
    from rlinfra.given import require_count, require_nonnegative

    require_count("parameters", parameters)
    if trainable_parameters is None:
        trainable_parameters = parameters
    require_count("trainable_parameters", trainable_parameters)
    if trainable_parameters > parameters:
        raise ValueError("trainable_parameters is more than parameters")
    sizes = {
        "gradient_bytes": gradient_bytes,
        "optimizer_state_bytes": optimizer_state_bytes,
        "master_parameter_bytes": master_parameter_bytes,
    }
    result = {"parameter_bytes": parameters * require_nonnegative("parameter_bytes", parameter_bytes)}
    for name, size in sizes.items():
        result[name] = trainable_parameters * require_nonnegative(name, size)
    result["total_bytes"] = sum(result.values())
    return result


def state_by_hand(
    parameters, *, trainable_parameters=None, parameter_bytes, gradient_bytes, optimizer_state_bytes,
    master_parameter_bytes,
):  # fmt: skip
    import math

    if not isinstance(parameters, int) or isinstance(parameters, bool) or parameters < 0:
        raise ValueError(f"bad parameters: {parameters}")
    trainable = parameters if trainable_parameters is None else trainable_parameters
    if not isinstance(trainable, int) or isinstance(trainable, bool) or not 0 <= trainable <= parameters:
        raise ValueError(f"bad trainable_parameters: {trainable}")
    per_trainable = 0.0
    for name, size in (
        ("parameter_bytes", parameter_bytes),
        ("gradient_bytes", gradient_bytes),
        ("optimizer_state_bytes", optimizer_state_bytes),
        ("master_parameter_bytes", master_parameter_bytes),
    ):
        if not math.isfinite(size) or size < 0:
            raise ValueError(f"{name} may not be {size}")
        per_trainable += size
    frozen = parameters - trainable
    return {
        "parameter_bytes": float(parameters * parameter_bytes),
        "gradient_bytes": trainable * gradient_bytes,
        "optimizer_state_bytes": trainable * optimizer_state_bytes,
        "master_parameter_bytes": trainable * master_parameter_bytes,
        "total_bytes": frozen * parameter_bytes + trainable * per_trainable,
    }


def state_dataclass(
    parameters, *, trainable_parameters=None, parameter_bytes, gradient_bytes, optimizer_state_bytes,
    master_parameter_bytes,
):  # fmt: skip
    from dataclasses import make_dataclass

    import numpy as np

    from rlinfra.given import require_count, require_nonnegative

    trained = require_count("parameters", parameters)
    if trainable_parameters is not None:
        trained = require_count("trainable_parameters", trainable_parameters)
        if trained > parameters:
            raise ValueError("trainable_parameters > parameters")
    names = ["parameter_bytes", "gradient_bytes", "optimizer_state_bytes", "master_parameter_bytes"]
    sizes = [parameter_bytes, gradient_bytes, optimizer_state_bytes, master_parameter_bytes]
    for name, size in zip(names, sizes, strict=True):
        require_nonnegative(name, size)
    parts = np.array([parameters, trained, trained, trained], dtype=np.int64) * np.array(sizes)
    return make_dataclass("State", [*names, "total_bytes"])(*parts, parts.sum())


# --- lora_state_bytes --------------------------------------------------------------------------------------------


def base_trained(base_parameters, adapter_parameters, *, base_parameter_bytes, bytes_per_trainable_parameter):
    """Your value charges the frozen base like trainable parameters. Which state does a frozen weight not need?"""
    return (base_parameters + adapter_parameters) * bytes_per_trainable_parameter


def adapter_weights_only(base_parameters, adapter_parameters, *, base_parameter_bytes, bytes_per_trainable_parameter):
    """Your value counts the adapter's weights alone. What else does the optimizer keep for a parameter it trains?"""
    return (base_parameters + adapter_parameters) * base_parameter_bytes


def base_forgotten(base_parameters, adapter_parameters, *, base_parameter_bytes, bytes_per_trainable_parameter):
    """Your value is the adapter alone. Where do the base weights go while the adapter trains?"""
    return adapter_parameters * bytes_per_trainable_parameter


def adapter_replaces_base(base_parameters, adapter_parameters, *, base_parameter_bytes, bytes_per_trainable_parameter):
    """Your value takes the adapter's parameters out of the base. Is an adapter part of the base, or beside it?"""
    frozen = base_parameters - adapter_parameters
    return frozen * base_parameter_bytes + adapter_parameters * bytes_per_trainable_parameter


def lora_loop(base_parameters, adapter_parameters, *, base_parameter_bytes, bytes_per_trainable_parameter):
    total = 0
    for count, size in (
        (base_parameters, base_parameter_bytes),
        (adapter_parameters, bytes_per_trainable_parameter),
    ):
        total += count * size
    return total


def lora_numpy(base_parameters, adapter_parameters, *, base_parameter_bytes, bytes_per_trainable_parameter):
    import numpy as np

    counts = np.array([base_parameters, adapter_parameters], dtype=float)
    return counts @ np.array([base_parameter_bytes, bytes_per_trainable_parameter])


def lora_as_extra(base_parameters, adapter_parameters, *, base_parameter_bytes, bytes_per_trainable_parameter):
    extra = adapter_parameters * bytes_per_trainable_parameter
    return float(extra + base_parameter_bytes * base_parameters)


# --- ideal_sharded_memory ----------------------------------------------------------------------------------------


def whole_bytes(total_bytes, ranks):
    """Your value is rounded down to whole bytes. Do the ranks' shares then still add up to the total?"""
    return total_bytes // ranks


def never_divided(total_bytes, ranks):
    """Your value is the whole. How much of it does one of the ranks hold, if the division is perfect?"""
    return total_bytes


def one_rank_left_out(total_bytes, ranks):
    """Your value divides among one rank too few. Does the rank that you ask about hold a share as well?"""
    return total_bytes / (ranks - 1) if ranks > 1 else total_bytes


def ideal_inverse(total_bytes, ranks):
    return total_bytes * ranks**-1


def ideal_fraction(total_bytes, ranks):
    from fractions import Fraction

    return Fraction(total_bytes, ranks)


def ideal_numpy(total_bytes, ranks):
    import numpy as np

    return np.float64(total_bytes) / np.int64(ranks)


# --- sharded_state_bytes -----------------------------------------------------------------------------------------


def all_divided(stage, ranks, *, parameters, parameter_bytes, gradient_bytes, optimizer_bytes):
    """Your value divides everything at every stage. What does each rank still hold whole before stage 3?"""
    return parameters * (parameter_bytes + gradient_bytes + optimizer_bytes) / ranks


def stage_off_by_one(stage, ranks, *, parameters, parameter_bytes, gradient_bytes, optimizer_bytes):
    """Your value is one stage ahead. Which part does stage 1 divide, and is anything divided at stage 0?"""
    whole = [optimizer_bytes, gradient_bytes, parameter_bytes]
    return parameters * sum(size / ranks if place <= stage else size for place, size in enumerate(whole))


def gradients_first(stage, ranks, *, parameters, parameter_bytes, gradient_bytes, optimizer_bytes):
    """Your value divides the gradients before the optimizer states. Which of the two is larger, and goes first?"""
    whole = [gradient_bytes, optimizer_bytes, parameter_bytes]
    return parameters * sum(size / ranks if place < stage else size for place, size in enumerate(whole))


def optimizer_forgotten(stage, ranks, *, parameters, parameter_bytes, gradient_bytes, optimizer_bytes):
    """Your value lacks the optimizer states. Are they gone once they are divided, or is a share left on each rank?"""
    gradients = gradient_bytes / (ranks if stage >= 2 else 1)
    weights = parameter_bytes / (ranks if stage == 3 else 1)
    return parameters * (gradients + weights)


def stages_table(stage, ranks, *, parameters, parameter_bytes, gradient_bytes, optimizer_bytes):
    replicated = {
        0: parameter_bytes + gradient_bytes + optimizer_bytes,
        1: parameter_bytes + gradient_bytes,
        2: parameter_bytes,
        3: 0,
    }[stage]
    divided = parameter_bytes + gradient_bytes + optimizer_bytes - replicated
    return parameters * (replicated + divided / ranks)


def stages_loop(stage, ranks, *, parameters, parameter_bytes, gradient_bytes, optimizer_bytes):
    total = 0
    for first_divided, size in ((3, parameter_bytes), (2, gradient_bytes), (1, optimizer_bytes)):
        if stage >= first_divided:
            total += parameters * size / ranks
        else:
            total += parameters * size
    return total


def stages_numpy(stage, ranks, *, parameters, parameter_bytes, gradient_bytes, optimizer_bytes):
    import numpy as np

    sizes = np.array([optimizer_bytes, gradient_bytes, parameter_bytes], dtype=float)
    sizes[:stage] /= ranks
    return parameters * sizes.sum()


# --- peak_memory -------------------------------------------------------------------------------------------------


def phases_summed(phases):
    """Your value adds up all phases. Are they resident at the same time?"""
    totals = {phase: sum(parts) for phase, parts in phases.items()}
    return max(totals, key=totals.get), sum(totals.values())


def largest_component(phases):
    """Your value is the largest single component. What else is resident in the same phase?"""
    largest = {phase: max(parts, default=0) for phase, parts in phases.items()}
    phase = max(largest, key=largest.get)
    return phase, largest[phase]


def last_of_ties(phases):
    """Your phase is the last of two with equal totals. Which one does the notebook ask for?"""
    best, peak = None, 0
    for phase, parts in phases.items():
        if sum(parts) >= peak:
            best, peak = phase, sum(parts)
    return best, peak


def last_phase(phases):
    """Your value is the last phase's. Does the peak have to come at the end?"""
    phase = list(phases)[-1]
    return phase, sum(phases[phase])


def peak_loop(phases):
    best, peak = None, -1
    for phase, parts in phases.items():
        total = 0
        for part in parts:
            total += part
        if total > peak:
            best, peak = phase, total
    return best, peak


def peak_sorted(phases):
    ranked = sorted(((sum(parts), phase) for phase, parts in phases.items()), key=lambda pair: -pair[0])
    peak, phase = ranked[0]
    return [phase, float(peak)]


def peak_numpy(phases):
    import numpy as np

    totals = [np.sum(parts) for parts in phases.values()]
    place = int(np.argmax(totals))
    return list(phases)[place], totals[place]


# --- logits_bytes ------------------------------------------------------------------------------------------------


def copies_forgotten(batch, tokens, vocabulary, *, element_bytes, copies):
    """Your value holds the logits once. What does log-softmax write its result into?"""
    return batch * tokens * vocabulary * element_bytes


def copies_on_top(batch, tokens, vocabulary, *, element_bytes, copies):
    """Your value is one tensor too many. Do the copies include the logits themselves?"""
    return batch * tokens * vocabulary * element_bytes * (copies + 1)


def last_position(batch, tokens, vocabulary, *, element_bytes, copies):
    """Your value scores one position a sequence. Does scoring need the logits of every token, or of the last alone?"""
    return batch * vocabulary * element_bytes * copies


def logits_loop(batch, tokens, vocabulary, *, element_bytes, copies):
    size = element_bytes
    for count in (copies, vocabulary, tokens, batch):
        size = size * count
    return size


def logits_prod(batch, tokens, vocabulary, *, element_bytes, copies):
    import math

    return float(math.prod([batch, tokens, vocabulary, element_bytes, copies]))


def logits_numpy(batch, tokens, vocabulary, *, element_bytes, copies):
    import numpy as np

    return np.prod(np.array([batch, tokens, vocabulary, element_bytes, copies], dtype=np.int64))
