"""Measure what a new process takes: time and CPU until its first answer, memory, and disk of what it installs.

    python -m benchmarks.start --runs 9

Each row of the first table is a process of its own, started in random turns with the others; it prints the median and the slowest
of its runs in seconds, and the median of its CPU, which a busy machine changes less. A server runs already and holds a short
conversation, and the model's weights are there; the last row starts a server of its own, from nothing. The second table is the
memory of processes that go on: in all, and their share of what others have, too. The third is the disk that packages take, by
extra, here and now. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from rich.console import Console
from rich.progress import track
from rich.table import Table

from htm_core import Memory, shutdown
from htm_core.models.minilm import weights

ROOT = Path(__file__).parent.parent
TENANT, ROBOT = "start", "ferry"
QUESTION = "when does the ferry leave?"
AGENT = f"""
from htm_core import Memory
from htm_langchain import HTMMemoryMiddleware
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
model = GenericFakeChatModel(messages=iter(["At ten."]))
agent = create_agent(model, middleware=[HTMMemoryMiddleware(Memory(tenant={TENANT!r}))])
agent.invoke({{"messages": [("user", {QUESTION!r})]}}, {{"configurable": {{"thread_id": "t", "user_id": "ann"}}}})
"""
FRAMEWORK = """
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
agent = create_agent(GenericFakeChatModel(messages=iter(["At ten."])))
agent.invoke({"messages": [("user", "when does the ferry leave?")]})
"""
CHAT = f"""
from htm_core import Memory
from htm_llamaindex import HTMMemory
from llama_index.core.llms import ChatMessage
memory = HTMMemory.from_defaults("s1", Memory(tenant={TENANT!r}, user="ann"))
memory.put(ChatMessage({QUESTION!r}, role="user"))
memory.get({QUESTION!r})
"""
FIRST = """
import os, tempfile
with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
    os.chmod(home, 0o755)
    os.environ["HTM_HOME"] = home
    from htm_core import Memory, shutdown
    with Memory("ferry") as memory:
        memory.remember("The ferry to Texel leaves at ten.")
        assert memory.recall("when does the ferry leave?", reader=True)
    shutdown()
"""
IMPORTED = f"""
from htm_core import Memory
memory = Memory(tenant={TENANT!r}, user="ann")
"""
SERVED = f"""{IMPORTED}
for number in range(30):
    memory.remember(f"The ferry {{number}} to Texel leaves at ten. " * (1 + number % 5), session="s")
    memory.recall(f"when does the ferry {{number}} leave?", reader=True)
memory.context(budget=500)
memory.flush(timeout=60)
"""
MEMORY = {
    "Memory(), before its first verb": IMPORTED,
    "it, after 30 memories and recalls": SERVED,
    "an agent of LangChain, without memory": FRAMEWORK,
    "an agent after its first turn, with memory": AGENT,
}
HTM = [sys.executable, "-m", "htm_core.cli"]
ROWS = {
    "Python alone": [sys.executable, "-c", "pass"],
    "import htm_core": [sys.executable, "-c", "import htm_core"],
    "from htm_core import Memory": [sys.executable, "-c", "from htm_core import Memory"],
    "htm --help": [*HTM, "--help"],
    "htm ask --help": [*HTM, "ask", "--help"],
    "htm ask": [*HTM, "ask", QUESTION, "--tenant", TENANT, "--robot", ROBOT],
    "an agent of LangChain, without memory": [sys.executable, "-c", FRAMEWORK],
    "an agent's first turn, with memory": [sys.executable, "-c", AGENT],
    "import llama_index.core": [sys.executable, "-c", "import llama_index.core"],
    "HTMMemory, its first put and get": [sys.executable, "-c", CHAT],
    "the first answer, from nothing": [sys.executable, "-c", FIRST],
}


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds of one process, and of its CPU with that of the processes that it waited for."""

    wall: float
    cpu: float


