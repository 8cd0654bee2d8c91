"""Attempts at the tasks of topic `ess`: mistakes, each with its hint, then right answers written in other ways."""


# --- sequence_log_ratios -----------------------------------------------------------------------------------------


def mean_for_sum(trainer_logps, behavior_logps, mask):
    """Your value is that of an average token. How does the probability of a completion grow out of its tokens'?"""
    ratios = []
    for trained, sampled, counted in zip(trainer_logps, behavior_logps, mask, strict=True):
        deltas = [one - other for one, other, counts in zip(trained, sampled, counted, strict=True) if counts]
        ratios.append(sum(deltas) / len(deltas) if deltas else 0.0)
    return ratios


def padding_counted(trainer_logps, behavior_logps, mask):
    """Your value counts every position. Which of them did the policy choose, and what marks those?"""
    return [
        sum(one - other for one, other in zip(trained, sampled, strict=True))
        for trained, sampled in zip(trainer_logps, behavior_logps, strict=True)
    ]


def behavior_over_trainer(trainer_logps, behavior_logps, mask):
    """Your value has the wrong sign. Which policy stands in the numerator of the ratio?"""
    return [
        sum(other - one for one, other, counts in zip(trained, sampled, counted, strict=True) if counts)
        for trained, sampled, counted in zip(trainer_logps, behavior_logps, mask, strict=True)
    ]


def mask_multiplied(trainer_logps, behavior_logps, mask):
    """Your value multiplies with the mask. What is 0 times NaN, and 0 times infinity?"""
    return [
        sum((one - other) * counts for one, other, counts in zip(trained, sampled, counted, strict=True))
        for trained, sampled, counted in zip(trainer_logps, behavior_logps, mask, strict=True)
    ]


def mask_as_length(trainer_logps, behavior_logps, mask):
    """Your value takes the first tokens, as many as the mask counts. Do the counted tokens always come first?"""
    ratios = []
    for trained, sampled, counted in zip(trainer_logps, behavior_logps, mask, strict=True):
        length = sum(counted)
        ratios.append(sum(trained[:length]) - sum(sampled[:length]))
    return ratios


def ratio_for_log_ratio(trainer_logps, behavior_logps, mask):
    """Your value is a ratio. Does the notebook ask for it, or for its logarithm?"""
    import math

    return [
        math.exp(sum(one - other for one, other, counts in zip(trained, sampled, counted, strict=True) if counts))
        for trained, sampled, counted in zip(trainer_logps, behavior_logps, mask, strict=True)
    ]


def log_ratios_loop(trainer_logps, behavior_logps, mask):
    ratios = []
    for row in range(len(mask)):
        total = 0.0
        for token in range(len(mask[row])):
            if mask[row][token]:
                total += trainer_logps[row][token] - behavior_logps[row][token]
        ratios.append(total)
    return ratios


def log_ratios_of_sums(trainer_logps, behavior_logps, mask):
    from itertools import compress

    return tuple(
        sum(compress(trained, counted)) - sum(compress(sampled, counted))
        for trained, sampled, counted in zip(trainer_logps, behavior_logps, mask, strict=True)
    )


def log_ratios_numpy(trainer_logps, behavior_logps, mask):
    import numpy as np

    ratios = []
    for trained, sampled, counted in zip(trainer_logps, behavior_logps, mask, strict=True):
        chosen = np.array(counted, dtype=bool)
        ratios.append((np.array(trained, dtype=float)[chosen] - np.array(sampled, dtype=float)[chosen]).sum())
    return ratios


# --- importance_weights ------------------------------------------------------------------------------------------


def always_token_level(log_ratios, mask, *, level):
    """Your weights are the tokens' own at both levels. What do all tokens of a completion share at sequence level?"""
    import math

    return [
        [math.exp(ratio) if counts else 0.0 for ratio, counts in zip(ratios, counted, strict=True)]
        for ratios, counted in zip(log_ratios, mask, strict=True)
    ]


def always_sequence_level(log_ratios, mask, *, level):
    """Your weights are the completion's at both levels. Which ratio belongs to one token alone?"""
    import math

    weights = []
    for ratios, counted in zip(log_ratios, mask, strict=True):
        whole = math.exp(sum(ratio for ratio, counts in zip(ratios, counted, strict=True) if counts))
        weights.append([whole if counts else 0.0 for counts in counted])
    return weights


