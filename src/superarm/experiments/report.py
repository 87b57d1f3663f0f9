"""The report: one HTML file with everything in it, for a reader without the code."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from superarm.experiments.catalogue import Analysis
from superarm.experiments.claims import Claim, Verdict

_CLASSES = {
    Verdict.REPRODUCED: "yes",
    Verdict.CONDITIONALLY: "partly",
    Verdict.NOT_REPRODUCED: "no",
    Verdict.UNDECIDED: "open",
}

STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fff; --rule: #d8d8d8; --soft: #f4f4f2; --dim: #666; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #16181b; --rule: #3a3d42; --soft: #202328; --dim: #a0a0a0; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.7rem; line-height: 1.2; }
h2 { margin-top: 3rem; border-top: 1px solid var(--rule); padding-top: 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.7rem 0 1.5rem; font-size: 0.92rem; width: 100%; }
caption { text-align: left; color: var(--dim); padding: 0.3rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.7rem; border-bottom: 1px solid var(--rule); }
.numbers td:not(:first-child), .numbers th:not(:first-child) { text-align: right; font-variant-numeric: tabular-nums; }
img { max-width: 100%; background: #fff; border-radius: 4px; }
.verdict { font-weight: 600; white-space: nowrap; }
.yes::before { content: "\\2713  "; color: #00875f; } .no::before { content: "\\2717  "; color: #c2410c; }
.partly::before { content: "\\25D0  "; color: #b07d00; } .open::before { content: "?  "; color: var(--dim); }
.quick { background: #fff3cd; color: #4d3b00; padding: 0.7rem 1rem; border-radius: 4px; }
small, .dim { color: var(--dim); }
"""


def html(
    analyses: Mapping[str, tuple[str, Analysis]],
    pictures: Mapping[str, bytes],
    claims: Sequence[Claim],
    manifest: Mapping[str, Any],
    seconds: Mapping[str, float],
    total_s: float,
) -> str:
    """The whole page. ``analyses`` has titles and analyses by name, ``seconds`` what the cells of each took.

    ``total_s`` is what all cells took; experiments share cells, so it is less than the sum.
    """
    sections = "".join(
        _section(name, title, analysis, pictures[name], seconds[name])
        for name, (title, analysis) in analyses.items()
    )
    contents = " · ".join(
        f'<a href="#{name}">{escape(title)}</a>' for name, (title, _) in analyses.items()
    )
    quick = (
        '<p class="quick"><strong>Reduced sizes.</strong> This is a quick run: it shows that everything works. '
        "Its numbers, and so its verdicts, are not about the paper's sizes.</p>"
        if manifest["quick"]
        else ""
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>superarm: the paper, reproduced</title><style>{STYLE}</style></head><body>
<h1>Combinatorial Multi-armed Bandits: Arm Selection via Group Testing — reproduced</h1>
<p class="dim">Made by <code>superarm reproduce</code>, superarm {escape(str(manifest["superarm"]))} (code
{escape(str(manifest["code"]))}), numpy {escape(str(manifest["numpy"]))}, scipy {escape(str(manifest["scipy"]))},
engine {escape(str(manifest["engine"]))}, seed {manifest["seed"]}; {total_s:,.0f} seconds of one core in all.
Every number, picture and verdict on this page follows from the recorded rows beside it.</p>
{quick}
<p>{contents}</p>
<h2 id="claims">The claims</h2>
{_claims(claims)}
{sections}
</body></html>
"""


def _claims(claims: Sequence[Claim]) -> str:
    if not claims:
        return "<p>The experiments that were run judge no claim of the paper.</p>"
    rows = "".join(
        f"<tr><td>{escape(claim.sentence)}</td><td>{escape(claim.measured)}</td><td>{escape(claim.interval)}</td>"
        f'<td class="verdict {_CLASSES[claim.verdict]}">{escape(claim.verdict)}</td>'
        f"<td><small>{escape(claim.because)}</small></td></tr>"
        for claim in claims
    )
    heads = "".join(
        f"<th>{head}</th>" for head in ("claim", "measured", "95% interval", "verdict", "rule")
    )
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'


def _section(name: str, title: str, analysis: Analysis, picture: bytes, seconds: float) -> str:
    tables = "".join(table(caption, rows) for caption, rows in analysis.tables)
    notes = "".join(f"<p>{escape(note)}</p>" for note in analysis.notes)
    data = base64.b64encode(picture).decode()
    return f"""<h2 id="{name}">{escape(title)}</h2>
<img alt="{escape(title)}" src="data:image/png;base64,{data}">
{notes}{tables}
<p><small>Computing time: {seconds:,.0f} s of one core, cells shared with other experiments included.
Rows: <code>{name}/rows.jsonl</code>.</small></p>
"""


def table(caption: str, rows: Sequence[Sequence[str]]) -> str:
    """A table of numbers; the first of the rows is its head."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[1:]
    )
    return (
        f'<div class="scroll"><table class="numbers"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
