"""One picture of right answers: a bar for each kind of memory and set, beside that of the evidence alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

# Width of the names, of a whole bar and of the figure behind it, and the height of a bar, in pixels.
NAMES, WHOLE, FIGURE, BAR = 220, 360, 60, 22
OURS, OTHERS, CEILING = "#2f6f4f", "#9aa5b1", "#d9c27a"


def picture(shares: Mapping[str, Mapping[str, float]], *, ceiling: str, ours: str) -> str:
    """An SVG of right answers.

    Args:
        shares: By set and kind of memory, how many of its questions are answered right, from 0 to 1.
        ceiling: The kind that is drawn as the most that can be reached.
        ours: How the names of our own kinds begin.
    """
    y, parts = 8, list[str]()
    for name, arms in shares.items():
        parts.append(f'<text x="0" y="{y + 14}" font-weight="bold">{escape(name)}</text>')
        y += BAR
        for arm, share in arms.items():
            parts += _bar(
                arm,
                share,
                y,
                OURS if arm.startswith(ours) else CEILING if arm == ceiling else OTHERS,
            )
            y += BAR
        y += BAR // 2
    width = NAMES + WHOLE + FIGURE
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{y}" fill="#ffffff"/>', *parts, "</svg>\n",
    ])  # fmt: skip


def _bar(arm: str, share: float, y: int, colour: str) -> Sequence[str]:
    return (
        f'<text x="{NAMES - 8}" y="{y + 14}" text-anchor="end">{escape(arm)}</text>',
        f'<rect x="{NAMES}" y="{y + 3}" width="{WHOLE * share:.0f}" height="{BAR - 6}" fill="{colour}"/>',
        f'<text x="{NAMES + WHOLE * share + 6:.0f}" y="{y + 14}">{100 * share:.0f} %</text>',
    )