def geometric_mean(log_ratios, mask, *, level):
    """Your sequence weight is that of an average token. Does the ratio of a whole completion depend on its length?"""
    import math

    weights = []
    for ratios, counted in zip(log_ratios, mask, strict=True):
        own = [ratio for ratio, counts in zip(ratios, counted, strict=True) if counts]
        mean = sum(own) / len(own) if own else 0.0
        logs = [mean] * len(ratios) if level == "sequence" else ratios
        weights.append([math.exp(log) if counts else 0.0 for log, counts in zip(logs, counted, strict=True)])
    return weights


def ratios_added(log_ratios, mask, *, level):
    """Your sequence weight adds up the tokens' ratios. How do probabilities of successive tokens combine?"""
    import math

    weights = []
    for ratios, counted in zip(log_ratios, mask, strict=True):
        own = [math.exp(ratio) if counts else 0.0 for ratio, counts in zip(ratios, counted, strict=True)]
        whole = [sum(own) if counts else 0.0 for counts in counted]
        weights.append(whole if level == "sequence" else own)
    return weights


def padding_in_the_product(log_ratios, mask, *, level):
    """Your sequence weight includes tokens that do not count. Who wrote a tool's answer, or padding?"""
    import math

    weights = []
    for ratios, counted in zip(log_ratios, mask, strict=True):
        logs = [sum(ratios)] * len(ratios) if level == "sequence" else ratios
        weights.append([math.exp(log) if counts else 0.0 for log, counts in zip(logs, counted, strict=True)])
    return weights


def padding_with_weight_one(log_ratios, mask, *, level):
    """Your weight of a token that does not count is 1. How much of the loss should such a token get?"""
    import math

    weights = []
    for ratios, counted in zip(log_ratios, mask, strict=True):
        whole = sum(ratio for ratio, counts in zip(ratios, counted, strict=True) if counts)
        logs = [whole] * len(ratios) if level == "sequence" else ratios
        weights.append([math.exp(log) if counts else 1.0 for log, counts in zip(logs, counted, strict=True)])
    return weights


def weights_by_product(log_ratios, mask, *, level):
    import math

    weights = []
    for ratios, counted in zip(log_ratios, mask, strict=True):
        own = [math.exp(ratio) if counts else 0 for ratio, counts in zip(ratios, counted, strict=True)]
        if level == "sequence":
            whole = math.prod(weight for weight, counts in zip(own, counted, strict=True) if counts)
            own = [whole if counts else 0 for counts in counted]
        weights.append(tuple(own))
    return weights


def weights_loop(log_ratios, mask, *, level):
    from math import exp

    result = []
    for row in range(len(mask)):
        total = 0.0
        for token in range(len(mask[row])):
            if mask[row][token]:
                total += log_ratios[row][token]
        line = []
        for token in range(len(mask[row])):
            if not mask[row][token]:
                line.append(0)
            elif level == "token":
                line.append(exp(log_ratios[row][token]))
            else:
                line.append(exp(total))
        result.append(line)
    return result


def weights_numpy(log_ratios, mask, *, level):
    import numpy as np

    weights = []
    for ratios, counted in zip(log_ratios, mask, strict=True):
        chosen = np.array(counted, dtype=bool)
        logs = np.where(chosen, np.array(ratios, dtype=float), 0.0)
        if level == "sequence":
            logs = np.full(len(logs), logs.sum())
        weights.append(np.where(chosen, np.exp(logs), 0.0))
    return weights


# --- effective_sample_size ---------------------------------------------------------------------------------------


def divided_by_count(weights):
    """Your value lies between 0 and 1. Is a number of samples asked for, or a share of them?"""
    return sum(weights) ** 2 / (len(weights) * sum(weight**2 for weight in weights))


def sum_not_squared(weights):
    """Your value changes when all weights are doubled. Does twice the weight on every sample change anything?"""
    return sum(weights) / sum(weight**2 for weight in weights)


def sample_variance(weights):
    """Your value divides the spread by n − 1. Is it an estimate, or the spread of these very weights?"""
    from statistics import fmean, variance

    return len(weights) / (1 + variance(weights) / fmean(weights) ** 2) if len(weights) > 1 else 1.0


def weights_above_zero(weights):
    """Your value counts the weights above 0. Do a weight of 8 and a weight of 1 count the same?"""
    return sum(weight > 0 for weight in weights)


