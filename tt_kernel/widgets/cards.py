"""The html of one tool call: a closed line that says all that matters, opened for arguments and result."""

from dataclasses import dataclass
from html import escape

from tt_kernel.domain.views import MAX_INLINE_IMAGE_BYTES, CallView, ImageView
from tt_kernel.widgets import styles
from tt_kernel.widgets.wording import arguments_line, clean, json_text, one_line, result_line

ALL_IMAGES_CHARS = 400 * 1024
"""Base64 characters of all images of one run in its html; the rest are named."""

_ICONS = {
    "workspace": "▤",
    "shell": "$",
    "dice": "⚄",
    "chat": "❝",
    "agent": "◈",
    "notebook": "ƒ",
    "function": "ƒ",
    "functions": "ƒ",
    "mcp": "⇄",
    "memory": "◷",
    "project": "▦",
}
_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")


def div(style: str, content: str) -> str:
    """`content` is HTML already."""
    return f'<div style="{style}">{content}</div>'


def span(style: str, content: str) -> str:
    return f'<span style="{style}">{content}</span>'


@dataclass
class ImageBudget:
    """How much of a run's html may still be images."""

    left: int = ALL_IMAGES_CHARS

    def admits(self, image: ImageView) -> bool:
        data = image.data or ""
        kind = image.data_mime_type or image.mime_type
        fits = 0 < len(data) <= min(self.left, MAX_INLINE_IMAGE_BYTES * 4 // 3 + 4)
        if not fits or kind not in _IMAGE_TYPES or not _BASE64.issuperset(data):
            return False
        self.left -= len(data)
        return True


def call_card(call: CallView, budget: ImageBudget) -> str:
    """Errors can be read and images be seen without opening anything."""
    failed = call.state == "error"
    outcome = span(styles.ERROR if failed else styles.OUTCOME, escape(result_line(call)))
    row = [
        span(styles.DIM, escape(_ICONS.get(call.group, "◦"))),
        span(styles.NAME, escape(one_line(call.name, 80))),
        span(styles.ARGUMENTS, escape(arguments_line(call))),
        outcome,
    ]
    summary = f'<summary style="{styles.SUMMARY}">{span(styles.ROW, "".join(row))}</summary>'
    details = f"<details>{summary}{_arguments(call)}{_content(call)}</details>"
    pictures = "".join(picture(image, budget) for image in call.images)
    return div(styles.FAILED_CARD if failed else styles.CARD, details + pictures)


def _arguments(call: CallView) -> str:
    if call.raw_arguments is not None:
        label = div(styles.LABEL, "Arguments that were no JSON object, as the model wrote them")
        return label + f'<pre style="{styles.PRE}">{escape(clean(call.raw_arguments))}</pre>'
    rows = "".join(
        f'<tr><td style="{styles.ARGUMENT}">{escape(clean(str(name)))}</td>'
        f'<td style="{styles.VALUE}">{escape(json_text(value))}</td></tr>'
        for name, value in call.arguments.items()
    )
    return f'<table style="{styles.TABLE}">{rows}</table>' if rows else ""


def _content(call: CallView) -> str:
    if not call.content:
        return ""
    more = div(styles.LABEL, "Cut here; the whole result is in the run's folder.") if call.content_truncated else ""
    return f'<pre style="{styles.PRE}">{escape(clean(call.content))}</pre>{more}'


def picture(image: ImageView, budget: ImageBudget) -> str:
    """An image, or its name where the budget does not admit it."""
    size = f" ({image.width} x {image.height})" if image.width and image.height else ""
    name = escape(clean(image.path) + size)
    if not budget.admits(image):
        return div(styles.LABEL, f"image {name}")
    kind = image.data_mime_type or image.mime_type
    source = f"data:{kind};base64,{image.data}"
    return div(styles.PICTURE_BOX, f'<img src="{source}" alt="{name}" title="{name}" style="{styles.PICTURE}">')
