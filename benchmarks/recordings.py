"""Hold that recall finds what it found before: `python -m benchmarks.recordings FILE --home DIR`.

Where FILE is not there, it records: each question of a few conversations under two dozen forms of options, with the hits, their
order, scores and signals, the changes that stand beside them, the block of a prompt, the profile, and what a palace says. Where it
is there, it does the same again and prints what differs. DIR keeps the database between both, since ids decide between hits of
equal score: give the same one, an empty one at first. A change of the code that is to change nothing changes nothing here, to the
byte.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from rich.progress import track

from benchmarks import chats, recalled
from benchmarks.present.dialogues import as_case, by_others
from benchmarks.retrieval import home
from benchmarks.retrieval_sets import Case
from benchmarks.retrieval_systems import drafts
from htm_core import Memory, Recall, Settings, shutdown
from htm_core.palace import Enforcer, Palace
from htm_core.prompt.overview import hits_block

QUESTIONS = 20  # of each conversation
DIALOGUES = 2
ROOM, LIMIT = 1_000, 8

_FENCE = re.compile(r"-[a-z]{11}(?=>)")  # is drawn anew each time

Options = Mapping[str, Any]


def forms(case: Case) -> dict[str, tuple[Options, Options]]:
    """The forms of a recall by name: options of the recall, and settings of the memory."""
    middle = case.messages[len(case.messages) // 2]
    plain: dict[str, Options] = {
        "default": {}, "explain": {"explain": True}, "few": {"limit": 3}, "many": {"limit": 40}, "text": {"mode": "text"},
        "vector": {"mode": "vector"}, "budget": {"budget": 300}, "likely": {"min_score": 0.2}, "auto": {"timeframe": "auto"},
        "month": {"timeframe": "last month"}, "session": {"session": middle.session}, "tenant": {"scope": "tenant"},
        "as of": {"as_of": middle.at}, "valid": {"valid_at": middle.at}, "user": {"sources": ["user"]},
        "trusted": {"min_trust": 2}, "where": {"where": {"unit": {"$gte": "1"}}}, "no context": {"signals": {"context": 0.0}},
        "no ranker": {"signals": {"ranker": 0.0}}, "same": {"signals": {"diversity": 0.0, "echo": 0.0}},
    }  # fmt: skip
    settings: dict[str, Options] = {
        "as spelt": {"spelling": False}, "no changes": {"supersession": 1.0},
    }  # fmt: skip
    return {name: (options, {}) for name, options in plain.items()} | {
        name: ({"explain": True}, options) for name, options in settings.items()
    }


def cases() -> Iterator[Case]:
    """Conversations of several authors: dialogues with changes, chats about a project, facts with small talk, an evaluator's."""
    yield from map(as_case, islice(by_others(held_out=False), DIALOGUES))
    yield from (chats.read(path) for path in sorted(chats.HERE.glob("*.txt"))[:2])
    yield from islice(recalled.facts(groups_in_one=8), 1)
    yield from islice(recalled.evaluator("evaluator_one"), 1)


def main() -> None:
    """Record, or compare with a record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="JSON lines: the record")
    parser.add_argument("--home", type=Path, required=True, help="a folder that keeps the database")
    args = parser.parse_args()
    with home(args.home):
        recorded = {key: json.dumps(row, ensure_ascii=False, sort_keys=True) for key, row in rows()}
        shutdown()
    if not args.file.exists():
        args.file.write_text("".join(f"{key}\t{row}\n" for key, row in recorded.items()), "utf-8")
        print(f"{len(recorded)} recorded")
        return
    before = dict(line.split("\t", 1) for line in args.file.read_text("utf-8").split("\n") if line)
    differ = [
        key for key in before.keys() | recorded.keys() if before.get(key) != recorded.get(key)
    ]
    print(
        f"{len(recorded)} of them, {len(differ)} differ",
        Counter(key.split(" | ")[0] for key in differ),
    )
    for key in sorted(differ)[:20]:
        print(f"{key}\n  - {before.get(key, '')[:2000]}\n  + {recorded.get(key, '')[:2000]}")
    sys.exit(bool(differ))


def rows() -> Iterator[tuple[str, object]]:
    """Yield what is found, by form, conversation and question."""
    for case in track(list(cases()), "conversations"):

        def opened(settings: Options, case: Case = case) -> Memory:
            return Memory(
                "bench", tenant="recorded", user=case.name, clock=lambda: case.now,
                settings=Settings(max_drafts=1_000_000, **settings),
            )  # fmt: skip

        memory = opened({})
        if not memory.stats().nodes:
            memory.remember_many(drafts(case.messages))
            palace = Palace(memory)
            for message in case.messages[::5]:
                palace.file(
                    message.content,
                    room="conversations",
                    drawer=str(message.session).replace(":", "-"),
                )
            if not memory.flush(timeout=timedelta(minutes=20).total_seconds()):
                raise SystemExit(f"some memories of {case.name} could not be embedded: see the log")
        yield f"profile | {case.name}", memory.profile().text
        palace, asked = (
            Palace(memory),
            case.questions[:: max(1, len(case.questions) // QUESTIONS)][:QUESTIONS],
        )
        for question in asked:
            grounding = Enforcer(palace).consult(question.text)
            yield (
                f"palace | {case.name} | {question.text}",
                [
                    grounding.verdict,
                    *(
                        [each.layer, each.state, *(one.content for one in each.evidence)]
                        for each in grounding.layers
                    ),
                ],
            )
        for name, (options, settings) in forms(case).items():
            own = memory if not settings else opened(settings)
            for question in asked:
                result = own.recall(question.text, hold=False, **options)
                yield f"{name} | {case.name} | {question.text}", _recalled(result)
                if name == "default":
                    block = hits_block(own, result, question=question.text, limit=LIMIT, room=ROOM)
                    yield f"block | {case.name} | {question.text}", _FENCE.sub("-", block)


def _recalled(result: Recall) -> object:
    hits = [
        {
            "id": hit.node.id, "passage": hit.passage, "score": hit.score.hex(), "relevance": hit.relevance.hex(),
            "signals": {name: float(value).hex() for name, value in hit.signals.items()},
            "ranks": [hit.vector_rank, hit.text_rank], "said_when": hit.said_when, "times": hit.times_said,
            "formerly": [each.id for each in hit.formerly], "by": hit.superseded_by and hit.superseded_by.id,
            "before": hit.before and hit.before.id, "mentions": [each.id for each in hit.mentions],
        }
        for hit in result
    ]  # fmt: skip
    timeframe = result.timeframe and {
        key: str(value) for key, value in asdict(result.timeframe).items()
    }
    details = {
        "degraded": result.degraded,
        "fallback": result.fallback,
        "timeframe": timeframe,
        "searched": result.searched,
    }
    return {"hits": hits, "corrections": dict(result.corrections), **details}


if __name__ == "__main__":
    main()
