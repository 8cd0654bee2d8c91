"""Reading what is not the student's: the course root, the reference, the grader, the other run, the neighbours."""

from __future__ import annotations

from .attack import Attack, Goal, all_functions, cell

KIND = "reading files"
OTHERS = "reading the grader's process"
IMPORTS = "importing the answers"
FILES = "files: Landlock"
OTHER = "other processes: seccomp, uid, Landlock"

# runs the solution cells of a notebook, and puts their answers in the place of one's own before each check
SOLVE = """
import json
def own_answers(path):
    space = dict(globals())
    for one in json.load(open(path))["cells"]:
        if one.get("id", "").endswith("-code") and one["cell_type"] == "code":
            exec("".join(one["source"]), space)
    return space
own = own_answers("«PATH»")
"""


def _solved_by(path: str) -> object:
    return all_functions("def NAME(*args, **kwargs):\n    return own['NAME'](*args, **kwargs)",
                         SOLVE.replace("PATH", path))  # fmt: skip


ATTACKS = (
    Attack(
        "course seed",
        KIND,
        "Prints the file from which the hidden cases are drawn.",
        cell("print(open('«seed»').read())"),
        Goal.READ,
        FILES,
    ),
    Attack(
        "gradebook",
        KIND,
        "Prints the database of all grades.",
        cell("print(open('«gradebook»', 'rb').read()[-200:])"),
        Goal.READ,
        FILES,
    ),
    Attack(
        "source notebook",
        KIND,
        "Runs the solutions in the authors' notebook and hands in what they return.",
        _solved_by("source"),
        Goal.POINTS,
        FILES,
    ),
    Attack(
        "neighbour's submission",
        KIND,
        "Runs the solutions of another student and hands in what they return.",
        _solved_by("neighbour"),
        Goal.POINTS,
        FILES,
    ),
    Attack(
        "reference module",
        KIND,
        "Reads the file of the reference and calls its functions.",
        all_functions("def NAME(*args, **kwargs):\n    return own['NAME'](*args, **kwargs)", """
import sys, types
module = types.ModuleType("own")
sys.modules["own"] = module
own = vars(module)
source = open("«reference»/memory.py").read().replace("from .", "from rlinfra.given.")
exec(compile(source.replace("from rlinfra.given.arguments", "from rlinfra.given"), "own", "exec"), own)
"""),
        Goal.POINTS,
        FILES,
    ),
    Attack(
        "symbolic link",
        KIND,
        "Links the course seed into its own folder and reads the link.",
        cell("import os\nos.symlink('«seed»', 'own')\nprint(open('own').read())"),
        Goal.READ,
        FILES,
    ),
    Attack(
        "hard link",
        KIND,
        "Links the course seed into its own folder as a second name, and reads it there.",
        cell("import os\nos.link('«seed»', 'own')\nprint(open('own').read())"),
        Goal.READ,
        FILES,
    ),
    Attack(
        "path through /proc/self/root",
        KIND,
        "Reads the course seed by a path through its own process's root.",
        cell("print(open('/proc/self/root«seed»').read())"),
        Goal.READ,
        FILES,
    ),
    Attack(
        "magic with a shell path",
        KIND,
        "Lets IPython's magic load the course seed as a cell.",
        cell("%load_ext autoreload\nget_ipython().run_line_magic('pycat', '«seed»')\n"
             "print(get_ipython().find_user_code('«seed»', py_only=False))"),
        Goal.READ,
        FILES,
    ),
    Attack(
        "grader's environment by /proc",
        OTHERS,
        "Prints the environment of the grader's process.",
        cell("print(open('/proc/«victim»/environ').read())"),
        Goal.READ,
        OTHER,
    ),
    Attack(
        "grader's descriptor by /proc",
        OTHERS,
        "Opens the course seed through the descriptor that the grader holds.",
        cell("print(open('/proc/«grader»/fd/«descriptor»').read())"),
        Goal.READ,
        OTHER,
    ),
    Attack(
        "memory by /proc",
        OTHERS,
        "Reads another process's memory through its file in /proc.",
        cell("file = open('/proc/«victim»/mem', 'rb', 0)\nfile.seek(«address»)\nprint(file.read(«length»).decode())"),
        Goal.READ,
        OTHER,
    ),
    Attack(
        "own environment",
        OTHERS,
        "Prints the environment variables, among which the grader's could be.",
        cell("import os\nprint(os.environ)"),
        Goal.READ,
        "clean environment",
    ),
    Attack(
        "inherited descriptor",
        OTHERS,
        "Reads the course seed from a descriptor that the grader left open.",
        cell("import os\nprint(os.pread(«descriptor», 4096, 0))"),
        Goal.READ,
        "closed descriptors",
    ),
    Attack(
        "reference imported",
        IMPORTS,
        "Imports the reference.",
        all_functions("import rlinfra_reference.memory as own\ndef NAME(*args, **kwargs):\n"
                      "    return own.NAME(*args, **kwargs)"),
        Goal.POINTS,
        "an environment without the staff's packages",
    ),
    Attack(
        "tasks imported",
        IMPORTS,
        "Imports the tasks and takes the reference and the key of the sorting question from them.",
        all_functions("from rlinfra_autograder.tasks import all_tasks\ndef NAME(*args, **kwargs):\n"
                      "    return all_tasks()['NAME'].correct[0](*args, **kwargs)"),
        Goal.POINTS,
        "an environment without the staff's packages",
    ),
    Attack(
        "answers left in the student's package",
        IMPORTS,
        "Looks through every module of rlinfra for a function of the task's name.",
        all_functions("def NAME(*args, **kwargs):\n    return own('NAME')(*args, **kwargs)", """
import importlib, pkgutil, rlinfra
for found in pkgutil.walk_packages(rlinfra.__path__, "rlinfra."):
    importlib.import_module(found.name)
def own(name):
    import sys
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("rlinfra"):
            for key, value in vars(module).items():
                if callable(value) and key.strip("_") == name:
                    return value
    return lambda *a, **k: 1
"""),
        Goal.POINTS,
        "no answers in the student's package",
    ),
)  # fmt: skip
