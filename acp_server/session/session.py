"""A session: one header, one append-only log, and its folds (docs/sessions.md, clauses A-1 to A-6).

Owns the only way into the log. An append is checked in full before anything changes, is committed, and is then told
to observers, whose failures are contained. Says nothing about disks: durability is an observer's work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from acp_server.base.errors import ServerError
from acp_server.base.ids import SessionId
from acp_server.base.json_value import SAFE_INTEGER, FrozenObject, JsonObject, freeze
from acp_server.messages.blocks import Message
from acp_server.session.delta_data import freeze_delta
from acp_server.session.events import REQUIRED_TYPES, SessionEvent, SurfaceOp
from acp_server.session.header import SessionHeader
from acp_server.session.history import REQUEST_TYPES, EpochHeader, History, RequestFold
from acp_server.session.log import EventLog, MemoryLog
from acp_server.session.shapes import ShapeError, check_shape
from acp_server.session.surface import Surface

CHUNK: Final = "assistant/chunk"
END_SEED: Final = "session/end-seed"
Observer: TypeAlias = Callable[[SessionEvent], None]
ObserverErrors: TypeAlias = Callable[[Exception, SessionEvent], None]


class Session:
    """One conversation. `now` gives wall-clock milliseconds; times of events may go backwards when it does.

    A `log` that holds events is checked on construction. `seeded` says that the log, empty or not, was inherited from
    an earlier life: it then ends in a `session/end-seed`, which is appended unless it is there.

    Raises:
        ServerError: INVALID_EVENT_DATA or a code of `Surface.plan`, when the log breaks a rule.
    """

    def __init__(
        self,
        header: SessionHeader,
        *,
        now: Callable[[], int],
        log: EventLog | None = None,
        seeded: bool = False,
        on_observer_error: ObserverErrors | None = None,
    ) -> None:
        self.header = header
        self.events: EventLog = MemoryLog() if log is None else log
        self.surface = Surface(self.events)
        self.first_live_seq = len(self.events)
        """The number of events that the session was built with."""
        self._now = now
        self._on_observer_error = on_observer_error
        self._history = History(self.events, self.surface)
        self._requests = RequestFold()
        self._observers: tuple[Observer, ...] = ()
        self._validators: tuple[Observer, ...] = ()
        self._publishing = False
        self._attached = False
        self._deferred: list[Callable[[], None]] = []
        self._check_seed()
        if seeded and not self._ends_seed():
            self.append(END_SEED, {})

    @property
    def id(self) -> SessionId:
        """Return the header's id."""
        return self.header.id

    @property
    def seq(self) -> int:
        """Return the next event's seq, which is the number of events."""
        return len(self.events)

    def append(
        self,
        kind: str,
        data: JsonObject,
        *,
        surface_op: SurfaceOp | None = None,
        sources: Sequence[int] | None = None,
        ignorable: bool = False,
    ) -> SessionEvent:
        """Append one event and return it. When it returns, the event is in the log and every observer was called.

        Raises:
            JsonError: the data is no JSON that survives a round trip.
            ServerError: INVALID_EVENT_DATA; UNKNOWN_EVENT_TYPE for a type that no reader would know and that is not
                ignorable; REENTRANT_APPEND from inside a validator or an observer; INVALID_CLOCK; a code of
                `Surface.plan`; or what a validator raised. Nothing has changed then.
        """
        frozen, message = freeze_delta(data) if kind == CHUNK else None, None
        if frozen is None:
            frozen, message = _checked(kind, data, ignorable=ignorable)
        if self._publishing:
            raise ServerError("REENTRANT_APPEND", f"{kind} was appended while another event is being told")
        seq = len(self.events)
        event = SessionEvent(
            kind, seq, self._time(), frozen, surface_op, None if sources is None else tuple(sources), ignorable
        )
        self._publishing = True
        try:
            self._commit(event, message)
            self._tell(event)
        finally:
            self._publishing = False
            if self._deferred:
                self._run_deferred()
        return event

    def observe(self, observer: Observer) -> Callable[[], None]:
        """Call `observer` after each commit, in order of registration; return what ends it.

        What an observer raises is reported and goes no further. An observer must not append.
        """
        self._observers = (*self._observers, observer)
        return lambda: self._forget(observer)

    def validate(self, validator: Observer) -> Callable[[], None]:
        """Call `validator` before each commit; what it raises refuses the append. Return what ends it."""
        self._validators = (*self._validators, validator)
        return lambda: self._forget(validator)

    def after_append(self, callback: Callable[[], None]) -> None:
        """Call `callback` at once, or, from inside an append, when that append is done."""
        if self._publishing:
            self._deferred.append(callback)
        else:
            callback()

    def attach(self) -> None:
        """Belong to a store; raise ServerError SESSION_ATTACHED when it belongs to one."""
        if self._attached:
            raise ServerError("SESSION_ATTACHED", f"The session {self.id} belongs to a store already.")
        self._attached = True

    def release(self) -> None:
        """Belong to no store."""
        self._attached = False

    def messages(self) -> tuple[Message, ...]:
        """Return the messages that a model would see, in order."""
        return self._history.messages()

    def request_header(self) -> EpochHeader | None:
        """Return the latest `request/header` in canonical form, None while there is none."""
        return self._requests.header()

    def request_context(self) -> JsonObject | None:
        """Return the latest `request/context`'s data, None while there is none."""
        return self._requests.context()

    def _check_seed(self) -> None:
        for event in self.events.milestones():
            try:
                message = check_shape(event.type, event.data)
            except ShapeError as error:
                raise ServerError(error.code, f"event {event.seq}: {error.message}") from error
            self.surface.take(event)
            self._follow(event, message)
        self.surface.fold()

    def _ends_seed(self) -> bool:
        return self.first_live_seq > 0 and self.events[self.first_live_seq - 1].type == END_SEED

    def _time(self) -> int:
        time = self._now()
        if type(time) is not int or not 0 <= time <= SAFE_INTEGER:
            raise ServerError("INVALID_CLOCK", f"the clock gave {time!r}, which is no time in milliseconds")
        return time

    def _commit(self, event: SessionEvent, message: Message | None) -> None:
        bare = event.type == CHUNK and event.surface_op is None and event.source_event_seqs is None
        plan = None if bare else self.surface.plan(event)
        for validator in self._validators:
            validator(event)
        self.events.append(event)
        if plan is None:
            self.surface.pass_over(event.seq)
        else:
            self.surface.apply(plan)
            self._follow(event, message)

    def _follow(self, event: SessionEvent, message: Message | None) -> None:
        if message is not None:
            self._history.learn(event.seq, message)
        elif event.type in REQUEST_TYPES:
            self._requests.apply(event)

    def _tell(self, event: SessionEvent) -> None:
        for observer in self._observers:
            try:
                observer(event)
            except Exception as error:  # noqa: BLE001 - one observer's failure must not starve the next
                if self._on_observer_error is not None:
                    with suppress(Exception):
                        self._on_observer_error(error, event)

    def _run_deferred(self) -> None:
        deferred, self._deferred = self._deferred, []
        for callback in deferred:
            callback()

    def _forget(self, callback: Observer) -> None:
        self._observers = tuple(other for other in self._observers if other is not callback)
        self._validators = tuple(other for other in self._validators if other is not callback)


def _checked(kind: str, data: JsonObject, *, ignorable: bool) -> tuple[FrozenObject, Message | None]:
    frozen = freeze(data, kind)
    if not isinstance(frozen, FrozenObject):
        raise ShapeError(kind, "the data", "is no object")
    message = check_shape(kind, frozen)
    if not ignorable and kind not in REQUIRED_TYPES:
        raise ServerError("UNKNOWN_EVENT_TYPE", f"{kind} is no known event type, and is not marked as ignorable")
    return frozen, message
