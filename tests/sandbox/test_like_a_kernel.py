"""Outputs are those of a fresh kernel under nbclient, cell by cell.

Known to differ, and left out here: a kernel may mix the order of standard output and error where neither is flushed,
goes on between two cells, starts programs, shows what is written to the bare descriptors 1 and 2, has magics of its
own (`%store`, `%connect_info`), is found under `get_ipython().kernel`, and lets a notebook read back what a front end
has put into an Output widget.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from rlinfra_autograder.sandbox.limits import Limits
from rlinfra_autograder.sandbox.runner import ZygoteRunner
from tests.conftest import STUDENT_PYTHON

ORACLE = Path(__file__).with_name("kernel_oracle.py")

# Where two runs differ for no reason of ours: files of cells, addresses, ids of widgets, folders, measured times, and
# the number that Python gives a thread.
DIFFERS = (
    (r"/tmp/ipykernel_\d+/\d+\.py", "<cell>"),
    (r"\(\d+\.py, line", "(<cell>, line"),
    (r"0x[0-9a-f]{6,}", "<address>"),
    (r"\b[0-9a-f]{32}\b", "<id>"),
    (r"/[\w/.-]+/run-\d+", "<folder>"),
    (r"\b[\d.e+]+ (ns|μs|ms|s)\b", "<time>"),
    (r"Thread-\d+", "Thread-N"),
)

NOTEBOOKS = {
    "streams, magics": r"""
import sys
print("a", end="")
print("b", flush=True)
print("to stderr", file=sys.stderr, flush=True)
# %%
print("no newline", end="")
# %%
print("Grüße, 世界 🎉 \u2028 \x1b[1mbold\x1b[0m \r over")
# %%
sys.stdout.write("written\n")
# %%
sys.stdout.write("x"); sys.stdout.flush(); sys.stdout.flush()
sys.stderr.write("y"); sys.stderr.flush()
print("z")
# %%
for number in range(20_000): print(number)
# %%
print("one", flush=True); print("two", file=sys.stderr, flush=True); print("three", flush=True)
# %%
print("left over", end="", flush=True)
"to the side"
# %%
import logging
logging.warning("careful %d", 1)
logging.getLogger("mine").error("bad")
logging.info("unseen")
# %%
logging.basicConfig(level=logging.INFO, force=True, format="%(levelname)s %(message)s", stream=sys.stdout)
logging.info("seen")
# %%
print(1, 2, sep="-", file=sys.stdout); print(sys.stdout.encoding, sys.stdout.isatty(), sys.stdout.writable())
# %%
print(b"\xff".decode("latin-1"), chr(0), "\x07", "end")
# %%
print("after")
# %%
sys.stdout.writelines(["a\n", "b\n"])
# %%
import contextlib, io
with contextlib.redirect_stdout(io.StringIO()) as kept:
    print("kept")
kept.getvalue()
# %%
import threading
thread = threading.Thread(target=print, args=("from a thread",))
thread.start(); thread.join()
# %%
print()
# %%
print("", end="")
# %%
sys.stdout.name
# %%
%%time
sum(range(10))
# %%
%time x = 1
# %%
%%time
1 / 0
# %%
%%writefile helper.py
def helped(): return 1 / 0
# %%
import helper
helper.helped()
# %%
%run helper.py
# %%
helped
# %%
%env HOME_OF_NOBODY
# %%
%env MINE=1
# %%
import os
os.environ["MINE"]
# %%
%cd nowhere
# %%
%mkdir_unknown
# %%
os.mkdir("sub")
%cd -q sub
# %%
os.path.basename(os.getcwd())
# %%
%cd -q ..
# %%
%load_ext autoreload
%autoreload 2
# %%
%history
# %%
len?
# %%
%pinfo len
# %%
%who_ls
# %%
%reset -f
# %%
x
# %%
%%bash_unknown
echo
# %%
print(1); 2
# %%
import sqlite3, tempfile, json, pathlib
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "x.json"
    path.write_text(json.dumps([1])); print(json.loads(path.read_text()))