def over_the_largest(weights):
    """Your value is the sum over the largest weight. What do two batches with equal largest weights then not show?"""
    return sum(weights) / max(weights)


def exponential_of_entropy(weights):
    """Your value is the exponential of the weights' entropy, another measure. Which one does the notebook define?"""
    import math

    shares = [weight / sum(weights) for weight in weights if weight > 0]
    return math.exp(-sum(share * math.log(share) for share in shares))


def ess_with_validators(weights):
    from rlinfra.given import require_nonnegative

    for weight in weights:
        require_nonnegative("weights", weight)
    if len(weights) == 0 or max(weights) == 0:
        raise ValueError("weights: there is none above 0")
    return sum(weights) ** 2 / sum(weight**2 for weight in weights)


def ess_by_shares(weights):
    import math

    total = 0.0
    for weight in weights:
        if isinstance(weight, bool) or not math.isfinite(weight) or weight < 0:
            raise ValueError(f"weights may not hold {weight}")
        total += weight
    if not total:
        raise ValueError("weights must not all be 0")
    return 1 / math.fsum((weight / total) ** 2 for weight in weights)


def ess_numpy(weights):
    import numpy as np

    held = np.array(weights, dtype=float)
    if any(isinstance(weight, bool) for weight in weights) or not np.isfinite(held).all() or (held < 0).any():
        raise ValueError("weights must be finite and not negative")
    if not held.any():
        raise ValueError("weights must not all be 0")
    return len(held) / (1 + held.var() / held.mean() ** 2)


# --- normalized_ess ----------------------------------------------------------------------------------------------


def exponentials_at_once(log_weights):
    """Your value takes exponentials of the numbers as they are. What is exp(1000) to a computer, and exp(−1000)?"""
    import math

    weights = [math.exp(log_weight) for log_weight in log_weights]
    return sum(weights) ** 2 / (len(weights) * sum(weight**2 for weight in weights))


def exponentials_at_once_in_numpy(log_weights):
    """Your value takes exponentials of the numbers as they are. What is exp(1000) to NumPy, and exp(−1000)?"""
    import numpy as np

    with np.errstate(all="ignore"):
        weights = np.exp(np.array(log_weights, dtype=float))
        return weights.sum() ** 2 / (len(weights) * (weights**2).sum())


def not_normalised(log_weights):
    """Your value can exceed 1. Is a number of samples asked for, or a share of them?"""
    import math

    largest = max(log_weights)
    weights = [math.exp(log_weight - largest) for log_weight in log_weights]
    return sum(weights) ** 2 / sum(weight**2 for weight in weights)


def zero_weights_left_out(log_weights):
    """Your value leaves weights of 0 out of the count. Were those completions sampled and paid for as well?"""
    import math

    kept = [log_weight for log_weight in log_weights if log_weight > -math.inf]
    weights = [math.exp(log_weight - max(kept)) for log_weight in kept]
    return sum(weights) ** 2 / (len(weights) * sum(weight**2 for weight in weights))


def logarithms_cut_off(log_weights):
    """Your value cuts the logarithms off at ±20. What is left of the differences between them at +1000?"""
    import math

    weights = [math.exp(min(max(log_weight, -20.0), 20.0)) for log_weight in log_weights]
    return sum(weights) ** 2 / (len(weights) * sum(weight**2 for weight in weights))


def root_of_the_share(log_weights):
    """Your value is the root of the right one. Is the sum squared, as the sum of squares is?"""
    import math

    largest = max(log_weights)
    weights = [math.exp(log_weight - largest) for log_weight in log_weights]
    return sum(weights) / math.sqrt(len(weights) * sum(weight**2 for weight in weights))


def share_by_logsumexp(log_weights):
    import math

    def logsumexp(logs):
        largest = max(logs)
        return largest + math.log(sum(math.exp(log - largest) for log in logs))

    doubled = logsumexp([2 * log for log in log_weights])
    return math.exp(2 * logsumexp(log_weights) - doubled - math.log(len(log_weights)))


def share_loop(log_weights):
    from math import exp

    ordered = sorted(log_weights)
    total = squares = 0.0
    for log_weight in ordered:
        weight = exp(log_weight - ordered[-1])
        total += weight
        squares += weight * weight
    return total / len(ordered) * total / squares