def main() -> None:
    """Measure all rows, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=9, help="of each row; 7 or more")
    arguments = parser.parse_args()
    folder = weights.obtain()
    with tempfile.TemporaryDirectory(prefix="htm-bench-", ignore_cleanup_errors=True) as home:
        os.environ |= {"HTM_HOME": home, "HTM_MODEL_DIR": str(folder), "PYTHONPATH": str(ROOT)}
        with Memory(ROBOT, tenant=TENANT) as memory:
            memory.remember("The ferry to Texel leaves at ten.", session="old")
            memory.flush(timeout=60)
            console = Console(width=110)
            console.print(table(measured(arguments.runs)))
            console.print(memory_table())
            console.print(disk_table())
        shutdown()


def measured(runs: int) -> dict[str, list[Run]]:
    """The runs of each row. What is compiled at the first run is not counted."""
    for name in ROWS:
        run(name)
    turns = [name for name in ROWS for _ in range(runs)]
    random.Random(1).shuffle(turns)
    done: dict[str, list[Run]] = defaultdict(list)
    for name in track(turns, console=Console(stderr=True)):
        done[name].append(run(name))
    return done


def environment() -> dict[str, str]:
    """The environment of a process that is measured, which finds compiled modules."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def run(name: str) -> Run:
    """Run a row once."""
    began = time.perf_counter()
    process = subprocess.Popen(
        ROWS[name], env=environment(), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{name} ended with {status}: {errors.decode()}")
    return Run(time.perf_counter() - began, used.ru_utime + used.ru_stime)


def table(runs: dict[str, list[Run]]) -> Table:
    """The rows, in their order."""
    made = Table("", "median, s", "slowest, s", "CPU, s", title="A new process")
    for name in ROWS:
        walls = [each.wall for each in runs[name]]
        made.add_row(
            name,
            f"{statistics.median(walls):.2f}",
            f"{max(walls):.2f}",
            f"{statistics.median(each.cpu for each in runs[name]):.2f}",
        )
    return made


def talking(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """A process that is measured, which reads its input and writes lines."""
    return subprocess.Popen(
        command, env=environment(), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def memory_table() -> Table:
    """The memory of processes that go on."""
    made = Table("", "RSS, MB", "PSS, MB", title="Memory")
    for name, program in MEMORY.items():
        program = f"{program}\nprint('done', flush=True)\ninput()"
        with talking([sys.executable, "-c", program]) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()
            made.add_row(name, *megabytes(process.pid))
            process.stdin.write(b"\n")
    for name, sizes in mcp_memory():
        made.add_row(name, *sizes)
    return made


def mcp_memory() -> Iterator[tuple[str, tuple[str, str]]]:
    """The memory of `htm mcp`: before it was asked anything, and after some recalls."""
    with talking([*HTM, "mcp", "--tenant", TENANT]) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        numbers = iter(range(1, 100))

        def ask(method: str, **parameters: Any) -> None:
            """Send a request and wait for its answer."""
            request = {"jsonrpc": "2.0", "id": next(numbers), "method": method}
            process.stdin.write(json.dumps(request | {"params": parameters}).encode() + b"\n")
            process.stdin.flush()
            process.stdout.readline()

        ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "benchmark", "version": "1"},
        )
        ask("tools/list")
        time.sleep(5)  # it opens its database meanwhile
        yield "htm mcp, at rest", megabytes(process.pid)
        for number in range(10):
            query = {"query": f"when does the ferry {number} leave?"}
            ask("tools/call", name="recall", arguments=query)
        yield "htm mcp, after ten recalls", megabytes(process.pid)
        process.stdin.close()


def megabytes(pid: int) -> tuple[str, str]:
    """The resident memory of a process, and its share of it."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    kilobytes = {line.split()[0]: int(line.split()[1]) for line in lines[1:]}
    return f"{kilobytes['Rss:'] / 1024:.0f}", f"{kilobytes['Pss:'] / 1024:.0f}"


def disk_table() -> Table:
    """The packages that htm-memory needs, and those that each extra of `all` adds to them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    made = Table("", "MB", "most of it", title="Disk, without what the lines above it have")
    known: set[str] = set()
    for extra in ("", *sorted(Requirement(everything).extras, key=list(extras).index)):
        wanted = extras[extra] if extra else project["dependencies"]
        sizes = {
            name: size
            for line in wanted
            for name, size in packages(Requirement(line), known).items()
        }
        largest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:6]
        made.add_row(
            f"[{extra}]".replace("[", "\\[") if extra else "htm-memory itself",
            f"{sum(sizes.values()):.1f}",
            ", ".join(f"{name} {sizes[name]:.1f}" for name in largest if sizes[name] >= 0.05),
        )
    return made


def packages(requirement: Requirement, known: set[str]) -> dict[str, float]:
    """The packages of a requirement that are not known yet, each with its MB; they are known then."""
    key = str(requirement.name).lower() + ",".join(sorted(requirement.extras))
    if key in known or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
        return {}
    known.add(key)
    try:
        found = distribution(requirement.name)
    except PackageNotFoundError:
        return {}
    sizes: dict[str, float] = {}
    if requirement.name.lower() not in known or not requirement.extras:
        files = [file.locate() for file in found.files or () if file.suffix != ".pyc"]
        sizes[requirement.name] = sum(os.path.getsize(f) for f in files if os.path.exists(f)) / 1e6
    for line in found.requires or ():
        needed = Requirement(line)
        wanted = [{"extra": extra} for extra in ("", *requirement.extras)]
        if needed.marker is None or any(map(needed.marker.evaluate, wanted)):
            needed.marker = None
            sizes |= packages(needed, known)
    return sizes


if __name__ == "__main__":
    main()
