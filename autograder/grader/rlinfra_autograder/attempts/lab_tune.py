"""Attempts at `tune`: first mistakes, each with its hint, then right answers written in other ways."""


def always_by_turns(workload):
    """Your loop goes by turns where a lag is allowed. Who waits for whom meanwhile, and for how long?"""
    return {
        "mode": "sequential",
        "batch_tokens": 8_000,
        "max_queue_tokens": 16_000,
        "max_policy_lag": 0,
        "sync_every_updates": 1,
    }


def lag_bound_unread(workload):
    """A rollout in your run is older than the workload allows. Which setting says how old one may be?"""
    return {
        "mode": "bounded_async",
        "batch_tokens": 8_000,
        "max_queue_tokens": 16_000,
        "max_policy_lag": 8,
        "sync_every_updates": 2,
    }


def oldest_rollouts_whatever_the_ess(workload):
    """Your run holds the bound on lag and not the one on ESS. What does each version of lag do to the weights?"""
    if workload["largest_lag"] == 0:
        mode = "sequential"
    else:
        mode = "bounded_async"
    return {
        "mode": mode,
        "batch_tokens": 4_000,
        "max_queue_tokens": 32_000,
        "max_policy_lag": workload["largest_lag"],
        "sync_every_updates": min(3, workload["largest_lag"] + 1),
    }


def publishes_after_each_update(workload):
    """Your link is busy most of the time. How many updates pass while one publication is on its way?"""
    from rlinfra.given.lab_tune import broken_bounds, simulate_choice

    if workload["largest_lag"] == 0:
        return {
            "mode": "sequential",
            "batch_tokens": 8_000,
            "max_queue_tokens": 16_000,
            "max_policy_lag": 0,
            "sync_every_updates": 1,
        }
    for lag in range(workload["largest_lag"], -1, -1):
        choice = {
            "mode": "bounded_async",
            "batch_tokens": 8_000,
            "max_queue_tokens": 16_000,
            "max_policy_lag": lag,
            "sync_every_updates": 1,
        }
        if not broken_bounds(workload, simulate_choice(workload, choice)):
            break
    return choice


def smallest_batches(workload):
    """Your updates are small and many. What does each one cost, however few tokens it has?"""
    from rlinfra.given.lab_tune import broken_bounds, simulate_choice

    for lag in range(workload["largest_lag"], -1, -1):
        choice = {
            "mode": "bounded_async" if lag else "sequential",
            "batch_tokens": 1_000,
            "max_queue_tokens": 16_000,
            "max_policy_lag": lag,
            "sync_every_updates": lag + 1,
        }
        if not broken_bounds(workload, simulate_choice(workload, choice)):
            break
    return choice


def only_fresh_rollouts(workload):
    """Your loop discards what is one version old. How much of what the workers generate does it train on?"""
    return {
        "mode": "bounded_async",
        "batch_tokens": 8_000,
        "max_queue_tokens": 16_000,
        "max_policy_lag": 0,
        "sync_every_updates": 1,
    }


# --- right answers -----------------------------------------------------------------------------------------------


def by_rule_of_thumb(workload):
    from rlinfra.given.lab_tune import broken_bounds, simulate_choice

    batch = 8_000
    choice = {"mode": "sequential", "batch_tokens": batch, "max_queue_tokens": 2 * batch}
    if workload["largest_lag"] == 0:
        return {**choice, "max_policy_lag": 0, "sync_every_updates": 1}
    update = workload["train_overhead_seconds"] + batch / workload["trainer_tokens_per_second"]
    sync = 1 + round(workload["publish_seconds"] / update / 2)
    for lag in range(workload["largest_lag"], 0, -1):
        choice.update(mode="bounded_async", max_policy_lag=lag, sync_every_updates=min(sync, lag + 1))
        if not broken_bounds(workload, simulate_choice(workload, choice)):
            break
    return choice


def by_grid(workload):
    import itertools

    from rlinfra.given.lab_tune import DEFAULT_CHOICE, broken_bounds, simulate_choice

    names = ("mode", "batch_tokens", "max_queue_tokens", "max_policy_lag", "sync_every_updates")
    lags = range(workload["largest_lag"] + 1)
    grid = itertools.product(("sequential", "bounded_async"), (8_000,), (24_000,), lags, (1, 2))
    runs = [(0.0, dict(DEFAULT_CHOICE))]
    for values in grid:
        choice = dict(zip(names, values, strict=True))
        if choice["sync_every_updates"] > choice["max_policy_lag"] + 1:
            continue
        if choice["mode"] == "sequential" and choice["max_policy_lag"] > 0:
            continue
        row = simulate_choice(workload, choice)
        if not broken_bounds(workload, row):
            runs.append((row["trained_tokens_per_second"], choice))
    return max(runs, key=lambda run: run[0])[1]


def by_climbing(workload):
    from rlinfra.given.lab_tune import broken_bounds, simulate_choice

    def rate(choice):
        try:
            row = simulate_choice(workload, choice)
        except ValueError:
            return -1.0
        return -1.0 if broken_bounds(workload, row) else row["trained_tokens_per_second"]

    best = {
        "mode": "bounded_async" if workload["largest_lag"] else "sequential",
        "batch_tokens": 8_000,
        "max_queue_tokens": 16_000,
        "max_policy_lag": min(1, workload["largest_lag"]),
        "sync_every_updates": 1,
    }
    steps = [("max_policy_lag", 1), ("sync_every_updates", 1), ("max_policy_lag", 2), ("sync_every_updates", -1)]
    most = rate(best)
    while True:
        near = [{**best, name: best[name] + step} for name, step in steps]
        rates = [rate(choice) for choice in near]
        if max(rates) <= most:
            return best
        most = max(rates)
        best = near[rates.index(most)]