def share_numpy(log_weights):
    import numpy as np

    logs = np.array(log_weights, dtype=float)
    weights = np.exp(logs - logs.max())
    return 1 / np.mean((weights / weights.mean()) ** 2)


# --- clip_log_ratios ---------------------------------------------------------------------------------------------


def cut_on_both_sides(log_ratios, log_cap):
    """Your value also raises small ratios. Which of the two ends makes weights concentrate on a few samples?"""
    return [max(-log_cap, min(ratio, log_cap)) for ratio in log_ratios]


def ratios_returned(log_ratios, log_cap):
    """Your values are ratios. Does the notebook ask for them, or for their logarithms?"""
    import math

    return [min(math.exp(ratio), math.exp(log_cap)) for ratio in log_ratios]


def cap_taken_as_ratio(log_ratios, log_cap):
    """Your value cuts as if the cap were a ratio. Is it given as a ratio, or as its logarithm?"""
    import math

    return [min(ratio, math.log(log_cap)) if log_cap > 0 else ratio for ratio in log_ratios]


def above_the_cap_removed(log_ratios, log_cap):
    """Your list is shorter than the batch. Is a completion above the cap thrown away, or does it keep a weight?"""
    return [ratio for ratio in log_ratios if ratio <= log_cap]


def above_the_cap_masked(log_ratios, log_cap):
    """Your value gives a completion above the cap the weight 0. Is that truncating or masking?"""
    import math

    return [ratio if ratio <= log_cap else -math.inf for ratio in log_ratios]


def clip_min(log_ratios, log_cap):
    return tuple(min(log_cap, ratio) for ratio in log_ratios)


def clip_loop(log_ratios, log_cap):
    clipped = list(log_ratios)
    for place, ratio in enumerate(clipped):
        if ratio > log_cap:
            clipped[place] = log_cap
    return clipped


def clip_numpy(log_ratios, log_cap):
    import numpy as np

    return np.minimum(np.array(log_ratios, dtype=float), log_cap)


# --- mask_log_ratios ---------------------------------------------------------------------------------------------


def moved_to_the_bounds(log_ratios, low, high):
    """Your value moves a ratio outside the band to its edge. What weight does masking leave it?"""
    return [min(max(ratio, low), high) for ratio in log_ratios]


def zero_outside(log_ratios, low, high):
    """Your value is 0 outside the band. What weight does a log-ratio of 0 stand for?"""
    return [ratio if low <= ratio <= high else 0.0 for ratio in log_ratios]


def bounds_left_out(log_ratios, low, high):
    """Your band leaves its own bounds out. Does the notebook count them in?"""
    import math

    return [ratio if low < ratio < high else -math.inf for ratio in log_ratios]


def masked_above_only(log_ratios, low, high):
    """Your value masks large ratios alone. What of a token that the trainer finds far less likely than the engine?"""
    import math

    return [ratio if ratio <= high else -math.inf for ratio in log_ratios]


def outside_removed(log_ratios, low, high):
    """Your list is shorter than the batch. With which weight does a masked completion stay in the count?"""
    return [ratio for ratio in log_ratios if low <= ratio <= high]


def band_loop(log_ratios, low, high):
    masked = []
    for ratio in log_ratios:
        if ratio < low or ratio > high:
            masked.append(float("-inf"))
        else:
            masked.append(ratio)
    return masked


def band_by_middle(log_ratios, low, high):
    import math

    return tuple(-math.inf if sorted((low, ratio, high))[1] != ratio else float(ratio) for ratio in log_ratios)


def band_numpy(log_ratios, low, high):
    import numpy as np

    ratios = np.array(log_ratios, dtype=float)
    return np.where((ratios >= low) & (ratios <= high), ratios, -np.inf)


# --- decoded_logprobs --------------------------------------------------------------------------------------------


def temperature_forgotten(logits, *, temperature, top_p):
    """Your value samples at temperature 1. What happens to the logits before anything else?"""
    import math

    weights = [math.exp(logit - max(logits)) for logit in logits]
    kept, reached = set(), 0.0
    for token in sorted(range(len(logits)), key=lambda token: -weights[token]):
        if top_p == 1 or reached < top_p * sum(weights):
            kept.add(token)
            reached += weights[token]
    return [
        math.log(weight / reached) if token in kept and weight > 0 else -math.inf
        for token, weight in enumerate(weights)
    ]


