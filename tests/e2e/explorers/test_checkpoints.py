"""The checkpoints explorer on a page. 250 machines that each fail every 2500 h stop a job every 10 h, 36,000 s."""

from .every import Explorer

SAVE, LOSE, RESUME = (
    "How often should 250 machines save?",
    "Why does one run lose more than the formula says?",
    "Do the weights make a resume?",
)


class TestCheckpoints(Explorer):
    TOPIC = "checkpoints"
    PRESETS = {
        # 180/900 + 900/72,000 = 20 % + 1.25 %; Young: √(2 · 180 · 36,000) = 3600 s, 5 % + 5 %; Daly: 3481.0 s
        SAVE: (
            "Saving every 15 min costs 21.25 % of the work, against 10.00 % at Young's interval of 60.0 min",
            "Daly's interval, 58.0 min: writing 5.17 %, rework 4.83 %, overhead 10.01 %",
        ),
        # 50,000 h / 16,384 = 3.05 h; 60/3600 + 3600/21,973 = 18.05 %; Young: √(2 · 60 · 10,986) = 1148 s, 10.45 %
        LOSE: (
            "In 30.52 h with 15 failures, saving every 60 min costs 40.17 % of the work: the formula says 18.05 %",
            "over the runs of all 50 seeds, 10.45 % by the formula",
        ),
        RESUME: (
            "A new run: 12 of 13 parts are faulty, 12 of 13 keys are missing",
            "weights: ✓ sound",
        ),
    }
    FEATURES = {
        # 180/1200 + 1200/72,000
        "the overhead curve at another interval": (
            SAVE,
            (("save after", ["ArrowRight"]),),
            "every 20 min costs 16.67 %",
        ),
        # √(2 · 5 · 36,000) = 600 s
        "Young's interval of a short checkpoint": (SAVE, (("a checkpoint", ["Home"]),), "Young's interval of 10.0 min"),
        # Daly 2006: 5 min and an MTBF of 15 min give 9.1 min, where Young has 12.2
        "Daly's interval where failures are frequent": (
            SAVE,
            (("a checkpoint", ["ArrowRight"]), ("machines", ["Home"]), ("a failure", ["Home"])),
            "Young's interval, 12.2 min: writing 40.82 %, rework 40.82 %, overhead 81.65 %. Daly's interval, 9.1 min",
        ),
        "fewer machines fail less often": (SAVE, (("machines", ["Home"]),), "a failure stops the job every 2,500.00 h"),
        # seed 5 strikes 15 times in ten MTBFs, seed 4 three times; tests/course walks through these runs
        "the failures of another seed": (
            LOSE,
            (("failures", ["ArrowLeft"]),),
            "In 30.52 h with 3 failures, saving every 60 min costs 7.11 % of the work: the formula says 18.05 %",
        ),
        "a run that lasts twice as long": (
            LOSE,
            (("the run lasts", ["ArrowRight"]),),
            "In 61.04 h with 25 failures, saving every 60 min costs 28.51 % of the work",
        ),
        # 15 restarts of 30 min would be 7.5 h; failures strike some of them, and 6.69 h are left
        "the restart, which the formula leaves out": (
            LOSE,
            (("a restart", ["End"]),),
            "costs 58.35 % of the work: the formula says 18.05 %",
        ),
        "what the manifest lacks": (
            RESUME,
            (("lacks", "optimizer_state"),),
            "A new run: 1 of 13 parts is faulty, 1 of 13 keys is missing",
        ),
        "a seed in the place of a state": (
            RESUME,
            (("lacks", "rng_states"), ("what lacks is", "there, but not sound")),
            "rng_states: ✗ faulty, a seed, no state: a reseeded generator repeats old draws",
        ),
        "a complete manifest is a resume": (RESUME, (("lacks", "nothing"),), "A resume: none of 13 parts is faulty"),
        # the first loss is computed before the first update, which has other moments
        "the control batch shows a lost part": (
            RESUME,
            (("picture", "a control batch"), ("lacks", "optimizer_state")),
            "A new run: the losses of the control batch differ from step 2 of 14 on",
        ),
        # of 16 rollouts 8 are trained on before the failure: the losses of 8 waiting ones know nothing of the generator
        "waiting rollouts hide a lost generator": (
            RESUME,
            (("picture", "a control batch"), ("lacks", "rng_states")),
            "A new run: the losses of the control batch differ from step 9 of 14 on",
        ),
        "the control batch does not show a lost contract": (
            RESUME,
            (("picture", "a control batch"), ("lacks", "environment")),
            "A new run: the control batch does not show it, all 14 losses",
        ),
    }
    # at the left end 1 min: 180/60 + 60/72,000
    BY_MOUSE = (SAVE, "save after", "Saving every 1 min costs 300.08 % of the work")
