"""After any sequence of verbs: the budget holds, and every memory ever remembered is recalled by its own words."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from htm_core import InvalidInput, Memory, Settings
from htm_core.base.folding import has_words
from tests.conftest import SETTINGS
from tests.stand_ins import HashEmbedder

BUDGET = 60
EMBEDDER = HashEmbedder(name="properties")
TEXTS = st.text(min_size=1, max_size=80).filter(
    lambda t: has_words(t) and "\x00" not in t
) | st.sampled_from(
    [
        "the who",
        "?!",
        "a",
        "I am",
        "tea " * 200,
        "Grüße",
        "東京都に住む",
        "it's",
        "foo:bar & baz",
        "a\u200b",
        "e\u0301",
        "-",
        "''",
    ]
)


def encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class Verbs(RuleBasedStateMachine):
    """A memory, and beside it the set of texts that it must still know."""

    url: str | None = None

    @initialize(policy=st.sampled_from(["importance", "lfu_lru", "lru", "fifo"]))
    def open(self, policy: str) -> None:
        self.known: dict[str, str] = {}
        self.forgotten: dict[str, str] = {}
        self.memory = Memory(
            "machine", url=self.url, tenant=f"machine-{uuid.uuid4().hex[:10]}", budget=BUDGET, policy=policy,
            embedder=EMBEDDER, settings=Settings(**SETTINGS.model_dump(by_alias=True) | {"worker": "off"}),
        )  # fmt: skip

    @rule(text=TEXTS.filter(encodable), importance=st.none() | st.floats(0, 10))
    def remember(self, text: str, importance: float | None) -> None:
        node = self.memory.remember(text, importance=importance)
        assert node.content == text
        self.known[node.id] = text
        self.forgotten.pop(node.id, None)

    @rule(texts=st.lists(TEXTS.filter(encodable), max_size=6))
    def remember_many(self, texts: list[str]) -> None:
        for node in self.memory.remember_many([{"content": text} for text in texts]):
            self.known[node.id] = node.content
            self.forgotten.pop(node.id, None)

    @rule(text=st.sampled_from(["", "  ", "\u200b", "\u2060 \ufeff\u00ad", "a\x00b", "\ud800"]))
    def refuse(self, text: str) -> None:
        with pytest.raises(InvalidInput):
            self.memory.remember_many([{"content": "must not stay behind"}, {"content": text}])

    @rule(pick=st.randoms())
    def forget(self, pick) -> None:  # type: ignore[no-untyped-def]
        if self.known:
            id = pick.choice(sorted(self.known))
            self.memory.forget(id)
            self.forgotten[id] = self.known.pop(id)

    @rule(pick=st.randoms())
    def restore(self, pick) -> None:  # type: ignore[no-untyped-def]
        if self.forgotten:
            id = pick.choice(sorted(self.forgotten))
            self.known[id] = self.memory.restore(id).content
            del self.forgotten[id]

    @rule(
        pick=st.randoms(),
        mode=st.sampled_from(["text", "hybrid"]),
        scope=st.sampled_from([None, "tenant"]),
    )
    def recall_by_own_words(self, pick, mode: str, scope: str | None) -> None:  # type: ignore[no-untyped-def]
        if self.known:
            id = pick.choice(sorted(self.known))
            found = self.memory.recall(self.known[id], mode=mode, scope=scope, limit=50)
            assert id in {hit.node.id for hit in found}
            assert not {hit.node.id for hit in found} & self.forgotten.keys()

    @rule()
    def flush(self) -> None:
        self.memory.flush(timeout=10)

    @rule(budget=st.integers(0, 100))
    def context(self, budget: int) -> None:
        context = self.memory.context(budget=budget)
        assert context.tokens <= budget
        assert self.memory._engine.tokens(context.text) == context.tokens

    @invariant()
    def holds_its_budget_and_only_what_lives(self) -> None:
        if hasattr(self, "memory"):
            working = self.memory.working
            assert working.tokens == sum(item.tokens for item in working.items) <= BUDGET
            assert working.reserved == 0
            assert {item.id for item in working.items} <= self.known.keys()

    def teardown(self) -> None:
        if getattr(self, "known", None):
            found = {node.id for node in self.memory.list(limit=1_000)}
            assert found == self.known.keys()


@pytest.mark.usefixtures("home")
def test_any_sequence_of_verbs_keeps_its_promises(url: str | None) -> None:
    Verbs.url = url
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Verbs,
        settings=settings(
            max_examples=20,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