def temperature_multiplied(logits, *, temperature, top_p):
    """Your value sharpens where it should flatten. Does a high temperature make large logits larger?"""
    import math

    weights = [math.exp((logit - max(logits)) * temperature) for logit in logits]
    kept, reached = set(), 0.0
    for token in sorted(range(len(logits)), key=lambda token: -weights[token]):
        if top_p == 1 or reached < top_p * sum(weights):
            kept.add(token)
            reached += weights[token]
    return [
        math.log(weight / reached) if token in kept and weight > 0 else -math.inf
        for token, weight in enumerate(weights)
    ]


def top_p_ignored(logits, *, temperature, top_p):
    """Your value leaves every token possible. Which tokens can top-p never let through?"""
    import math

    scaled = [(logit - max(logits)) / temperature for logit in logits]
    log_total = math.log(sum(math.exp(logit) for logit in scaled))
    return [logit - log_total for logit in scaled]


def nucleus_before_temperature(logits, *, temperature, top_p):
    """Your nucleus is chosen at temperature 1. Which comes first, temperature or top-p?"""
    import math

    plain = [math.exp(logit - max(logits)) for logit in logits]
    weights = [math.exp((logit - max(logits)) / temperature) for logit in logits]
    kept, reached = set(), 0.0
    for token in sorted(range(len(logits)), key=lambda token: -plain[token]):
        if top_p == 1 or reached < top_p * sum(plain):
            kept.add(token)
            reached += plain[token]
    total = sum(weights[token] for token in kept)
    return [
        math.log(weight / total) if token in kept and weight > 0 else -math.inf for token, weight in enumerate(weights)
    ]


def crossing_token_left_out(logits, *, temperature, top_p):
    """Your nucleus stops before its total reaches top-p. On which side is the token that crosses the threshold?"""
    import math

    weights = [math.exp((logit - max(logits)) / temperature) for logit in logits]
    kept, reached = set(), 0.0
    for token in sorted(range(len(logits)), key=lambda token: -weights[token]):
        if top_p == 1 or not kept or reached + weights[token] <= top_p * sum(weights):
            kept.add(token)
            reached += weights[token]
        else:
            break
    return [
        math.log(weight / reached) if token in kept and weight > 0 else -math.inf
        for token, weight in enumerate(weights)
    ]


def not_renormalised(logits, *, temperature, top_p):
    """Your probabilities add up to less than 1. Where does the share of the tokens outside the nucleus go?"""
    import math

    weights = [math.exp((logit - max(logits)) / temperature) for logit in logits]
    kept, reached = set(), 0.0
    for token in sorted(range(len(logits)), key=lambda token: -weights[token]):
        if top_p == 1 or reached < top_p * sum(weights):
            kept.add(token)
            reached += weights[token]
    total = sum(weights)
    return [
        math.log(weight / total) if token in kept and weight > 0 else -math.inf for token, weight in enumerate(weights)
    ]


def ties_all_kept(logits, *, temperature, top_p):
    """Your nucleus keeps every token as probable as its last one. Which of several equal tokens comes first?"""
    import math

    weights = [math.exp((logit - max(logits)) / temperature) for logit in logits]
    threshold, reached = 0.0, 0.0
    for weight in sorted(weights, reverse=True):
        if top_p == 1 or reached < top_p * sum(weights):
            threshold = weight
            reached += weight
    total = sum(weight for weight in weights if weight >= threshold)
    return [math.log(weight / total) if weight >= threshold and weight > 0 else -math.inf for weight in weights]


def probabilities_returned(logits, *, temperature, top_p):
    """Your values are probabilities. Does the notebook ask for them, or for their logarithms?"""
    import math

    weights = [math.exp((logit - max(logits)) / temperature) for logit in logits]
    kept, reached = set(), 0.0
    for token in sorted(range(len(logits)), key=lambda token: -weights[token]):
        if top_p == 1 or reached < top_p * sum(weights):
            kept.add(token)
            reached += weights[token]
    return [weight / reached if token in kept else 0.0 for token, weight in enumerate(weights)]


