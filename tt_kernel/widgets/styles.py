"""Inline styles of the static html.

Each passes JupyterLab's sanitizer, which is what an untrusted notebook is shown through (it has no style elements, no SVG, no
`inherit`, no `anywhere`). Colours are half transparent greys over whatever background there is, and one red with about the
same contrast on white and on near-black (4.3 : 1), always together with the word `error`.
"""

LINE = "1px solid rgba(128,128,128,0.35)"
RED = "#d64545"

BOX = "line-height:1.45;max-width:100%"
HEADER = f"display:flex;flex-wrap:wrap;gap:2px 12px;align-items:baseline;padding:2px 0 4px 0;border-bottom:{LINE}"
FOOTER = f"margin-top:6px;padding-top:3px;border-top:{LINE};font-size:0.92em;overflow-wrap:break-word"
STRONG = "font-weight:600"
DIM = "opacity:0.75"
MONO = "font-family:monospace;font-size:0.95em"

CARD = "margin:3px 0;padding:1px 0 1px 8px;border-left:3px solid rgba(128,128,128,0.35)"
FAILED_CARD = f"margin:3px 0;padding:1px 0 1px 8px;border-left:3px solid {RED}"
SUMMARY = "cursor:pointer"
ROW = "display:inline-flex;flex-wrap:wrap;gap:0 10px;align-items:baseline;width:95%;vertical-align:top"
NAME = f"{MONO};{STRONG};overflow-wrap:break-word;min-width:0"
ARGUMENTS = f"{MONO};{DIM};flex:1 1 9em;min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
OUTCOME = "min-width:0;overflow-wrap:break-word;text-align:right"
ERROR = f"color:{RED};{STRONG};min-width:0;overflow-wrap:break-word"
NOTE = f"margin:4px 0 4px 11px;{DIM};overflow-wrap:break-word"
ANSWER = "margin-top:6px;overflow-wrap:break-word"
PLAIN_ANSWER = "margin-top:6px;overflow-wrap:break-word;white-space:pre-wrap"
LABEL = f"{DIM};font-size:0.92em;margin-top:4px"

TABLE = "border-collapse:collapse;margin:4px 0"
CELL = f"border:{LINE};padding:2px 8px;vertical-align:top;text-align:left"
ARGUMENT = f"{CELL};font-size:0.95em"
VALUE = f"{CELL};{MONO};white-space:pre-wrap;overflow-wrap:break-word"
CODE = "font-family:monospace;background-color:rgba(128,128,128,0.15);padding:0 3px;border-radius:3px"
PRE = (
    "font-family:monospace;font-size:0.95em;white-space:pre-wrap;overflow-wrap:break-word;overflow:auto;max-height:26em;"
    "margin:4px 0;padding:6px 8px;background-color:rgba(128,128,128,0.1);border-radius:3px"
)
GONE = "text-decoration:line-through;background-color:rgba(214,69,69,0.18)"
GONE_LINE = "background-color:rgba(214,69,69,0.18)"
ADDED = "text-decoration:none;background-color:rgba(64,160,64,0.22)"
HALF = "flex:1 1 45%;min-width:12em"
PARAGRAPH = "margin:0 0 0.5em 0"
QUOTE = f"margin:6px 0;padding-left:10px;border-left:3px solid rgba(128,128,128,0.35);{DIM}"
PICTURE_BOX = "margin:4px 0"
PICTURE = "max-width:100%;max-height:320px;height:auto;width:auto;background-color:#ffffff;border-radius:3px"
