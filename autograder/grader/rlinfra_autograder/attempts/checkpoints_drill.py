"""Attempts at the recovery drill: each defines `snapshot` and `restore`, and returns them in that order.

First mistakes, each with its hint, then right answers written in other ways.
"""


def weights_only():
    """Your loop has the old weights, and all the rest is new. What else made the next update come out as it did?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        return {"seed": loop.seed, "weights": loop.weights}

    def restore(state):
        loop = ToyLoop(state["seed"])
        loop.weights = state["weights"]
        loop.published_weights = list(state["weights"])
        return loop

    return snapshot, restore


def usual_tutorial():
    """Your loop has model, optimizer, scheduler and step, as in many tutorials. What does the rollout side lack?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        return {
            "seed": loop.seed,
            "weights": loop.weights,
            "moments": loop.moments,
            "learning_rate": loop.learning_rate,
            "step": loop.step,
        }

    def restore(state):
        loop = ToyLoop(state["seed"])
        loop.weights = state["weights"]
        loop.published_weights = list(state["weights"])
        loop.moments = state["moments"]
        loop.learning_rate = state["learning_rate"]
        loop.step = state["step"]
        return loop

    return snapshot, restore


def replayed_without_events():
    """Your loop was run again from its seed. Which of the things that moved it came from outside, and from no seed?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        return {"seed": loop.seed, "step": loop.step}

    def restore(state):
        loop = ToyLoop(state["seed"])
        loop.run([{"arrivals": 1, "reward": 1.0, "publish": False}] * state["step"])
        return loop

    return snapshot, restore


def moments_lost():
    """Your loop has everything but Adam's moments. How large is Adam's first step when they start at zero?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        state = {**vars(loop), "rng": loop.rng.getstate(), "success": list(loop.success.items())}
        del state["moments"]
        return state

    def restore(state):
        loop = ToyLoop(state["seed"])
        version, internal, gauss = state.pop("rng")
        loop.rng.setstate((version, tuple(internal), gauss))
        vars(loop).update(state, success=dict(state["success"]))
        return loop

    return snapshot, restore


def scheduler_lost():
    """Your loop trains with the learning rate of a new run. What has the scheduler done since the first step?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        state = {**vars(loop), "rng": loop.rng.getstate(), "success": list(loop.success.items())}
        del state["learning_rate"]
        return state

    def restore(state):
        loop = ToyLoop(state["seed"])
        version, internal, gauss = state.pop("rng")
        loop.rng.setstate((version, tuple(internal), gauss))
        vars(loop).update(state, success=dict(state["success"]))
        return loop

    return snapshot, restore


def step_lost():
    """Your loop counts its steps from 0 again. What does Adam's bias correction take the number of steps for?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        state = {**vars(loop), "rng": loop.rng.getstate(), "success": list(loop.success.items())}
        del state["step"]
        return state

    def restore(state):
        loop = ToyLoop(state["seed"])
        version, internal, gauss = state.pop("rng")
        loop.rng.setstate((version, tuple(internal), gauss))
        vars(loop).update(state, success=dict(state["success"]))
        return loop

    return snapshot, restore


def version_lost():
    """Your loop starts with policy version 0 again. Which lag do the waiting rollouts have then?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        state = {**vars(loop), "rng": loop.rng.getstate(), "success": list(loop.success.items())}
        del state["policy_version"]
        return state

    def restore(state):
        loop = ToyLoop(state["seed"])
        version, internal, gauss = state.pop("rng")
        loop.rng.setstate((version, tuple(internal), gauss))
        vars(loop).update(state, success=dict(state["success"]))
        return loop

    return snapshot, restore


def newest_weights_published():
    """Your rollouts come from the trainer's newest weights. Which weights belong to their version number?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        state = {**vars(loop), "rng": loop.rng.getstate(), "success": list(loop.success.items())}
        del state["published_weights"]
        return state

    def restore(state):
        loop = ToyLoop(state["seed"])
        version, internal, gauss = state.pop("rng")
        loop.rng.setstate((version, tuple(internal), gauss))
        vars(loop).update(state, success=dict(state["success"]), published_weights=list(state["weights"]))
        return loop

    return snapshot, restore


def rng_reseeded():
    """Your rollouts draw the noise of a new run. Does the seed say where the generator stood when it was stopped?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        state = {**vars(loop), "success": list(loop.success.items())}
        del state["rng"]
        return state

    def restore(state):
        loop = ToyLoop(state["seed"])
        vars(loop).update(state, success=dict(state["success"]))
        return loop

    return snapshot, restore


def cursor_lost():
    """Your rollouts take the prompts from the beginning of the data. Which of them had been taken already?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        state = {**vars(loop), "rng": loop.rng.getstate(), "success": list(loop.success.items())}
        del state["cursor"]
        return state

    def restore(state):
        loop = ToyLoop(state["seed"])
        version, internal, gauss = state.pop("rng")
        loop.rng.setstate((version, tuple(internal), gauss))
        vars(loop).update(state, success=dict(state["success"]))
        return loop

    return snapshot, restore