def decoded_loop(logits, *, temperature, top_p):
    import math

    largest = max(logits)
    probabilities = [math.exp((logit - largest) / temperature) for logit in logits]
    total = sum(probabilities)
    probabilities = [probability / total for probability in probabilities]
    ranked = sorted(((probability, -token) for token, probability in enumerate(probabilities)), reverse=True)
    result = [-math.inf] * len(logits)
    chosen, reached = [], 0.0
    for probability, minus_token in ranked:
        chosen.append((probability, -minus_token))
        reached += probability
        if reached >= top_p and top_p < 1:
            break
    for probability, token in chosen:
        if probability > 0:
            result[token] = math.log(probability) - math.log(reached)
    return result


def decoded_by_rank(logits, *, temperature, top_p):
    from math import exp, inf, log

    scaled = [float(logit) / temperature for logit in logits]
    offset = max(scaled) + log(sum(exp(logit - max(scaled)) for logit in scaled))
    logprobs = [logit - offset for logit in scaled]

    def mass_before(token):
        mine = logprobs[token]
        return sum(exp(logp) for other, logp in enumerate(logprobs) if logp > mine or (logp == mine and other < token))

    kept = [top_p == 1 or mass_before(token) < top_p for token in range(len(logits))]
    mass = sum(exp(logp) for logp, keep in zip(logprobs, kept, strict=True) if keep)
    return tuple(logp - log(mass) if keep else -inf for logp, keep in zip(logprobs, kept, strict=True))


def decoded_numpy(logits, *, temperature, top_p):
    import numpy as np

    scaled = np.array(logits, dtype=float) / temperature
    scaled -= scaled.max()
    order = np.argsort(-scaled, kind="stable")
    mass = np.cumsum(np.exp(scaled[order]))
    size = len(order) if top_p == 1 else int(np.searchsorted(mass, top_p * mass[-1])) + 1
    result = np.full(len(order), -np.inf)
    result[order[:size]] = scaled[order[:size]] - np.log(mass[size - 1])
    return result


# --- zero_lag_report ---------------------------------------------------------------------------------------------


def signed_mean(engine_logps, trainer_logps, mask):
    """Your mean lets positive and negative gaps cancel. How far apart are two engines that differ by +1 and by −1?"""
    import math

    deltas = [
        one - other
        for sampled, trained, counted in zip(engine_logps, trainer_logps, mask, strict=True)
        for other, one, counts in zip(sampled, trained, counted, strict=True)
        if counts
    ]
    return {
        "mean_abs_delta": sum(deltas) / len(deltas),
        "max_abs_delta": max(abs(delta) for delta in deltas),
        "k3": sum(math.exp(delta) - 1 - delta for delta in deltas) / len(deltas),
    }


def largest_positive_gap(engine_logps, trainer_logps, mask):
    """Your maximum looks at positive gaps alone. Is a token that the trainer finds far less likely no gap?"""
    import math

    deltas = [
        one - other
        for sampled, trained, counted in zip(engine_logps, trainer_logps, mask, strict=True)
        for other, one, counts in zip(sampled, trained, counted, strict=True)
        if counts
    ]
    return {
        "mean_abs_delta": sum(abs(delta) for delta in deltas) / len(deltas),
        "max_abs_delta": max(deltas),
        "k3": sum(math.exp(delta) - 1 - delta for delta in deltas) / len(deltas),
    }


def k3_the_other_way(engine_logps, trainer_logps, mask):
    """Your k3 has the ratio upside down. Which of the two sampled the tokens, and must be the denominator?"""
    import math

    deltas = [
        one - other
        for sampled, trained, counted in zip(engine_logps, trainer_logps, mask, strict=True)
        for other, one, counts in zip(sampled, trained, counted, strict=True)
        if counts
    ]
    return {
        "mean_abs_delta": sum(abs(delta) for delta in deltas) / len(deltas),
        "max_abs_delta": max(abs(delta) for delta in deltas),
        "k3": sum(math.exp(-delta) - 1 + delta for delta in deltas) / len(deltas),
    }


def k1_for_k3(engine_logps, trainer_logps, mask):
    """Your k3 is the mean of −log r, which can be negative. Which two terms make every token's part at least 0?"""
    deltas = [
        one - other
        for sampled, trained, counted in zip(engine_logps, trainer_logps, mask, strict=True)
        for other, one, counts in zip(sampled, trained, counted, strict=True)
        if counts
    ]
    return {
        "mean_abs_delta": sum(abs(delta) for delta in deltas) / len(deltas),
        "max_abs_delta": max(abs(delta) for delta in deltas),
        "k3": -sum(deltas) / len(deltas),
    }


