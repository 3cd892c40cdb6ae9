"""Settings of a server: how it listens, and what it bears."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address

from ..base.errors import InvalidInput
from ..client.routes import TokenScope

LOCAL_NAMES = ("localhost", "localhost.localdomain")
SCOPES: tuple[TokenScope, ...] = ("read", "write", "admin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose memories a request is about, and what it may do: by a token or the configuration, never
    by the request.
    """

    tenant: str
    user: str | None
    robot: str | None  # None: the request may name it
    scopes: frozenset[str]
    token_id: str = "00000000-0000-0000-0000-000000000000"
    token_name: str = "-"
    operator: bool = False  # may see which tenants there are, and their sizes; no token says so

    def may(self, scope: str) -> bool:
        """True if a scope is covered: "admin" covers all, "write" covers "read"."""
        return (
            scope in self.scopes
            or "admin" in self.scopes
            or (scope == "read" and "write" in self.scopes)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The settings of a server. Times are in seconds, sizes in bytes.

    `anonymous` is who requests without a token are, on loopback only; None: they are refused.
    `rate` is requests a second of one token, 0 for any number, and `burst` how many of them at
    once. `concurrency` is how many requests are worked on at once, and `streams` how many streams
    of events one token may have open. `drain` is how long the server goes on after it was told to
    stop, so that a load balancer sees /ready fail; `stop_timeout` how long running requests then
    have.
    """

    host: str = "127.0.0.1"
    port: int = 8377
    anonymous: Identity | None = None
    max_body: int = 8_000_000
    read_timeout: float = 30.0
    send_timeout: float = 30.0
    keep_alive: float = 15.0
    rate: float = 100.0
    burst: int = 200
    concurrency: int = 512
    streams: int = 20
    token_cache: float = 5.0
    keep_answers: float = 86_400.0
    drain: float = 3.0
    stop_timeout: float = 30.0
    memories: int = 1_000
    allowed_hosts: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        positive = {
            "max_body": self.max_body, "read_timeout": self.read_timeout,
            "send_timeout": self.send_timeout, "concurrency": self.concurrency,
            "streams": self.streams, "memories": self.memories, "burst": self.burst,
        }  # fmt: skip
        for name, value in positive.items():
            if value <= 0:
                raise InvalidInput(f"expected {name} above 0, got {value!r}")
        if not 0 <= self.port < 65_536:
            raise InvalidInput(f"expected a port from 0 to 65535, got {self.port!r}")
        if self.rate < 0 or self.drain < 0:
            raise InvalidInput(
                f"expected rate and drain of 0 or more, got {self.rate!r} and {self.drain!r}"
            )

    @property
    def is_local(self) -> bool:
        """True if only this machine can connect."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """True if a name or an address is this machine's own."""
    if host.lower() in LOCAL_NAMES:
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
