"""The client of a model that does the jobs of each tenant.

Jobs are stored under the name of a model, and two clients may have one name: one model at two
providers, or with two keys. A tenant's text goes to the client that was given for that tenant, or
to one that is named for all tenants, and to no other.
"""

from __future__ import annotations

import gc
import hashlib
import threading
import weakref
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from ..base.errors import InvalidInput
from ..base.fork import renewed_after_fork
from ..db.jobs import Lane, LaneTenants
from .handlers import Handler
from .turns import Turns

# What is compared of the values that a client hides.
_PLAIN = (str, int, float, bool, bytes)


@dataclass(slots=True, eq=False, weakref_slot=True)
class Duty:
    """The jobs of one kind and model that one client does: those of its tenants, or of all that
    have no client of their own.

    `home` is the tenant that the client was first given for, "" for one that was given for all.
    `handlers` are by tenant, and that of None is for every other tenant: they differ only in how
    facts are written. `any_handler` is one of them.
    """

    lane: Lane
    client: object
    home: str
    any_handler: Handler
    handlers: dict[str | None, Handler] = field(default_factory=dict)
    turns: defaultdict[str, Turns] = field(default_factory=lambda: defaultdict(Turns))  # by cell

    @property
    def serves_all(self) -> bool:
        """True if it does the jobs of every tenant that has no client of its own."""
        return None in self.handlers

    @property
    def status(self) -> str:
        """The name under which its breaker and its rate are stored: each client has its own.

        It begins with the model's name. Of the tenant it holds a digest, since all workers may read
        it.
        """
        model = self.lane[1]
        if not model or not self.home:
            return model
        return f"{model} @{hashlib.sha256(self.home.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


@dataclass(slots=True)
class _Choice:
    """The duty that a tenant's jobs of a lane go to, and the open memories that were given its
    client.
    """

    duty: Duty
    holders: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet)
    is_kept: bool = False  # given by whoever runs the worker, for as long as the process lives

    @property
    def is_open(self) -> bool:
        """True if somebody still counts on this client."""
        return self.is_kept or bool(self.holders)


class Clients:
    """The clients of one worker, by kind, model and tenant. Safe for threads."""

    def __init__(self) -> None:
        # By lane, and then by tenant; under None is what serves every tenant that has no client of
        # its own.
        self._choices: dict[Lane, dict[str | None, _Choice]] = {}
        # What was found since the last change: workers look for each batch, and there may be very
        # many tenants.
        self._found_duties: list[Duty] | None = None
        self._found_tenants: dict[Duty, LaneTenants] = {}
        self.renew()
        renewed_after_fork(self)

    def renew(self) -> None:
        """Make a new lock in a forked child: another thread of the parent may hold the old one."""
        self._lock = threading.RLock()

    def add(
        self,
        handler: Handler,
        client: object,
        *,
        tenant: str | None = None,
        home: str | None = None,
        holder: object | None = None,
        for_all: bool = False,
        is_alone: bool = False,
    ) -> None:
        """Do a kind of jobs with a client from now on: those of a tenant, or, where it is None, of
        all tenants.

        `holder` is the memory that was given the client, `home` the tenant for which it was given
        first. A client `for_all` also does the jobs of every tenant that has none of its own; one
        that `is_alone` is the only one of its name.

        Raises `InvalidInput` when an open memory of the tenant was given another client of that
        name.
        """
        lane = handler.kind, handler.model
        names = list(dict.fromkeys([tenant, None] if for_all else [tenant]))
        with self._lock:
            choices = self._choices.setdefault(lane, {})
            _check(choices, list(choices) if is_alone else names, lane, client)
            duty = self._duty(choices, names, client) or Duty(
                lane, client, "" if for_all else home or tenant or "", handler
            )
            for name in names:
                known = choices.get(name)
                if known is None or known.duty is not duty:
                    if known is not None:
                        known.duty.handlers.pop(name, None)
                    known = choices[name] = _Choice(duty)
                    self._forget_found()
                if holder is None:
                    known.is_kept = True
                else:
                    known.holders.add(holder)
                if not duty.handlers or (handler.slow and _is(duty.client, client)):
                    duty.handlers[name] = handler
                else:
                    duty.handlers.setdefault(name, duty.any_handler)

    @staticmethod
    def _duty(
        choices: dict[str | None, _Choice], names: Sequence[str | None], client: object
    ) -> Duty | None:
        """The duty of a client: that of these tenants, where their client has the same settings,
        else the client's own.
        """
        for name in names:
            known = choices.get(name)
            if known is not None and known.is_open:
                return known.duty  # it was checked that it has the same settings
        return next((each.duty for each in choices.values() if _is(each.duty.client, client)), None)

    def release(self, holder: object) -> None:
        """Note that a memory is closed. Its clients go on with what is pending, until the tenant is
        given others.
        """
        with self._lock:
            for choices in self._choices.values():
                for choice in choices.values():
                    choice.holders.discard(holder)

    def remove(self, kind: str, model: str) -> None:
        """Leave the jobs of a kind and a model to other workers."""
        with self._lock:
            self._choices.pop((kind, model), None)
            self._forget_found()

    def duties(self, *, slow: bool | None = None) -> list[Duty]:
        """All duties, or the slow or the quick ones, in order of their names; what serves all
        tenants comes first.
        """
        with self._lock:
            if self._found_duties is None:
                duties = {choice.duty for of in self._choices.values() for choice in of.values()}
                self._found_duties = sorted(
                    duties, key=lambda duty: (not duty.serves_all, duty.lane, duty.home)
                )
            return [
                duty for duty in self._found_duties if slow is None or duty.any_handler.slow == slow
            ]

    def duty_of(self, lane: Lane, tenant: str) -> Duty | None:
        """Who does a tenant's jobs: the tenant's own client, else the one for all tenants; None
        where there is neither.
        """
        with self._lock:
            choices = self._choices.get(lane, {})
            choice = choices.get(tenant) or choices.get(None)
            return None if choice is None else choice.duty

    def handler_of(self, duty: Duty, tenant: str) -> Handler | None:
        """Return the handler of a tenant's jobs of a duty; None when they are another duty's by
        now.
        """
        with self._lock:
            if self.duty_of(duty.lane, tenant) is not duty:
                return None
            return duty.handlers.get(tenant) or duty.handlers.get(None)

    def tenants_of(self, duty: Duty) -> LaneTenants:
        """Whose jobs are a duty's: `only` some tenants', or those of all `besides` the ones that
        have clients of their own.
        """
        with self._lock:
            known = self._found_tenants.get(duty)
            if known is None:
                choices, all_but = self._choices.get(duty.lane, {}), duty.serves_all
                own = sorted(
                    name
                    for name, each in choices.items()
                    if name is not None and (each.duty is duty) != all_but
                )
                known = (
                    LaneTenants(duty.lane, None, own) if all_but else LaneTenants(duty.lane, own)
                )
                self._found_tenants[duty] = known
            return known

    def _forget_found(self) -> None:
        self._found_duties = None
        self._found_tenants.clear()

    def duties_of(self, tenant: str) -> list[Duty]:
        """The duties that do a tenant's jobs."""
        with self._lock:
            duties = [self.duty_of(lane, tenant) for lane in self._choices]
        return [duty for duty in duties if duty is not None]