def mean_of_sequence_means(engine_logps, trainer_logps, mask):
    """Your means give every completion the same say. Do they run over completions, or over counted tokens?"""
    import math

    rows = [
        [one - other for other, one, counts in zip(sampled, trained, counted, strict=True) if counts]
        for sampled, trained, counted in zip(engine_logps, trainer_logps, mask, strict=True)
    ]
    rows = [row for row in rows if row]
    return {
        "mean_abs_delta": sum(sum(abs(delta) for delta in row) / len(row) for row in rows) / len(rows),
        "max_abs_delta": max(abs(delta) for row in rows for delta in row),
        "k3": sum(sum(math.exp(delta) - 1 - delta for delta in row) / len(row) for row in rows) / len(rows),
    }


def divided_by_all_positions(engine_logps, trainer_logps, mask):
    """Your means divide by every position. How many tokens does the mask count?"""
    import math

    deltas = [
        one - other
        for sampled, trained, counted in zip(engine_logps, trainer_logps, mask, strict=True)
        for other, one, counts in zip(sampled, trained, counted, strict=True)
        if counts
    ]
    positions = sum(len(counted) for counted in mask)
    return {
        "mean_abs_delta": sum(abs(delta) for delta in deltas) / positions,
        "max_abs_delta": max(abs(delta) for delta in deltas),
        "k3": sum(math.exp(delta) - 1 - delta for delta in deltas) / positions,
    }


def zero_lag_loop(engine_logps, trainer_logps, mask):
    import math

    tokens, absolute, largest, divergence = 0, 0.0, 0.0, 0.0
    for row, counted in enumerate(mask):
        for token, counts in enumerate(counted):
            if not counts:
                continue
            log_ratio = trainer_logps[row][token] - engine_logps[row][token]
            tokens += 1
            absolute += abs(log_ratio)
            largest = max(largest, abs(log_ratio))
            divergence += math.exp(log_ratio) - 1 - log_ratio
    return {"k3": divergence / tokens, "max_abs_delta": largest, "mean_abs_delta": absolute / tokens}


def zero_lag_numpy(engine_logps, trainer_logps, mask):
    import numpy as np

    chosen = np.concatenate([np.array(counted, dtype=bool) for counted in mask])
    sampled = np.concatenate([np.array(row, dtype=float) for row in engine_logps])[chosen]
    trained = np.concatenate([np.array(row, dtype=float) for row in trainer_logps])[chosen]
    log_ratio = trained - sampled
    gaps = np.abs(log_ratio)
    return {
        "mean_abs_delta": gaps.mean(),
        "max_abs_delta": gaps.max(),
        "k3": np.mean(np.expm1(log_ratio) - log_ratio),
    }


def zero_lag_dataclass(engine_logps, trainer_logps, mask):
    from dataclasses import make_dataclass
    from itertools import chain, compress
    from math import exp
    from statistics import fmean

    counted = list(chain.from_iterable(mask))
    sampled = list(compress(chain.from_iterable(engine_logps), counted))
    trained = list(compress(chain.from_iterable(trainer_logps), counted))
    gaps = [abs(one - other) for one, other in zip(trained, sampled, strict=True)]
    ratios = [exp(one - other) for one, other in zip(trained, sampled, strict=True)]
    logs = [one - other for one, other in zip(trained, sampled, strict=True)]
    report = make_dataclass("Report", ["mean_abs_delta", "max_abs_delta", "k3"])
    return report(fmean(gaps), max(gaps), fmean(ratios) - 1 - fmean(logs))


# --- split_drift -------------------------------------------------------------------------------------------------


def parts_exchanged(behavior, trainer_same_version, trainer_now, mask):
    """Your two parts are exchanged. Which comparison keeps the weights fixed, and which keeps the engine fixed?"""

    def sums(ones, others):
        return [
            sum(one - other for one, other, counts in zip(row, reference, counted, strict=True) if counts)
            for row, reference, counted in zip(ones, others, mask, strict=True)
        ]

    return {
        "mismatch": sums(trainer_now, trainer_same_version),
        "lag": sums(trainer_same_version, behavior),
        "total": sums(trainer_now, behavior),
    }


