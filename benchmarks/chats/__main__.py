"""Check files of chats, and say what they hold."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from benchmarks.chats import BadChat, paths, read
from benchmarks.retrieval_sets import TURN


def main() -> int:
    """Read the files that are named, or all of this folder; 1 when one is not in the form."""
    bad = 0
    for path in [Path(name) for name in sys.argv[1:]] or paths():
        try:
            case = read(path)
        except BadChat as error:
            print(error)
            bad += 1
            continue
        kinds = Counter(question.kind for question in case.questions)
        evidence = [len(question.gold[TURN]) for question in case.questions]
        words = sum(len(message.content.split()) for message in case.messages)
        print(
            f"{case.name}: {len(case.messages)} messages in {len({m.session for m in case.messages})} sessions, {words} words, "
            f"{len(case.questions)} questions with {sum(evidence) / max(1, len(evidence)):.1f} messages each: "
            + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