def _check(
    choices: dict[str | None, _Choice], names: Sequence[str | None], lane: Lane, client: object
) -> None:
    """Refuse a second client of one name; raises `InvalidInput`."""

    def others() -> list[str | None]:
        known = [(name, choices[name]) for name in names if name in choices]
        return [
            name
            for name, each in known
            if each.is_open and not _have_same_settings(each.duty.client, client)
        ]

    if others():
        gc.collect()  # a memory that nobody has any more may still be in a circle of references
    for name in others():
        whose = "all tenants" if name is None else f"tenant {name!r:.80}"
        raise InvalidInput(
            f"expected one client for the {lane[0]} jobs of the model {lane[1]!r:.80} of {whose}, "
            "got two: "
            f"{_name_of(choices[name].duty.client)}, which an open memory uses, and "
            f"{_name_of(client)}; give both memories "
            "the same object, close the other memory first, or tell the models apart by a name, "
            'such as model = "my-model-2"'
        )


def _is(one: object, other: object) -> bool:
    """True if two are one client: the same object, or the same name of a model that this process
    makes itself.
    """
    return one is other or (isinstance(one, str) and one == other)


def _have_same_settings(one: object, other: object) -> bool:
    """True if two clients are one object, or were made with the same settings, as LangChain's and
    LlamaIndex's models tell.
    """
    if _is(one, other):
        return True
    if type(one) is not type(other):
        return False
    try:
        if not isinstance(one, BaseModel) or not isinstance(other, BaseModel):
            return bool(one == other)
        fields = [name for name, field in type(one).model_fields.items() if not field.exclude]
        return all(getattr(one, name) == getattr(other, name) for name in fields) and _plain(
            one
        ) == _plain(other)
    except Exception:  # their own way of comparing fails: then they are two
        return False


def _plain(model: BaseModel) -> dict[str, Any]:
    """The hidden texts and numbers of a model; connections and locks are made of the fields."""
    return {
        name: value
        for name, value in (model.__pydantic_private__ or {}).items()
        if isinstance(value, _PLAIN)
    }


def _name_of(client: object) -> str:
    """A client in an error: never its own description, which may hold a key."""
    if isinstance(client, str):
        return repr(client)
    name = getattr(client, "__qualname__", None)
    return (
        f"the function {name} at {id(client):#x}"
        if name
        else f"{type(client).__qualname__} at {id(client):#x}"
    )
