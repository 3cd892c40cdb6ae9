"""`htm ui` and `htm serve --ui` as a person starts them."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from htm_core import Settings
from htm_core.memory.process import runtime


@contextmanager
def started(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that serves, with the port that it was given."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "htm_core.cli", *arguments, "--port", port, "--no-worker"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process, f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.communicate()


def test_one_command_prints_a_link_that_signs_in_once(url: str | None, tenant: str) -> None:
    runtime(url, Settings(worker="off")).database.open()
    options = () if url is None else ("--url", url)
    with started("ui", "--tenant", tenant, "--read-only", *options) as (process, address):
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert link.startswith(f"{address}/ui/enter?key=")
        with httpx.Client(transport=httpx.HTTPTransport(retries=8), timeout=20) as client:
            assert client.get(link).status_code == 200
            page = client.get(f"{address}/ui/")
            assert page.status_code == 200
            assert tenant in page.text
            assert "only read" in page.text
            assert client.get(f"{address}/v1/stats").status_code == 401
        assert httpx.get(link).status_code == 401
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 0


def test_what_the_extra_brings_is_named_where_it_is_missing() -> None:
    code = "import sys; sys.modules['starlette'] = None; sys.argv = ['htm', 'serve']; from htm_core.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'htm serve needs starlette: pip install "htm-memory[serve]"' in done.stderr


def test_the_server_has_the_pages_where_they_are_asked_for(url: str | None, tenant: str) -> None:
    options = ("--ui", "--no-auth", "--tenant", tenant, *(() if url is None else ("--url", url)))
    with (
        started("serve", *options) as (_, address),
        httpx.Client(transport=httpx.HTTPTransport(retries=10), timeout=20) as client,
    ):
        assert client.get(f"{address}/ui/sign-in").status_code == 200


def test_a_server_that_is_told_to_stop_says_so_finishes_what_it_does_and_ends_well(
    url: str | None, tenant: str
) -> None:
    """For a load balancer: /ready fails at once, requests are answered while it drains, and the process ends with 0."""
    options = (
        "--no-auth",
        "--tenant",
        tenant,
        "--drain",
        "1.5",
        *(() if url is None else ("--url", url)),
    )
    with (
        started("serve", *options) as (process, address),
        httpx.Client(transport=httpx.HTTPTransport(retries=10), timeout=20) as client,
    ):
        assert client.get(f"{address}/ready").status_code == 200
        process.send_signal(signal.SIGTERM)
        while (ready := client.get(f"{address}/ready")).status_code == 200:
            pass
        assert ready.status_code == 503
        assert client.post(
            f"{address}/v1/remember", json={"content": "said while it stops"}
        ).is_success
        assert process.wait(20) == 0
