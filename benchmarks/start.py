"""Measure how long the first answer of a new process takes: imports, commands, and the first turn of an agent.

    python -m benchmarks.start --runs 9

Each row is a process of its own, started in random turns with the others; it prints the median and the slowest of its runs in
seconds. A server runs already and holds a short conversation, and the model's weights are there. The first row is Python alone.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

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
}


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
            Console(width=110).print(table(measured(arguments.runs)))
        shutdown()


def measured(runs: int) -> dict[str, list[float]]:
    """The seconds of each run of each row. What is compiled at the first run is not counted."""
    for name in ROWS:
        seconds_of(name)
    turns = [name for name in ROWS for _ in range(runs)]
    random.Random(1).shuffle(turns)
    seconds: dict[str, list[float]] = defaultdict(list)
    for name in track(turns, console=Console(stderr=True)):
        seconds[name].append(seconds_of(name))
    return seconds


def seconds_of(name: str) -> float:
    """Run a row once."""
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    }
    began = time.perf_counter()
    subprocess.run(ROWS[name], env=environment, cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - began


def table(seconds: dict[str, list[float]]) -> Table:
    """The rows, in their order."""
    made = Table("", "median, s", "slowest, s", title="A new process")
    for name in ROWS:
        made.add_row(name, f"{statistics.median(seconds[name]):.2f}", f"{max(seconds[name]):.2f}")
    return made


if __name__ == "__main__":
    main()