# %%
%timeit -n1 -r1 -q pass
# %%
%precision 2
# %%
3.14159
""",
    "results, displays": r"""
1 + 1
# %%
_, _1, Out, In
# %%
_ + (5,)
# %%
__, ___, _i, _ii, _iii, _i1
# %%
None
# %%
"quiet";
# %%
x = 3
x
# %%
x; x + 1
# %%
from dataclasses import dataclass, field
@dataclass
class Point:
    x: float
    y: float = 2.0
    tags: list = field(default_factory=list)
Point(1.0)
# %%
[Point(1.0)] * 2
# %%
{"b": 1, "a": [1, (2,), {3}], "c": {"nested": {"deeper": list(range(40))}}}
# %%
list(range(200))
# %%
"text with 'quotes' and \n newline"
# %%
lambda: 0
# %%
Point
# %%
class Shows:
    def _repr_html_(self): return "<b>shown</b>"
    def _repr_latex_(self): return "$x$"
    def _repr_markdown_(self): return "**shown**"
    def __repr__(self): return "Shows"
Shows()
# %%
class Bundle:
    def _repr_mimebundle_(self, **_):
        data = {"text/plain": "plain", "application/json": {"a": [1, None]}}
        return data, {"application/json": {"expanded": True}}
Bundle()
# %%
class Broken:
    def __repr__(self): raise ValueError("no repr")
Broken()
# %%
class HalfBroken:
    def _repr_html_(self): raise ValueError("no html")
    def __repr__(self): return "half"
HalfBroken()
# %%
class Displays:
    def _ipython_display_(self): print("displayed itself")
Displays()
# %%
import numpy as np
np.arange(6).reshape(2, 3), np.float64(1.5), np.array([1.23456789])
# %%
np.array([0.1, 200.0])
# %%
float("nan"), 1e300, 2**100, True, 1j, ...
# %%
from collections import Counter, defaultdict, OrderedDict, namedtuple
Counter("abca"), defaultdict(list, {1: [2]}), OrderedDict(a=1)
# %%
if True:
    5
# %%
for i in range(2):
    i
# %%
Out[1], len(In), sorted(Out)[:4]
# %%
# only a comment
# %%
In[-1], In[1]
# %%
x = 1
%precision 3
3.14159
# %%
%who
# %%
get_ipython().__class__.__mro__[1].__name__
# %%
__name__
# %%
__file__
# %%
print(__doc__, __builtins__.__name__, "display" in dir(__builtins__))
# %%
x?
# %%
%pprint
# %%
list(range(50))
# %%
%lsmagic?
# %%
help(len)
# %%
open
# %%
%no_such_magic
# %%
%%no_such_cell_magic
body
# %%
import sys
sys.exit
# %%
sys.ps1
# %%
from IPython.display import *
display(1, "two", [3])
4
# %%
display(HTML("<b>a</b>"))
HTML("<i>b</i>")
# %%
display(Markdown("**m**"), Latex("$x^2$"), Math("y"), SVG("<svg xmlns='http://www.w3.org/2000/svg'/>"))
# %%
display(JSON({"a": 1}), Javascript("1"), Code("print(1)", language="python"))
# %%
display({"text/plain": "raw", "text/html": "<p>raw</p>"}, raw=True, metadata={"text/html": {"isolated": True}})
# %%
handle = display("old", display_id=True)
handle.update("new")
type(handle).__name__
# %%
handle = display(HTML("a"), display_id="mine")
print("between")
display(HTML("b"), display_id="mine")
update_display(HTML("c"), display_id="mine")
# %%
update_display(HTML("d"), display_id="mine")
# %%
update_display("nobody has it", display_id="unknown")
# %%
print("gone")
clear_output()
print("kept")
# %%
print("gone")
display("gone")
clear_output(wait=True)
print("kept")
# %%
print("kept after all")
clear_output(wait=True)
# %%
for i in range(3):
    clear_output(wait=True)
    display(i)
