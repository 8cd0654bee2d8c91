"""Attempts at the lab's recovery drill: each defines `save_loop` and `load_loop`, and returns them in that order.

First mistakes, each with its hint, then right answers written in other ways.
"""


def counters_only():
    """Your loop counts on, and all that waited is gone. Which prompts and records will nobody ask for again?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return {"version": loop.version, "next_prompt": loop.next_prompt, "next_ticket": loop.next_ticket}

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state)
        return loop

    return save_loop, load_loop


def still_in_flight():
    """Your loop waits for workers that are gone. Who hands out their prompts again?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state)
        loop.in_flight = {int(ticket): rollout for ticket, rollout in state["in_flight"].items()}
        return loop

    return save_loop, load_loop


def in_flight_forgotten():
    """Your loop never returns to what was in flight. What becomes of those prompts?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state, in_flight={})
        return loop

    return save_loop, load_loop


def lost_prompts_forgotten():
    """Your loop forgets prompts that were lost before the failure. Where did they wait?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state, in_flight={})
        loop.again = [rollout["prompt"] for rollout in state["in_flight"].values()]
        return loop

    return save_loop, load_loop


def in_flight_first():
    """Your loop hands out what was in flight before what had waited already. Who comes first in the notebook's rule?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state, in_flight={})
        loop.again = [rollout["prompt"] for rollout in state["in_flight"].values()] + state["again"]
        return loop

    return save_loop, load_loop


def tickets_in_order_of_text():
    """Your loop hands out prompts in the order of tickets as text. Does 10 come before 9?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state, in_flight={})
        loop.again += [state["in_flight"][ticket]["prompt"] for ticket in sorted(state["in_flight"])]
        return loop

    return save_loop, load_loop


def newest_ticket_first():
    """Your loop hands out the newest ticket's prompt first. Whose worker was lost first, by the notebook's rule?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state, in_flight={})
        loop.again += [rollout["prompt"] for rollout in reversed(state["in_flight"].values())]
        return loop

    return save_loop, load_loop


def prompts_taken_from_the_oldest():
    """Your loop goes back to the oldest prompt in flight, and on from there. Which of the later ones were finished?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        prompts = [rollout["prompt"] for rollout in state["in_flight"].values()]
        vars(loop).update(state, in_flight={}, next_prompt=min([*prompts, state["next_prompt"]]))
        return loop

    return save_loop, load_loop


def tickets_from_zero():
    """Your loop numbers its tickets from 0 again. A late result for an old ticket comes in: whose is it now?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state, in_flight={}, next_ticket=0)
        loop.again += [rollout["prompt"] for rollout in state["in_flight"].values()]
        return loop

    return save_loop, load_loop


def version_from_zero():
    """Your loop starts with version 0 again. Which lag do the records in the queue have then?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state, in_flight={}, version=0)
        loop.again += [rollout["prompt"] for rollout in state["in_flight"].values()]
        return loop

    return save_loop, load_loop


def queue_dropped():
    """Your loop starts with an empty queue. Who generates the finished records once more?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state, in_flight={}, queue=[])
        loop.again += [rollout["prompt"] for rollout in state["in_flight"].values()]
        return loop

    return save_loop, load_loop


def pause_worked_out_anew():
    """Your loop works out from the queue whether it is paused. Between 2,000 and 4,000 tokens, what decides?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state, in_flight={})
        loop.again += [rollout["prompt"] for rollout in state["in_flight"].values()]
        loop.paused = sum(record["tokens"] for record in loop.queue) >= 4000
        return loop

    return save_loop, load_loop


def saving_clears_the_loop():
    """Your save_loop changes the loop that it saves. What does the loop do next, if there is no failure?"""
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        for ticket in list(loop.in_flight):
            loop.run([["lost", ticket]])
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state)
        return loop

    return save_loop, load_loop


# --- right answers in other ways ---------------------------------------------------------------------------------


def lost_by_events():
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return dict(vars(loop))

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(state)
        loop.in_flight = {int(ticket): rollout for ticket, rollout in state["in_flight"].items()}
        loop.run([["lost", ticket] for ticket in sorted(loop.in_flight)])
        return loop

    return save_loop, load_loop


def recovered_in_the_save():
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        state = {name: getattr(loop, name) for name in ("version", "next_prompt", "next_ticket", "queue", "paused")}
        state["again"] = [*loop.again, *(loop.in_flight[ticket]["prompt"] for ticket in sorted(loop.in_flight))]
        return state

    def load_loop(state):
        loop = DispatchLoop()
        for name, value in state.items():
            setattr(loop, name, value)
        return loop

    return save_loop, load_loop


def one_line_of_text():
    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        flying = ";".join(f"{ticket},{rollout['prompt']}" for ticket, rollout in loop.in_flight.items())
        waiting = ";".join(str(prompt) for prompt in loop.again)
        queue = ";".join(f"{record['prompt']},{record['version']},{record['tokens']}" for record in loop.queue)
        counters = f"{loop.version},{loop.next_prompt},{loop.next_ticket},{int(loop.paused)}"
        return "|".join([counters, flying, waiting, queue])

    def load_loop(state):
        counters, flying, waiting, queue = (part.split(";") if part else [] for part in state.split("|"))
        loop = DispatchLoop()
        loop.version, loop.next_prompt, loop.next_ticket, paused = map(int, counters[0].split(","))
        loop.paused = paused == 1
        loop.again = [int(prompt) for prompt in waiting]
        loop.again += [prompt for _, prompt in sorted(tuple(map(int, pair.split(","))) for pair in flying)]
        for record in queue:
            prompt, version, tokens = map(int, record.split(","))
            loop.queue.append({"prompt": prompt, "version": version, "tokens": tokens})
        return loop

    return save_loop, load_loop


def pickled():
    import base64
    import pickle

    from rlinfra.given.lab import DispatchLoop

    def save_loop(loop):
        return base64.b64encode(pickle.dumps(vars(loop))).decode()

    def load_loop(state):
        loop = DispatchLoop()
        vars(loop).update(pickle.loads(base64.b64decode(state)))  # noqa: S301
        while loop.in_flight:
            loop.run([["lost", min(loop.in_flight)]])
        return loop

    return save_loop, load_loop