def lag_includes_mismatch(behavior, trainer_same_version, trainer_now, mask):
    """Your lag is measured from the engine's numbers. Which differences, besides age, lie between those two?"""

    def sums(ones, others):
        return [
            sum(one - other for one, other, counts in zip(row, reference, counted, strict=True) if counts)
            for row, reference, counted in zip(ones, others, mask, strict=True)
        ]

    return {
        "mismatch": sums(trainer_same_version, behavior),
        "lag": sums(trainer_now, behavior),
        "total": sums(trainer_now, behavior),
    }


def parts_as_ratios(behavior, trainer_same_version, trainer_now, mask):
    """Your parts are ratios. Do ratios add up to the whole, or do their logarithms?"""
    import math

    def ratios(ones, others):
        return [
            math.exp(sum(one - other for one, other, counts in zip(row, reference, counted, strict=True) if counts))
            for row, reference, counted in zip(ones, others, mask, strict=True)
        ]

    return {
        "mismatch": ratios(trainer_same_version, behavior),
        "lag": ratios(trainer_now, trainer_same_version),
        "total": ratios(trainer_now, behavior),
    }


def parts_as_distances(behavior, trainer_same_version, trainer_now, mask):
    """Your parts have lost their signs. Can a mismatch of +0.2 and a lag of −0.2 then still add up to 0?"""

    def distances(ones, others):
        return [
            sum(abs(one - other) for one, other, counts in zip(row, reference, counted, strict=True) if counts)
            for row, reference, counted in zip(ones, others, mask, strict=True)
        ]

    return {
        "mismatch": distances(trainer_same_version, behavior),
        "lag": distances(trainer_now, trainer_same_version),
        "total": distances(trainer_now, behavior),
    }


def parts_a_token(behavior, trainer_same_version, trainer_now, mask):
    """Your parts are those of an average token. Over which tokens of a completion does its log-ratio run?"""

    def means(ones, others):
        rows = [
            [one - other for one, other, counts in zip(row, reference, counted, strict=True) if counts]
            for row, reference, counted in zip(ones, others, mask, strict=True)
        ]
        return [sum(row) / len(row) if row else 0.0 for row in rows]

    return {
        "mismatch": means(trainer_same_version, behavior),
        "lag": means(trainer_now, trainer_same_version),
        "total": means(trainer_now, behavior),
    }


def parts_with_padding(behavior, trainer_same_version, trainer_now, mask):
    """Your parts run over every position. Which tokens did the policy choose?"""

    def sums(ones, others):
        return [
            sum(one - other for one, other in zip(row, reference, strict=True))
            for row, reference in zip(ones, others, strict=True)
        ]

    return {
        "mismatch": sums(trainer_same_version, behavior),
        "lag": sums(trainer_now, trainer_same_version),
        "total": sums(trainer_now, behavior),
    }


def split_by_addition(behavior, trainer_same_version, trainer_now, mask):
    parts = {"mismatch": [], "lag": [], "total": []}
    for sampled, same, now, counted in zip(behavior, trainer_same_version, trainer_now, mask, strict=True):
        mismatch = sum(one - other for one, other, counts in zip(same, sampled, counted, strict=True) if counts)
        lag = sum(one - other for one, other, counts in zip(now, same, counted, strict=True) if counts)
        parts["mismatch"].append(mismatch)
        parts["lag"].append(lag)
        parts["total"].append(mismatch + lag)
    return parts


def split_of_sums(behavior, trainer_same_version, trainer_now, mask):
    from itertools import compress

    def scores(rows):
        return [sum(compress(row, counted)) for row, counted in zip(rows, mask, strict=True)]

    sampled, same, now = scores(behavior), scores(trainer_same_version), scores(trainer_now)
    return {
        "total": tuple(one - other for one, other in zip(now, sampled, strict=True)),
        "lag": tuple(one - other for one, other in zip(now, same, strict=True)),
        "mismatch": tuple(one - other for one, other in zip(same, sampled, strict=True)),
    }


def split_numpy(behavior, trainer_same_version, trainer_now, mask):
    import numpy as np

    def scores(rows):
        return np.array(
            [
                np.array(row, dtype=float)[np.array(counted, dtype=bool)].sum()
                for row, counted in zip(rows, mask, strict=True)
            ]
        )

    sampled, same, now = scores(behavior), scores(trainer_same_version), scores(trainer_now)
    return {"mismatch": same - sampled, "lag": now - same, "total": now - sampled}
