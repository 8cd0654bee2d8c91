"""Leaving something for the next student: in files, in the interpreter, in threads and signals."""

from __future__ import annotations

from .attack import Attack, Goal, cell

KIND = "leaving something behind"
FOLDER = "wiped folder"
OWN_PROCESS = "a process for each notebook"

ATTACKS = (
    Attack(
        "file in the working folder",
        KIND,
        "Leaves a file where it works.",
        cell("open('own', 'w').write('for the next')"),
        Goal.LEFTOVER,
        FOLDER,
    ),
    Attack(
        "start-up file of IPython",
        KIND,
        "Leaves a file that IPython runs when it starts.",
        cell("""
import os
folder = os.path.expanduser("~/.ipython/profile_default/startup")
os.makedirs(folder, exist_ok=True)
open(folder + "/«tag».py", "w").write("own = 1")
"""),
        Goal.LEFTOVER,
        FOLDER,
    ),
    Attack(
        "temporary file",
        KIND,
        "Leaves a temporary file.",
        cell("import tempfile\ntempfile.NamedTemporaryFile(delete=False, prefix='«tag»').write(b'x')"),
        Goal.LEFTOVER,
        FOLDER,
    ),
    Attack(
        "folder that is hard to remove",
        KIND,
        "Leaves folders without rights, in one another.",
        cell("import os\nos.makedirs('a/b/c')\nopen('a/b/c/own', 'w').write('x')\n"
             "for name in ('a/b/c', 'a/b', 'a', '.'):\n    os.chmod(name, 0)"),
        Goal.LEFTOVER,
        FOLDER,
    ),
    Attack(
        "folders 3,000 deep",
        KIND,
        "Leaves folders in one another, deeper than any path can name.",
        cell("import os\nfor _ in range(3000):\n    os.mkdir('a' * 20)\n    os.chdir('a' * 20)"),
        Goal.LEFTOVER,
        FOLDER,
    ),
    Attack(
        "module for the next in site-packages",
        KIND,
        "Adds a path file to the student's environment, which every Python there would read.",
        cell("open('«library»/«tag».pth', 'w').write('# mine')"),
        Goal.WRITE,
        "files: Landlock and uid",
    ),
    Attack(
        "bytecode for the next",
        KIND,
        "Adds bytecode to the cache of the student's package.",
        cell("open('«library»/rlinfra/__pycache__/«tag».cpython-311.pyc', 'wb').write(b'x')"),
        Goal.WRITE,
        "files: Landlock and uid",
    ),
    Attack(
        "patched module",
        KIND,
        "Patches the course's wire so that the next student's answers come out wrong.",
        cell("import rlinfra.observe\nrlinfra.observe.encode = lambda value: '«tag»'"),
        Goal.LEFTOVER,
        OWN_PROCESS,
    ),
    Attack(
        "built-in that tells",
        KIND,
        "Patches sum for whoever calls it next.",
        cell("import builtins\nbuiltins.own_«tag» = builtins.sum\nbuiltins.sum = lambda *a: 0"),
        Goal.LEFTOVER,
        OWN_PROCESS,
    ),
    Attack(
        "thread for the next",
        KIND,
        "Leaves a thread that is to live on in the next notebook.",
        cell("import threading, time\n"
             "threading.Thread(target=time.sleep, args=(5,), name='«tag»', daemon=True).start()"),
        Goal.LEFTOVER,
        OWN_PROCESS,
    ),
    Attack(
        "environment variable for the next",
        KIND,
        "Sets an environment variable that is to last.",
        cell("import os\nos.environ['«tag»'] = 'for the next'"),
        Goal.LEFTOVER,
        OWN_PROCESS,
    ),
    Attack(
        "finder for the next",
        KIND,
        "Puts an importer of its own in front of all others.",
        cell("import sys\nclass Own:\n    name = '«tag»'\n    find_spec = staticmethod(lambda *a: None)\n"
             "sys.meta_path.insert(0, Own())"),
        Goal.LEFTOVER,
        OWN_PROCESS,
    ),
)  # fmt: skip