# %%
for i in range(3):
    clear_output()
    print(i)
# %%
clear_output(wait=True)
"result"
# %%
print("gone"); clear_output(wait=True); 1/0
# %%
display(Image(data=b"\x89PNG\r\n\x1a\n", format="png"))
# %%
display(Image(data=b"\x89PNG\r\n\x1a\n", format="png", width=10, alt="told"))
# %%
display(Image(data=b"\xff\xd8", format="jpeg"))
# %%
display()
# %%
h = DisplayHandle()
h.display("one")
h.update("two")
# %%
publish_display_data({"text/plain": "published"}, metadata={"a": 1})
# %%
display("with", "metadata", metadata={"text/plain": {"x": 1}})
# %%
class Formatted: pass
get_ipython().display_formatter.formatters["text/html"].for_type(Formatted, lambda _: "<b>formatted</b>")
display(Formatted(), include=["text/html"])
# %%
display(ProgressBar(3))
# %%
for _ in ProgressBar(2): pass
# %%
IFrame("x.html", 10, 10)
# %%
print("a"); display("b"); print("c")
# %%
%%html
<b>cell</b>
# %%
%%latex
$z$
# %%
%%markdown
*m*
# %%
%%javascript
1
# %%
display(HTML(1))
# %%
Audio(data=[0.0, 0.5, -0.5], rate=8000)
# %%
FileLink("nothing.txt")
# %%
display_html("<b>h</b>", raw=True); display_markdown("m", raw=True)
display_svg("<svg/>", raw=True); display_png(b"\x89PNG", raw=True)
# %%
import nothing_here
# %%
print("one", end=""); handle = display("d", display_id="z"); print("two"); handle.update("e")
# %%
%%capture kept
print("kept"); display("also"); 5
# %%
kept.stdout, [o.data for o in kept.outputs]
# %%
kept.show()
# %%
kept()
# %%
%%capture --no-stderr
import sys
print("hidden"); print("err", file=sys.stderr)
# %%
from IPython.utils.capture import capture_output
with capture_output() as captured:
    print("in"); display("in")
captured.stdout, len(captured.outputs)
# %%
%%capture both --no-display
display("shown")
print("hidden")
""",
    "figures, widgets": r"""
%matplotlib inline
import matplotlib.pyplot as plt
plt.plot([1, 2, 3]); plt.title("$x^2$")
plt.show()
# %%
plt.plot([1, 2])
# %%
fig, axes = plt.subplots(1, 2, figsize=(3, 2)); axes[0].hist([1, 1, 2]);
# %%
fig
# %%
plt.figure(); plt.figure(); print("two figures")
# %%
plt.plot([1]); print("before"); plt.show(); print("after")
# %%
import os
os.environ["SOURCE_DATE_EPOCH"] = "0"  # a picture says when it was made
plt.rcParams["svg.hashsalt"] = "the same ids every time"
%config InlineBackend.figure_format = "svg"
plt.plot([1, 2]);
# %%
from matplotlib_inline.backend_inline import set_matplotlib_formats
set_matplotlib_formats("png", "svg")
plt.plot([1, 2]);
# %%
%config InlineBackend.figure_format = "retina"
plt.plot([3, 2]);
# %%
set_matplotlib_formats("jpeg", quality=50)
plt.plot([3, 2]);
# %%
set_matplotlib_formats("png"); plt.plot([1]); 1/0
# %%
print("next")
# %%
plt.close("all"); fig, ax = plt.subplots(); plt.close(fig)
# %%
display(fig)
# %%
plt.rcParams["figure.dpi"], plt.rcParams["figure.figsize"], plt.get_backend()
# %%
%matplotlib
# %%
%matplotlib inline
# %%
plt.ioff(); plt.plot([1, 2]);
# %%
plt.ion()
plt.imshow([[1, 2], [3, 4]])
# %%
plt.title("missing glyph 世")
# %%
plt.gcf().set_size_inches(2, 1); plt.plot([1])
# %%
import numpy as np
def animate(n):
    plt.close("all"); plt.plot(np.arange(n)); display(plt.gcf()); plt.close()