def prompt_keys_lost():
    """Your loop does not find its success rates. What does JSON make of a dictionary's keys that are numbers?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        return {**vars(loop), "rng": loop.rng.getstate()}

    def restore(state):
        loop = ToyLoop(state["seed"])
        version, internal, gauss = state.pop("rng")
        loop.rng.setstate((version, tuple(internal), gauss))
        vars(loop).update(state)
        return loop

    return snapshot, restore


def reward_mean_lost():
    """Your loop compares rewards with the mean of a new run. What is an advantage measured against?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        state = {**vars(loop), "rng": loop.rng.getstate(), "success": list(loop.success.items())}
        del state["reward_mean"]
        return state

    def restore(state):
        loop = ToyLoop(state["seed"])
        version, internal, gauss = state.pop("rng")
        loop.rng.setstate((version, tuple(internal), gauss))
        vars(loop).update(state, success=dict(state["success"]))
        return loop

    return snapshot, restore


def queue_dropped():
    """Your loop has an empty queue. What happened to the rollouts that were waiting for their reward?"""
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        state = {**vars(loop), "rng": loop.rng.getstate(), "success": list(loop.success.items())}
        del state["queue"]
        return state

    def restore(state):
        loop = ToyLoop(state["seed"])
        version, internal, gauss = state.pop("rng")
        loop.rng.setstate((version, tuple(internal), gauss))
        vars(loop).update(state, success=dict(state["success"]))
        return loop

    return snapshot, restore


def part_by_part():
    import random

    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        version, internal, gauss = loop.rng.getstate()
        return {
            "data": {"seed": loop.seed, "cursor": loop.cursor},
            "trainer": [loop.weights, loop.moments["first"], loop.moments["second"], loop.learning_rate, loop.step],
            "policy": {"version": loop.policy_version, "weights": loop.published_weights},
            "rng": {"version": version, "internal": list(internal), "gauss": gauss},
            "success": {str(prompt): rate for prompt, rate in loop.success.items()},
            "mean": loop.reward_mean,
            "queue": [[waiting["prompt"], waiting["version"], waiting["action"]] for waiting in loop.queue],
        }

    def restore(state):
        loop = ToyLoop(seed=state["data"]["seed"])
        loop.cursor = state["data"]["cursor"]
        loop.weights, first, second, loop.learning_rate, loop.step = state["trainer"]
        loop.moments = {"first": first, "second": second}
        loop.policy_version = state["policy"]["version"]
        loop.published_weights = state["policy"]["weights"]
        loop.rng = random.Random()  # noqa: S311
        loop.rng.setstate((state["rng"]["version"], tuple(state["rng"]["internal"]), state["rng"]["gauss"]))
        loop.success = {int(prompt): rate for prompt, rate in state["success"].items()}
        loop.reward_mean = state["mean"]
        loop.queue = [{"prompt": a, "version": b, "action": c} for a, b, c in state["queue"]]
        return loop

    return snapshot, restore


def all_attributes():
    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        return {**vars(loop), "rng": loop.rng.getstate(), "success": list(loop.success.items())}

    def restore(state):
        loop = ToyLoop(state["seed"])
        version, internal, gauss = state.pop("rng")
        loop.rng.setstate((version, tuple(internal), gauss))
        vars(loop).update(state, success=dict(state["success"]))
        return loop

    return snapshot, restore


def generator_wound_forward():
    import json

    from rlinfra.given.checkpoints import ToyLoop

    def snapshot(loop):
        return json.dumps([(name, value) for name, value in sorted(vars(loop).items()) if name != "rng"])

    def restore(text):
        parts = dict(json.loads(text))
        loop = ToyLoop(parts["seed"])
        for _ in range(parts["cursor"]):  # one draw a rollout
            loop.rng.random()
        for name, value in parts.items():
            setattr(loop, name, {int(key): rate for key, rate in value.items()} if name == "success" else value)
        return loop

    return snapshot, restore


def pickled_as_text():
    import base64
    import pickle

    def snapshot(loop):
        return base64.b64encode(pickle.dumps(loop)).decode()

    def restore(text):
        return pickle.loads(base64.b64decode(text))  # noqa: S301

    return snapshot, restore
