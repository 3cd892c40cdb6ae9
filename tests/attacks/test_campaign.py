"""Nobody is shown, or loses, anything by what others call: a random campaign through every way into the product."""

from __future__ import annotations

import os
import random
from functools import partial
from pathlib import Path

import pytest

from tests.attacks.campaign import CANARY, Campaign, said_in
from tests.conftest import SETTINGS, Make

# A whole campaign has 20,000 calls: HTM_CAMPAIGN_CALLS=20000 python -m pytest tests/attacks/test_campaign.py
CALLS = int(os.environ.get("HTM_CAMPAIGN_CALLS", "240"))
# A call takes about a tenth of a second, on a busy machine more.
pytestmark = pytest.mark.timeout(max(300, CALLS))


@pytest.mark.parametrize("walls", [False, True], ids=["conditions", "user walls"])
def test_no_call_shows_or_takes_what_belongs_to_another_owner(
    make: Make, tmp_path: Path, walls: bool
) -> None:
    """With the wall between users too: then the whole product goes on working behind it."""
    if walls:
        make = partial(
            make,
            settings=SETTINGS.model_copy(update={"schema_": "campaign_walls", "user_walls": True}),
        )
    seed = int(
        os.environ.get("HTM_CAMPAIGN_SEED")
        or (12 if os.environ.get("CI") else random.randrange(1_000_000))
    )
    campaign = Campaign(make, seed=seed, folder=tmp_path)
    campaign.run(CALLS)
    assert set(campaign.calls) == set(campaign.ways)  # no way was left out
    assert campaign.refused["steal"] > campaign.calls["steal"] / 2


def test_a_text_that_crossed_a_wall_would_be_noticed(make: Make, tmp_path: Path) -> None:
    campaign = Campaign(make, seed=1, folder=tmp_path)
    ann, bob = campaign.owners[:2]
    node = campaign._do_remember(ann)
    assert CANARY.search(said_in([{"x": (node,)}]))
    with pytest.raises(AssertionError, match="was shown"):
        campaign._check(bob, "recall", ann.memory.recall(node.content))
    ann.memory.forget(node.id)
    with pytest.raises(AssertionError, match="lost"):
        campaign._check_nothing_was_taken()