animate(3); animate(4)
# %%
plt.savefig("x.png"); import os; os.path.getsize("x.png") > 1000
# %%
import ipywidgets as widgets
from IPython.display import display, HTML
slider = widgets.IntSlider(value=3, max=5)
slider
# %%
display(slider); print("shown")
# %%
slider.value = 4; slider
# %%
widgets.VBox([slider, widgets.Label("text")])
# %%
out = widgets.Output()
with out:
    print("inside"); display("inside too")
out
# %%
with out:
    1 / 0
# %%
out.append_stdout("more")
# %%
out.clear_output()
# %%
@out.capture()
def noisy(): print("captured")
noisy()
# %%
@widgets.interact(x=(0, 5))
def shows(x=2):
    print("x is", x)
    return x * 2
# %%
f = widgets.interactive(lambda x: print(x), x=3)
f
# %%
widgets.interact_manual(lambda x: x, x=1);
# %%
slider.observe(lambda change: print("changed to", change["new"]), "value")
slider.value = 1
# %%
button = widgets.Button(description="press")
button.on_click(lambda _: print("pressed"))
button.click()
# %%
widgets.interactive_output(lambda x: print(x), {"x": slider})
# %%
widgets.jslink((slider, "value"), (widgets.IntText(), "value"))
# %%
widgets.HTML("<b>x</b>")
# %%
slider.value = "text"
# %%
slider.value = 100
slider.value
# %%
widgets.Dropdown(options=["a", "b"]), widgets.Checkbox(), widgets.FloatText(2.5)
# %%
@widgets.interact(x=1.5, y=True, z=["a", "b"])
def several(x, y, z): return (x, y, z)
# %%
%matplotlib inline
import matplotlib.pyplot as plt
@widgets.interact(n=(1, 3))
def draw(n=2):
    plt.plot(range(n)); plt.show()
# %%
tab = widgets.Tab([widgets.Output()]); tab.set_title(0, "t")
with tab.children[0]:
    display(HTML("<i>in</i>"))
display(tab)
# %%
out2 = widgets.Output(); display(out2)
with out2: print("one")
print("two")
with out2: print("three")
# %%
from ipykernel.comm import Comm
Comm(target_name="x").target_name
# %%
type(get_ipython()).__bases__
""",
    "tasks, errors": r"""
import asyncio
await asyncio.sleep(0)
print("slept")
# %%
async def work(n):
    await asyncio.sleep(0.001 * n)
    return n * n
await asyncio.gather(*[work(n) for n in (2, 1, 0)])
# %%
task = asyncio.create_task(work(3))
print("made", task.done())
# %%
await task
# %%
async def counting(n):
    for i in range(n):
        yield i
        await asyncio.sleep(0)
async for i in counting(3):
    print(i)
# %%
[i async for i in counting(3)]
# %%
import contextlib
@contextlib.asynccontextmanager
async def entered():
    print("in"); yield 5; print("out")
async with entered() as five:
    five
# %%
asyncio.get_running_loop().is_running()
# %%
asyncio.get_event_loop() is asyncio.get_running_loop()
# %%
await undefined()
# %%
async def fails():
    raise ValueError("async")
await fails()
# %%
await asyncio.wait_for(asyncio.sleep(10), 0.01)
# %%
failed = asyncio.ensure_future(fails())
await asyncio.sleep(0.01)
failed.done()
# %%
try: await failed
except ValueError as e: print("caught", e)
# %%
queue = asyncio.Queue()
async def produce():
    for i in range(3): await queue.put(i); await asyncio.sleep(0)
    await queue.put(None)
