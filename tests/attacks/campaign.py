"""A random campaign against the walls: whoever calls whatever, with whatever they have stolen, sees only what is theirs.

Three tenants have three users each, a conversation without a user, and what the tenant shares. Every text carries a canary
that names its owner. A call is made as one owner, by a random way into the product, often with an id, a key, a name or a
query taken from another owner. Whatever comes back, an error's message included, is searched for canaries.
"""

from __future__ import annotations

import asyncio
import dataclasses
import io
import os
import random
import re
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode

from htm_core import HTMError, Memory, Mode, Scope
from htm_core.palace import Enforcer, Palace, before_answer
from htm_langchain import (
    HTMChatMessageHistory,
    HTMMemoryMiddleware,
    HTMRetriever,
    HTMStore,
    HTMVectorStore,
    create_forget_tool,
    create_palace_tools,
    create_recall_tool,
    create_remember_tool,
    with_memory,
)
from htm_llamaindex import HTMChatStore, HTMMemory, HTMMemoryBlock, HTMPalaceToolSpec, HTMToolSpec
from htm_llamaindex import HTMRetriever as LlamaRetriever
from htm_llamaindex import HTMVectorStore as LlamaVectorStore

CANARY = re.compile(r"canary-([0-9a-f]{6})-(\w+)-(\d+)")
USERS = ("ann", "bob", "eve")
SHARED, ALONE, EVERYBODY = (
    "shared",
    "alone",
    "everybody",
)  # the tenant's, a conversation's without a user, and a collection's
WORDS = (
    "harbour",
    "boiler",
    "invoice",
    "violin",
    "garden",
    "passport",
    "ferry",
    "salary",
    "allergy",
    "meeting",
)
ROOMS = ("kitchen", "law")


class Listener(BaseChatModel):
    """A stand-in for a chat model that answers with everything that it was shown."""

    @property
    def _llm_type(self) -> str:
        return "listener"

    def bind_tools(self, tools: Any, **options: Any) -> Listener:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        heard.append("\n".join(str(each.content) for each in messages))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Noted."))])


heard: list[str] = []


@dataclass
class Owner:
    """Who calls: one user of one tenant, nobody in a conversation, or the tenant itself."""

    wall: str
    name: str
    memory: Memory
    palace: Palace
    ids: list[str] = field(default_factory=list)
    own: set[str] = field(
        default_factory=set
    )  # the canaries that this owner wrote and never took back

    def may_see(self, canary: re.Match[str]) -> bool:
        """Whether a canary may reach this owner. Who works without a user and names a session may see it when it has none."""
        named = (ALONE,) if self.name == SHARED else ()
        return canary[1] == self.wall and canary[2] in (self.name, SHARED, EVERYBODY, *named)


