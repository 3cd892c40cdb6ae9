"""Pages made of templates, in which every value is escaped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from ..base.version import VERSION
from ..prompt.origin import speaker

HERE = Path(__file__).parent
SHORT = 220  # characters of a text in a list


class Templates:
    """The templates of the pages."""

    def __init__(self) -> None:
        self._made = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=select_autoescape(default=True, default_for_string=True),
        )
        self._made.filters |= {
            "when": when,
            "day": day,
            "count": count,
            "short": short,
            "json": pretty,
            "share": share,
            "decimal": decimal,
        }
        self._made.globals["version"] = VERSION
        self._made.globals["speaker"] = speaker

    def page(self, template: str, /, *, status: int = 200, **values: Any) -> Response:
        """An answer in HTML."""
        made = self._made.get_template(template).render(**values)
        # A lone surrogate of an error's text cannot be said in UTF-8.
        return HTMLResponse(made.encode("utf-8", "replace"), status_code=status)


def when(at: datetime | None) -> str:
    """A time to the minute, in the server's time zone."""
    return _time(at, f"{at.astimezone():%Y-%m-%d %H:%M}") if at else ""


def day(at: datetime | None) -> str:
    """A day, in the server's time zone."""
    return _time(at, f"{at.astimezone():%Y-%m-%d}") if at else ""


def _time(at: datetime, shown: str) -> Markup:
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), shown)


def count(number: int | float) -> str:
    """A whole number with its thousands apart."""
    return f"{number:,.0f}"


def share(number: float) -> str:
    """A number from 0 to 1 in per cent."""
    return f"{100 * number:.0f} %"


def decimal(number: float) -> str:
    """A number to three places."""
    return f"{number:.3f}".replace("-", "\u2212")


def short(text: str, longest: int = SHORT) -> str:
    """The beginning of a text."""
    return text if len(text) <= longest else f"{text[:longest].rstrip()}\u2026"


def pretty(value: Mapping[str, Any]) -> str:
    """JSON to be read."""
    return json.dumps(dict(value), indent=2, ensure_ascii=False, default=str)
