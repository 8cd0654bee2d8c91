"""Opening an explorer: what it looks up, what it refuses, and what it says where no widget is drawn."""

import subprocess
import sys

import pytest

from rlinfra.explorers import Explorer, explore
from rlinfra.explorers._functions import Functions
from rlinfra.explorers._model import Control, Explored, Picture, Preset

from .solved import solved


@pytest.fixture
def alone(monkeypatch):
    """As students have it: without the reference."""
    monkeypatch.setattr("rlinfra.explorers._reference", lambda _: {})


def test_an_unknown_topic_is_refused_with_those_there_are():
    with pytest.raises(LookupError, match="there is no topic 'memmory'; the topics are records, memory"):
        explore("memmory")


def test_a_topic_without_an_explorer_is_refused_with_those_that_have_one(monkeypatch):
    """As one that is added without."""
    monkeypatch.setattr("rlinfra.explorers._has_explorer", lambda topic: topic.name == "memory")
    with pytest.raises(LookupError, match="no explorer for 'records' yet; there are: memory"):
        explore("records")


def test_a_function_of_another_topic_is_refused_with_those_of_this_one():
    with pytest.raises(TypeError, match="kv_bytes is no function of the topic 'memory'; its functions are bytes_per"):
        explore("memory", kv_bytes=len)


def test_a_function_in_the_place_of_the_variables_is_refused():
    with pytest.raises(TypeError, match=r'explore\("memory", globals\(\)\)'):
        explore("memory", len)


@pytest.mark.usefixtures("alone")
def test_functions_by_keyword_come_before_the_notebooks():
    text = explore("memory", {"logits_bytes": lambda *_, **__: 2**30}, logits_bytes=lambda *_, **__: 3 * 2**30).text
    assert "logits_bytes: 3.00 GiB of logits" in text


@pytest.mark.usefixtures("alone")
def test_a_cell_that_is_run_anew_counts_from_the_next_drawing_on():
    notebook = {}
    explorer = explore("memory", notebook)
    assert "○ logits_bytes: is not there yet" in explorer.text
    notebook["logits_bytes"] = lambda *_, **__: 2**30
    assert "✓ logits_bytes: 1.00 GiB of logits" in explorer.text


@pytest.mark.usefixtures("alone")
def test_with_nothing_written_the_page_says_so_and_lists_the_functions():
    text = explore("memory", {}).text
    assert text.startswith("Nothing is written yet: the bars grow with each function that you write.")
    assert text.count("is not there yet") == 4
    assert text.count("is not asked in this picture") == 3


def test_compared_with_the_reference_what_differs_has_a_sign_of_its_own():
    """8 sequences of 4,096 tokens, 151,936 entries and 4 bytes are 18.55 GiB of logits."""
    explorer = explore("memory", {"logits_bytes": lambda *_, **__: 2**30, "bytes_per_parameter": lambda **_: 16})
    assert "✓ logits_bytes: 1.00 GiB of logits\n" in f"{explorer.text}\n"
    explorer.overlay = True
    assert "≠ logits_bytes: 1.00 GiB of logits; the reference: 18.55 GiB of logits" in explorer.text
    assert "✓ bytes_per_parameter: 16 bytes a trained parameter; the reference agrees" in explorer.text


def test_a_control_or_a_preset_that_is_not_there_is_refused():
    explorer = explore("memory")
    with pytest.raises(LookupError, match="no control 'rank'; it has rows, parameters"):
        explorer.set(rank=2)
    with pytest.raises(ValueError, match="ranks cannot be 3; its choices are 1 rank, 2 ranks"):
        explorer.set(ranks=3)
    with pytest.raises(LookupError, match=r"no preset asks 'Why\?'; they ask: Why does a 0.6B"):
        explorer.preset("Why?")


def test_a_preset_sets_only_what_there_is():
    control = Control("a", "a", (("0 B", 0),), 0, "")
    with pytest.raises(ValueError, match="a cannot be 1"):
        Explored("memory", (), (control,), (Preset("Why?", {"a": 1}, ""),), lambda *_: Picture({}, {}, "", ""))