async def consume():
    while (i := await queue.get()) is not None: print("got", i)
await asyncio.gather(produce(), consume());
# %%
async with asyncio.TaskGroup() as group:
    a = group.create_task(work(1)); b = group.create_task(work(2))
a.result() + b.result()
# %%
await asyncio.to_thread(lambda: 7)
# %%
work(1)
# %%
def sync():
    return asyncio.create_task(work(0))
t = sync()
await t
# %%
%%time
await asyncio.sleep(0)
# %%
%autoawait
# %%
lambda: (yield)
# %%
async def f():
    return 1
x = await f(); x
# %%
raise asyncio.CancelledError
# %%
await asyncio.create_task(fails())
# %%
1 / 0
# %%
def outer(x):
    return inner(x)

def inner(x):
    y = x + 1
    raise ValueError(f"bad {y}")

outer(1)
# %%
outer(41)
# %%
def f(:
    pass
# %%
print("unclosed"
# %%
  x = 1
 y = 2
# %%
'unterminated
# %%
x =
# %%
undefined_name
# %%
{}["missing"]
# %%
try:
    1 / 0
except ZeroDivisionError as error:
    raise RuntimeError("second") from error
# %%
try:
    1 / 0
except ZeroDivisionError:
    raise RuntimeError("during")
# %%
raise KeyboardInterrupt
# %%
raise KeyboardInterrupt("by hand")
# %%
assert False, "told"
# %%
assert 1 == 2
# %%
class Mine(Exception):
    def __str__(self): return "mine says"
raise Mine
# %%
raise ExceptionGroup("many", [ValueError("a"), TypeError("b")])
# %%
import json
json.loads("{")
# %%
error = ValueError("noted")
error.add_note("a note")
raise error
# %%
import warnings
warnings.warn("careful")
# %%
def old():
    warnings.warn("old", DeprecationWarning, stacklevel=2)
old()
# %%
for _ in range(3): warnings.warn("again")
# %%
warnings.simplefilter("error")
warnings.warn("now an error")
# %%
warnings.resetwarnings()
"\d"
# %%
"a" is "b"
# %%
return 5
# %%
yield 5
# %%
break
# %%
nonlocal z
# %%
import sys
print("before", flush=True); print("err", file=sys.stderr, flush=True); raise ValueError("after")
# %%
raise SystemExit("leave")
# %%
import sys
sys.exit()
# %%
raise 5
# %%
exec("1/0")
# %%
eval("1+")
# %%
compile("x = = 1", "named.py", "exec")
# %%
int("x")
# %%
@property
def broken(self): 1/0
class A: broken = broken
A().broken
# %%
[1/n for n in (1, 0)]
# %%
(lambda: 1/0)()
# %%
import traceback
try: 1/0
except Exception: traceback.print_exc()
# %%
try: 1/0
except Exception: print(traceback.format_exc())
# %%
%tb
# %%
%xmode Plain
# %%
1/0
# %%
%xmode Minimal
# %%
1/0
# %%
%xmode Context
# %%
def long():
    a = 1
    b = 2
    c = 3
    d = 4
    e = 5
    return a / (b - 2)
long()
# %%
raise ValueError("Grüße 🎉\nsecond line")
# %%
raise ValueError("<script>alert(1)</script>")
# %%
def g():
    try:
        yield 1
    finally:
        raise ValueError("in a generator")
next(g())
# %%
class Gone:
    def __del__(self): raise ValueError("in del")
Gone(); None
# %%
import os
os.strerror
open("nowhere.txt")
# %%
"abc".foo
# %%
import threading
def boom(): raise ValueError("in thread")
t = threading.Thread(target=boom); t.start(); t.join()
# %%
%%time
1/0
# %%
%run nothing.py
# %%
raise StopIteration
# %%
raise GeneratorExit
# %%
ip = get_ipython()
ip.showtraceback()
# %%
sys.last_type
""",
}


def cells_of(notebook: str) -> list[str]:
    return [source.strip("\n") for source in re.split(r"^# %%$", notebook, flags=re.MULTILINE)]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """What fresh kernels show for the notebooks, each in a folder of its own."""
    folder = tmp_path_factory.mktemp("kernels")
    orders = []
    for number, notebook in enumerate(NOTEBOOKS.values()):
        (folder / f"run-{number}").mkdir()
        orders.append({"folder": str(folder / f"run-{number}"), "cells": cells_of(notebook)})
    (folder / "orders.json").write_text(json.dumps(orders))
    subprocess.run(
        [str(STUDENT_PYTHON), str(ORACLE), "orders.json", "found.json"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"},
        capture_output=True,
        check=True,
        timeout=900,
    )
    return dict(zip(NOTEBOOKS, json.loads((folder / "found.json").read_text()), strict=True))


@pytest.fixture(scope="module")
def patient(settings):
    with ZygoteRunner(replace(settings, limits=Limits(wall_factor=20))) as runner:
        yield runner


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_cell_shows_what_a_kernel_shows(kernels, patient, name):
    sources = cells_of(NOTEBOOKS[name])
    run = patient.run(list(enumerate(sources)), None)
    for place, (source, expected) in enumerate(zip(sources, kernels[name], strict=True)):
        cell = run.cells[place]
        assert not cell.fault
        assert (source, alike(cell.outputs)) == (source, alike(expected["outputs"]))
        assert cell.execution_count == expected["count"]


def alike(outputs) -> list[object]:
    """Return outputs without what differs between any two runs, and with the pieces of a stream put together."""
    joined: list[dict[str, object]] = []
    for output in map(dict, outputs):
        if output["output_type"] == "stream" and joined and joined[-1].get("name") == output["name"]:
            joined[-1]["text"] += output["text"]
        else:
            joined.append(output)
    text = json.dumps(joined, sort_keys=True, ensure_ascii=False)
    for pattern, name in DIFFERS:
        text = re.sub(pattern, name, text)
    return json.loads(text)


def outputs_of(runner, *sources):
    run = runner.run(list(enumerate(sources)), None)
    return [run.cells[place].outputs for place in range(len(sources))]


def test_a_recursion_without_end_is_told_within_the_time_of_a_cell(patient):
    """With the files of a kernel, IPython would show each of three thousand frames, which takes it ten seconds."""
    ((error,),) = outputs_of(patient, "def sink(n):\n    return sink(n + 1)\nsink(0)")
    assert error.ename == "RecursionError"
    assert len(error.traceback) < 110


@pytest.mark.parametrize("line", ["!pip install numpy", "files = !pip list", "%system pip list"])
def test_another_program_is_refused_with_a_sentence(runner, line):
    ((error,),) = outputs_of(runner, line)
    assert error.evalue == "pip: no other program can be started while a notebook is graded"


@pytest.mark.parametrize("ask", ["input('name? ')", "import getpass; getpass.getpass()"])
def test_a_question_to_the_student_is_refused_with_a_sentence(runner, ask):
    ((error,),) = outputs_of(runner, ask)
    assert error.ename == "StdinNotImplementedError"
    assert "nobody to answer" in error.evalue


def test_what_a_task_prints_between_two_cells_stands_in_the_next_one(runner):
    """A kernel goes on between two cells; here a task waits until the next cell runs."""
    made, awaited = outputs_of(
        runner,
        "import asyncio\nasync def work():\n    await asyncio.sleep(0.01)\n    print('worked')\n"
        "task = asyncio.create_task(work())",
        "await task",
    )
    assert made == []
    assert [output.text for output in awaited] == ["worked\n"]
