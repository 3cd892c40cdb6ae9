"""Fill a database by the Ruby gem `htm`, as `ruby_htm_peer.rb` does it.

    RUBY_HTM="ruby -I …/htm/lib" RECORD_URL=postgresql://… python -m tests.importers.record ruby_htm

`RUBY_HTM` is the command of a Ruby that finds the gem and what it needs; with `gem install htm` that is "ruby". The gem's first migration wants
the extensions `vector`, `pg_trgm` and `pg_search`, so it needs a server that has them. It uses nothing of the last: an empty extension of that name
does. It writes times of its machine without an offset; those that are recorded are of the time zone in `ZONE`.

What is recorded was made by the gem's own code as of commit 58c06ad, after its release 0.0.31, on Ruby 3.1, Sequel 5.63 and PostgreSQL 18. The gem could not be
installed, so its migrations, models, verbs, jobs, search by vector and Markdown loader were copied from its repository without their comments, and the anonymous
arguments that Ruby 3.1 lacks were named. Its configuration (the gem myway_config), its telemetry and pg_search were stand-ins, and propositions came straight from the
callable that makes them.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.importers.model import PLACES, RECORDED, TOPICS, Corpus
from tests.importers.peers import address

ZONE = "Europe/Berlin"
SCRIPT = Path(__file__).with_suffix(".rb")
CORPUS = replace(
    RECORDED, queries=[f"{topic} {place} opens" for topic in TOPICS[:4] for place in PLACES]
)
GIVEN = {
    "long": " ".join(
        f"On day {day} the keeper wrote down the wind and who came by." for day in range(40)
    ),
    "facts": ["The keeper of the lighthouse wrote down the wind."],
    "without_vector": "The model was down when this was said.",
    "of_nobody": "The robot that heard this is no more.",
    "chapters": [
        " ".join(
            f"In chapter {chapter}, rule {rule} says how the lamp is kept." for rule in range(15)
        )
        for chapter in ("one", "two", "three")
    ],
    "unloaded": "This page was unloaded again.",
}


def fill(dsn: str, corpus: Corpus = CORPUS) -> dict[str, Any]:
    """What the gem says of the database that it has filled, and what its own search finds."""
    url = address(dsn, "psycopg").set(drivername="postgres").render_as_string(hide_password=False)
    environment = os.environ | {"HTM_DATABASE__URL": url, "TZ": ZONE}
    command = shlex.split(os.environ["RUBY_HTM"])
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([*command, str(SCRIPT), folder], env=environment, text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running,
    ):  # fmt: skip
        assert running.stdin is not None
        assert running.stdout is not None

        def tell(value: object) -> None:
            """Write a line that it reads."""
            running.stdin.write(json.dumps(value) + "\n")
            running.stdin.flush()

        tell(GIVEN | {"texts": list(corpus.texts), "queries": list(corpus.queries)})
        for line in running.stdout:
            answer = json.loads(line)
            if "said" in answer:
                said: dict[str, Any] = answer["said"]
                return said
            tell([float(number) for number in corpus.model.embed_query(answer["embed"])])
    raise RuntimeError("the gem ended before it had said anything; its errors are above")