def test_a_control_starts_at_one_of_its_choices():
    with pytest.raises(ValueError, match="'a' starts at 1, which is none of its choices"):
        Control("a", "a", (("0 B", 0),), 1, "")


def test_outside_of_a_kernel_it_is_text_and_no_widget_library_is_imported():
    """As in the grader's child, where nobody looks at widgets and each import costs every submission."""
    source = (
        "import sys\nfrom IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\nfrom rlinfra.explorers import explore\n"
        "data, _ = shell.display_formatter.format(explore('memory', {}))\n"
        "print(sorted(data), {'ipywidgets', 'anywidget', 'numpy'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert run.stdout == "['text/plain'] set()\n"


def test_nothing_is_computed_before_it_is_shown():
    calls = []
    explorer = explore("memory", logits_bytes=lambda *args, **_: calls.append(args) or 1)
    assert calls == []
    repr(explorer)
    assert calls == [(8, 2048, 151_936)]


# --- the frame -----------------------------------------------------------------------------------------------------


def parts_of(widget):
    """Return a widget and all that it holds."""
    return [widget, *(part for child in getattr(widget, "children", ()) for part in parts_of(child))]


def labelled(explorer, label):
    return next(part for part in parts_of(explorer.widget) if getattr(part, "description", None) == label)


def chart_of(explorer):
    return next(part for part in parts_of(explorer.widget) if hasattr(part, "details"))


def said(explorer):
    return "\n".join(part.value for part in parts_of(explorer.widget) if type(part).__name__ == "HTML")


@pytest.fixture
def explorer():
    return explore("memory", solved("memory"))


def test_a_control_moves_the_chart_and_the_line_says_from_where_to_where(explorer):
    before = chart_of(explorer).title
    labelled(explorer, "scored").value = 1
    assert (
        chart_of(explorer).title
        == "Training needs most, 12.9 GiB: it fits on this card of 16 GiB, with 3.1 GiB to spare"
    )
    assert f"scored: 8 sequences → 1 sequence; before: {before}." in said(explorer)


def test_a_move_that_leaves_the_sentence_says_so(explorer):
    labelled(explorer, "KV cache").value = 2
    assert "the sentence above stays as it is" in said(explorer)


def test_a_preset_moves_its_controls_and_draws_once(explorer, monkeypatch):
    explorer.widget  # noqa: B018 - made
    drawn = []
    monkeypatch.setattr(explorer, "draw", lambda draw=explorer.draw: drawn.append(1) or draw())
    labelled(explorer, "What does LoRA save, and what stays?").click()
    assert labelled(explorer, "trained").value == 0.003
    assert drawn == [1]
    assert "The frozen weights stay in every phase." in said(explorer)


def shown_controls(explorer):
    """Return the labels of the controls that are visible at once, and of those under "More"."""
    more = next((part for part in parts_of(explorer.widget) if type(part).__name__ == "ToggleButton"), None)
    found = [part for part in parts_of(explorer.widget) if type(part).__name__ in ("SelectionSlider", "Dropdown")]
    rest = next((box for box in parts_of(explorer.widget) if found[-1] in getattr(box, "children", ())), None)
    folded = [] if more is None else [part.description for part in rest.children]
    return [part.description for part in found if part.description not in folded], folded


def test_the_first_six_controls_are_visible_and_the_others_unfold(explorer):
    visible, folded = shown_controls(explorer)
    assert visible == ["bars", "parameters", "trained", "ZeRO stage", "ranks", "scored"]
    assert len(folded) == 11
    more = labelled(explorer, "More: 11 controls")
    rest = next(
        part for part in parts_of(explorer.widget) if labelled(explorer, "card") in getattr(part, "children", ())
    )
    assert rest.layout.display == "none"
    more.value = True
    assert rest.layout.display == ""


def test_only_controls_that_the_picture_depends_on_are_there(explorer):
    """The stages have nothing to do with scoring and with what a phase holds besides the state."""
    labelled(explorer, "bars").value = "ZeRO stages"
    visible, folded = shown_controls(explorer)
    assert visible == ["bars", "parameters", "trained", "ZeRO stage", "ranks", "card"]
    assert folded == ["a weight", "a gradient", "optimizer", "master copy"]
    labelled(explorer, "bars").value = "phases of the loop"
    assert "scored" in shown_controls(explorer)[0]


def test_a_single_control_too_many_is_named_in_the_singular_and_none_has_no_button():
    def draw(values, _):
        for name in list("abcdefg")[: values["a"]]:
            values[name]
        return Picture({"layer": []}, {}, "nothing", "nothing.")

    controls = tuple(Control(name, name, (("six", 6), ("seven", 7)), 7, "") for name in "abcdefg")
    explorer = Explorer(Explored("memory", (), controls, (Preset("Why?", {}, ""),), draw), Functions((), {}, {}))
    assert shown_controls(explorer) == (list("abcdef"), ["g"])
    assert labelled(explorer, "More: 1 control")
    labelled(explorer, "a").value = 6
    assert shown_controls(explorer) == (list("abcdef"), [])


def test_a_fault_of_the_explorer_itself_is_shown(explorer, monkeypatch):
    """What a callback raises would vanish in the kernel's log."""
    explorer.widget  # noqa: B018 - made
    monkeypatch.setattr(explorer, "draw", lambda: 1 / 0)
    labelled(explorer, "ranks").value = 2
    assert "The explorer itself failed: ZeroDivisionError: division by zero" in said(explorer)


def test_what_a_student_wrote_is_text_in_the_panel():
    explorer = explore("memory", {**solved("memory"), "logits_bytes": lambda *_, **__: "<img src=x>"})
    assert "<img" not in said(explorer)
    assert "returns &#x27;&lt;img src=x&gt;&#x27;" in said(explorer)


@pytest.mark.usefixtures("alone")
def test_without_the_reference_there_is_nothing_to_compare_with():
    assert "compare with the reference" not in [
        getattr(part, "description", "") for part in parts_of(explore("memory", {}).widget)
    ]


def test_compared_with_the_reference_a_difference_is_told():
    half = {**solved("memory"), "logits_bytes": lambda *args, **kwargs: 8 * 2048 * 151_936 * 4}
    explorer = explore("memory", half)
    labelled(explorer, "compare with the reference").value = True
    assert "9.27 GiB of logits; the reference: 18.55 GiB" in said(explorer)
    assert "8.88 GiB of state, before it is divided; the reference agrees" in said(explorer)
    marks = {mark["row"]: mark["gib"] for mark in chart_of(explorer).data["marks"]}
    assert marks["scoring"] == pytest.approx(1.110230 + 18.546875, abs=1e-5)


@pytest.fixture
def kernel(monkeypatch):
    """A shell that says that it has a kernel."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    monkeypatch.setattr(shell, "kernel", object(), raising=False)
    yield shell
    InteractiveShell.clear_instance()


@pytest.mark.usefixtures("kernel")
def test_in_a_kernel_it_is_a_widget_with_its_text_drawn_once(explorer, monkeypatch):
    drawn = []
    monkeypatch.setattr(explorer, "draw", lambda draw=explorer.draw: drawn.append(1) or draw())
    data = explorer._repr_mimebundle_()
    assert set(data) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert data["text/plain"].startswith("Scoring needs most, 19.7 GiB")
    assert drawn == [1]


@pytest.mark.usefixtures("kernel")
def test_in_a_kernel_without_the_widget_libraries_it_says_what_to_install(explorer, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    data = explorer._repr_mimebundle_()
    assert set(data) == {"text/plain"}
    assert data["text/plain"].endswith(
        "ipywidgets is missing, so this is the explorer's text alone: pip install 'rlinfra[lab]'"
    )
