"""Following a verb through the code may only get shorter: whoever shortens it lowers the numbers here."""

from __future__ import annotations

import os

import pytest

from benchmarks.corpus import Corpus, RandomEmbedder
from benchmarks.crossings import calls, crossed
from tests.conftest import SETTINGS, Make

# Files and functions, as `python -m benchmarks.crossings` counts them.
CEILINGS = {"recall": (43, 177), "remember": (31, 133), "context": (22, 94)}


@pytest.mark.skipif(
    os.environ.get("HTM_TEST_USER_WALLS") == "1", reason="signing claims takes more functions"
)
def test_no_verb_goes_through_more_files_or_functions_than_it_did(make: Make) -> None:
    settings = SETTINGS.model_copy(update={"worker": "off"})
    with make(embedder=RandomEmbedder(Corpus(100)), settings=settings) as memory:
        files = {verb: crossed(call) for verb, call in calls(memory).items() if verb in CEILINGS}
    counts = {verb: (len(names), sum(map(len, names.values()))) for verb, names in files.items()}
    longer = {
        verb: files[verb]
        for verb, most in CEILINGS.items()
        if any(a > b for a, b in zip(counts[verb], most, strict=True))
    }
    assert longer == {}, f"{counts} is more than {CEILINGS}"
    assert all(sum(each) for each in counts.values())