class Campaign:
    """A number of calls by random owners. `seed` decides all of them."""

    def __init__(self, make: Callable[..., Memory], *, seed: int, folder: Path) -> None:
        self.dice = random.Random(seed)
        self.folder = folder
        self.step = 0
        self.calls: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.owners = [
            self._owner(make, wall, name)
            for wall in (uuid.UUID(int=self.dice.getrandbits(128)).hex[:6] for _ in range(3))
            for name in (*USERS, ALONE, SHARED)
        ]
        self.saver = InMemorySaver()
        self.ways = {
            name.removeprefix("_do_"): getattr(self, name)
            for name in dir(self)
            if name.startswith("_do_")
        }

    def _owner(self, make: Callable[..., Memory], wall: str, name: str) -> Owner:
        tenant = f"wall-{wall}-{os.getpid()}"
        if name == ALONE:
            memory = HTMToolSpec(make(tenant=tenant, user=None, session=f"{wall}-{ALONE}")).memory
        else:
            memory = make(tenant=tenant, user=None if name == SHARED else name, session="s")
        return Owner(wall, name, memory, Palace(memory))

    def run(self, calls: int) -> None:
        """Make the calls. Raises AssertionError at the first text that crossed a wall."""
        for owner in self.owners:
            for _ in range(3):
                self._do_remember(owner)
        left: list[str] = []
        for self.step in range(1, calls + 1):
            left = left or self.dice.sample(
                list(self.ways), len(self.ways)
            )  # each way as often, in an order by chance
            owner, way = self.dice.choice(self.owners), left.pop()
            self.calls[way] += 1
            heard.clear()
            try:
                answer = self.ways[way](owner)
            except (HTMError, LookupError, ValueError) as error:
                self.refused[way] += 1
                answer = f"{error} {error!r}"
            self._check(owner, way, [answer, list(heard)])
        self._check_nothing_was_taken()

    def _check(self, owner: Owner, way: str, answer: Any) -> None:
        for canary in CANARY.finditer(said_in(answer)):
            assert owner.may_see(canary), (
                f"step {self.step}: {way} as {owner.wall}/{owner.name} was shown {canary[0]!r}"
            )

    def _check_nothing_was_taken(self) -> None:
        """What an owner never took back, nobody else has taken."""
        for owner in self.owners:
            kept = said_in(owner.memory.timeline(limit=1_000)) + said_in(
                owner.memory.list(limit=1_000)
            )
            there = {canary[0] for canary in CANARY.finditer(kept)}
            if len(owner.own) < 900:  # more would not fit the two lists
                assert owner.own <= there, (
                    f"{owner.wall}/{owner.name} lost {sorted(owner.own - there)[:3]}"
                )

    # -- what a call is made with ---------------------------------------------------------------------------------------

    def _text(self, owner: Owner, *, of: str | None = None, kept: bool = False) -> str:
        canary = f"canary-{owner.wall}-{of or owner.name}-{self.dice.getrandbits(48)}"
        if kept:
            owner.own.add(canary)
        return (
            f"The {self.dice.choice(WORDS)} and the {self.dice.choice(WORDS)} are mine: {canary}."
        )

    def _query(self) -> str:
        other = self.dice.choice(self.owners)
        return self.dice.choice([
            f"What of the {self.dice.choice(WORDS)}?",
            f"canary {other.wall} {other.name}",
            f'who said "canary-{other.wall}-{other.name}"',
            f"The {self.dice.choice(WORDS)} and the {self.dice.choice(WORDS)} are mine",
        ])  # fmt: skip

    def _stolen(self, owner: Owner) -> str:
        """The id of a memory that is another owner's."""
        others = [
            each for each in self.owners if each is not owner and each.name != SHARED and each.ids
        ]
        return self.dice.choice(self.dice.choice(others).ids)

    def _session(self) -> str:
        return self.dice.choice(["s", "t", f"{self.dice.choice(self.owners).wall}-{ALONE}"])

    def _user(self) -> str:
        return self.dice.choice([*USERS, "mallory"])

    # -- the core -------------------------------------------------------------------------------------------------------

    def _do_remember(self, owner: Owner) -> Any:
        text = self._text(owner, kept=True)
        node = owner.memory.remember(
            text, tags=[f"t:{self.dice.choice(WORDS)}"], name=owner.name, role="user"
        )
        owner.ids.append(node.id)
        return node

    def _do_remember_by_id(self, owner: Owner) -> Any:
        return owner.memory.remember(
            self._text(owner), id=f"i{self.dice.randrange(9)}", session=self._session()
        )

    def _do_revise(self, owner: Owner) -> Any:
        return owner.memory.revise(
            f"k{self.dice.randrange(4)}", self._text(owner), forget=self.dice.random() < 0.3
        )

    def _do_recall(self, owner: Owner) -> Any:
        modes: list[Mode] = ["hybrid", "vector", "text"]
        scopes: list[Scope | None] = [None, "user", "session"]
        return owner.memory.recall(
            self._query(), mode=self.dice.choice(modes), scope=self.dice.choice(scopes), limit=self.dice.choice([1, 10, 50]), explain=self.dice.random() < 0.2,
            session=self._session() if self.dice.random() < 0.2 else None, hold=self.dice.random() < 0.3,
            tags=[f"t:{self.dice.choice(WORDS)}"] if self.dice.random() < 0.2 else None,
            timeframe=self.dice.choice([None, "auto", "today"]),
        )  # fmt: skip

    def _do_recall_awaited(self, owner: Owner) -> Any:
        return asyncio.run(owner.memory.aio.recall(self._query(), limit=20))

    def _do_context(self, owner: Owner) -> Any:
        return [owner.memory.context(budget=2_000), list(owner.memory.working.items)]

    def _do_list(self, owner: Owner) -> Any:
        return owner.memory.list(
            limit=200, tags=[f"t:{self.dice.choice(WORDS)}"] if self.dice.random() < 0.3 else None
        )

    def _do_timeline(self, owner: Owner) -> Any:
        session = self._session() if self.dice.random() < 0.5 else None
        return owner.memory.timeline(session=session, limit=500, forgotten=self.dice.random() < 0.3)

    def _do_who_said(self, owner: Owner) -> Any:
        return owner.memory.who_said(self._query())

    def _do_sessions_and_robots(self, owner: Owner) -> Any:
        return [owner.memory.sessions(), owner.memory.robots(), owner.memory.stats()]

    def _do_keys(self, owner: Owner) -> Any:
        key = f"k{self.dice.randrange(4)}"
        return self.dice.choice([owner.memory.get, owner.memory.history])(key)

    def _do_steal(self, owner: Owner) -> Any:
        """Each verb that takes an id, with another owner's."""
        stolen, memory = self._stolen(owner), owner.memory
        verbs: list[Callable[[], Any]] = [
            lambda: memory.get(stolen),
            lambda: memory.forget(stolen),
            lambda: memory.forget(stolen, robot="atlas"),
            lambda: memory.restore(stolen),
            lambda: memory.related(stolen),
            lambda: memory.tags.add(stolen, ["stolen"]),
            lambda: memory.tags.remove(stolen, ["t"]),
            lambda: memory.link(stolen, owner.ids[-1], kind="supports"),
            lambda: memory.link(owner.ids[-1], stolen, kind="supports"),
            lambda: memory.erase(key=stolen, confirm="confirmed"),
            lambda: memory.jobs.retry([stolen]),
            lambda: owner.palace.move(stolen, room="law", drawer="stolen"),
            lambda: owner.palace.forget(stolen),
            lambda: owner.palace.undo(stolen),
            lambda: owner.palace.promote(
                stolen, room="law", drawer="x", reason="because it is so", summary="It is so."
            ),
        ]
        return self.dice.choice(verbs)()

    def _do_erase_session(self, owner: Owner) -> Any:
        """All have a session of this name; each loses only their own."""
        return owner.memory.erase(session="t", confirm="confirmed")

    def _do_forget_own(self, owner: Owner) -> Any:
        node = owner.memory.remember(self._text(owner))
        owner.memory.forget(node.id)
        return (
            owner.memory.restore(node.id)
            if self.dice.random() < 0.5
            else owner.memory.purge(timedelta(0), confirm="confirmed")
        )

    def _do_log(self, owner: Owner) -> Any:
        log = owner.memory.log(self._session())
        log.append([{"content": self._text(owner), "role": "user"}])
        return [log.tail(20), log.entries(50, forgotten=True)]

    def _do_tags(self, owner: Owner) -> Any:
        tags = owner.memory.tags
        return [tags.tree(), tags.search("harbour"), tags.popular(), tags.related("t:harbour")]

    def _do_related(self, owner: Owner) -> Any:
        first, second = owner.ids[0], owner.ids[-1]
        return [
            owner.memory.link(first, second, kind="supports") if first != second else None,
            owner.memory.related(first),
        ]

    def _do_jobs(self, owner: Owner) -> Any:
        return owner.memory.jobs.list(limit=50)

    def _do_group(self, owner: Owner) -> Any:
        with owner.memory.of(session="group").group("team") as group:
            return group.status()

    def _do_flush(self, owner: Owner) -> Any:
        return owner.memory.flush(timeout=0.05)

    def _do_files(self, owner: Owner) -> Any:
        folder = self.folder / "files"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "note.md").write_text(f"# Note\n\n{self._text(owner)}\n")
        loaded = owner.memory.load(folder)
        found = owner.memory.files()
        return [loaded, found, owner.memory.unload(folder) if self.dice.random() < 0.7 else None]

    def _do_backup(self, owner: Owner) -> Any:
        """A backup holds all of a tenant; that of another tenant nothing of it."""
        target = io.StringIO()
        owner.memory.backup.write(target)
        walls = {canary[1] for canary in CANARY.finditer(target.getvalue())}
        assert walls <= {owner.wall}, (
            f"step {self.step}: a backup of {owner.wall} has texts of {walls - {owner.wall}}"
        )
        return None

    # -- collections ----------------------------------------------------------------------------------------------------

    def _do_collection(self, owner: Owner) -> Any:
        documents = owner.memory.collection("handbook")
        documents.put(
            [{"id": f"d{self.dice.randrange(5)}", "content": self._text(owner, of=EVERYBODY)}]
        )
        ids = [f"d{n}" for n in range(5)]
        return [
            documents.query(self._query(), limit=20),
            documents.get(ids),
            documents.namespaces(),
            documents.count(),
        ]

    def _do_store(self, owner: Owner) -> Any:
        store = HTMStore(memory=owner.memory)
        store.put(
            ("notes", self._user()),
            f"n{self.dice.randrange(4)}",
            {"text": self._text(owner, of=EVERYBODY)},
        )
        return [
            store.search((), query=self._query(), limit=20),
            store.search((), limit=20),
            store.list_namespaces(),
        ]

    def _do_vector_store(self, owner: Owner) -> Any:
        store = HTMVectorStore(collection="langchain", memory=owner.memory)
        store.add_documents(
            [Document(self._text(owner, of=EVERYBODY), id=f"v{self.dice.randrange(5)}")]
        )
        return [
            store.similarity_search_with_score(self._query(), k=9),
            store.get_by_ids([f"v{n}" for n in range(5)]),
        ]

    def _do_llama_vector_store(self, owner: Owner) -> Any:
        store = LlamaVectorStore(collection="llama", memory=owner.memory)
        text = self._text(owner, of=EVERYBODY)
        vector = [self.dice.random() for _ in range(8)]
        store.add([TextNode(text=text, id_=f"l{self.dice.randrange(5)}", embedding=vector)])
        mode = self.dice.choice(
            [
                VectorStoreQueryMode.DEFAULT,
                VectorStoreQueryMode.HYBRID,
                VectorStoreQueryMode.TEXT_SEARCH,
            ]
        )
        query = VectorStoreQuery(
            query_embedding=vector, query_str=self._query(), similarity_top_k=9, mode=mode
        )
        return [
            [node.get_content() for node in store.query(query).nodes or []],
            store.get_nodes(["l1", "l2"]),
        ]

    # -- LangChain ------------------------------------------------------------------------------------------------------

    def _config(self, owner: Owner, session: str) -> RunnableConfig:
        """A run's configuration. Where the memory has a user of its own, a client may write there what it likes."""
        named = {"user_id": self._user()} if owner.name in USERS else {}
        return {"configurable": {"thread_id": f"{owner.wall}-{owner.name}-{session}", **named}}

    def _do_agent(self, owner: Owner) -> Any:
        memory = owner.memory if owner.name != ALONE else owner.memory.of()
        agent = create_agent(
            Listener(),
            middleware=[HTMMemoryMiddleware(memory)],
            checkpointer=self.saver if self.dice.random() < 0.5 else None,
        )
        said = self._text(owner, of=None) if self.dice.random() < 0.5 else self._query()
        return agent.invoke({"messages": [HumanMessage(said)]}, self._config(owner, "agent"))[
            "messages"
        ][-1].content

    def _do_chain(self, owner: Owner) -> Any:
        chain = with_memory(Listener(), owner.memory)
        return chain.invoke(self._query(), self._config(owner, "chain")).content

    def _do_history(self, owner: Owner) -> Any:
        history = HTMChatMessageHistory(f"{owner.wall}-{owner.name}-history", owner.memory)
        history.add_messages([HumanMessage(self._text(owner))])
        return history.messages

    def _do_retriever(self, owner: Owner) -> Any:
        return HTMRetriever(memory=owner.memory, k=20).invoke(
            self._query(), self._config(owner, "s")
        )

    def _do_tools(self, owner: Owner) -> Any:
        """The model names no user; what it writes into an argument is text."""
        recall, remember = create_recall_tool(owner.memory), create_remember_tool(owner.memory)
        return [
            recall.invoke({"query": self._query(), "limit": 20}, self._config(owner, "s")),
            remember.invoke({"content": self._text(owner)}, self._config(owner, "s")),
            create_forget_tool(owner.memory).invoke(
                {"memory_id": self._stolen(owner)}, self._config(owner, "s")
            ),
        ]

    # -- LlamaIndex -----------------------------------------------------------------------------------------------------

    def _do_llama_memory(self, owner: Owner) -> Any:
        memory = HTMMemory.from_defaults(f"{owner.wall}-{owner.name}-llama", owner.memory)
        memory.put(ChatMessage(self._text(owner), role="user"))
        return [memory.get(self._query()), memory.get_all()[-20:]]

    def _do_llama_block(self, owner: Owner) -> Any:
        block = HTMMemoryBlock(memory=owner.memory)
        said = [ChatMessage(self._text(owner), role="user")]
        asyncio.run(
            block.aput(
                said, from_short_term_memory=True, session_id=f"{owner.wall}-{owner.name}-block"
            )
        )
        return asyncio.run(
            block.aget(
                [ChatMessage(self._query(), role="user")],
                session_id=f"{owner.wall}-{owner.name}-block",
            )
        )

    def _do_llama_chat_store(self, owner: Owner) -> Any:
        store = HTMChatStore(memory=owner.memory)
        key = f"{owner.wall}-{self._user()}-store"

        async def used() -> Any:
            await store.add_message(key, ChatMessage(self._text(owner), role="user"))
            return [(await store.get_messages(key))[-20:], await store.get_keys()]

        return asyncio.run(used())

    def _do_llama_tools(self, owner: Owner) -> Any:
        tools = HTMToolSpec(owner.memory)
        return [
            tools.recall(self._query(), 20),
            tools.remember(self._text(owner)),
            tools.forget(self._stolen(owner)),
        ]

    def _do_llama_retriever(self, owner: Owner) -> Any:
        return LlamaRetriever(owner.memory, similarity_top_k=20).retrieve(self._query())

    # -- the palace -----------------------------------------------------------------------------------------------------

    def _do_file(self, owner: Owner) -> Any:
        return owner.palace.file(
            self._text(owner), room=self.dice.choice(ROOMS), drawer=self.dice.choice(WORDS)
        )

    def _do_look(self, owner: Owner) -> Any:
        palace = owner.palace
        return [
            palace.look(room=self.dice.choice(ROOMS)),
            palace.rooms(),
            palace.notes(),
            palace.artifacts(),
        ]

    def _do_note(self, owner: Owner) -> Any:
        note = owner.palace.note(self._text(owner))
        return owner.palace.promote(
            note.id,
            room=self.dice.choice(ROOMS),
            drawer="promoted",
            reason="It was decided so.",
            summary=self._text(owner),
        )

    def _do_consult(self, owner: Owner) -> Any:
        return [
            Enforcer(owner.palace).consult(self._query()),
            before_answer(owner.palace, self._query(), enforce="advise", first=True),
        ]

    def _do_wake(self, owner: Owner) -> Any:
        return [owner.palace.wake_up(topic=self._query()), owner.palace.identity()]

    def _do_audit(self, owner: Owner) -> Any:
        return [owner.palace.decisions(), owner.palace.consultations()]

    def _do_palace_tools(self, owner: Owner) -> Any:
        named = {each.name: each for each in create_palace_tools(owner.palace)}
        spec = HTMPalaceToolSpec(owner.palace)
        return [
            spec.look_palace(room=self.dice.choice(ROOMS)),
            spec.promote_to_palace(
                self._stolen(owner), "law", "stolen", "because it is so", "It is so."
            ),
            *[
                tool.invoke({"room": "law"}, self._config(owner, "s"))
                for name, tool in named.items()
                if name.startswith("look")
            ],
        ]

    def _do_palace_folder(self, owner: Owner) -> Any:
        folder = self.folder / "palace" / f"{owner.wall}-{owner.name}"
        shutil.rmtree(folder, ignore_errors=True)
        exported = owner.palace.export(str(folder))
        texts = [path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()]
        return [
            exported,
            texts,
            owner.palace.load(str(folder)) if self.dice.random() < 0.3 else None,
        ]


def said_in(answer: Any, *, depth: int = 9) -> str:
    """Everything that an answer says, in all its parts."""
    if answer is None or depth == 0 or isinstance(answer, (int, float, bool)):
        return ""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, bytes):
        return answer.decode("utf-8", "replace")
    if isinstance(answer, Mapping):
        return " ".join(said_in(part, depth=depth - 1) for pair in answer.items() for part in pair)
    if dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        parts = [getattr(answer, each.name) for each in dataclasses.fields(answer)]
        return " ".join([repr(answer), *(said_in(part, depth=depth - 1) for part in parts)])
    if isinstance(answer, (list, tuple, set, frozenset)) or hasattr(answer, "__iter__"):
        own = "" if type(answer) in (list, tuple, set, frozenset) else repr(answer)
        return " ".join([own, *(said_in(part, depth=depth - 1) for part in answer)])
    return f"{answer!r} {answer}"
