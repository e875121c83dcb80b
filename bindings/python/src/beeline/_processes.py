"""Processes of a hive: the requests to the steward, which is pid 1, and its answers."""

from __future__ import annotations

import json
import signal as _signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from beeline._base import BaseMessage, To
from beeline._core import Peer
from beeline._errors import OF_WORD, ProtocolError
from beeline._types import SendOptions

if TYPE_CHECKING:
    from typing import Unpack

STEWARD = 1
# The steward answers at its own deadline; this many seconds later its answer has come.
FOR_THE_ANSWER = 10.0
FOR_A_KILL = 300.0
_READY_WITHIN = 10.0
_LONGEST = 365 * 24 * 3600.0
_LIMITS = (
    "memory_bytes",
    "cpu_seconds",
    "open_files",
    "processes",
    "max_children",
    "output_bytes",
)
_TIMES = {"ready_within": "ready_within_ms", "grace": "grace_ms"}


class SpawnOptions(TypedDict, total=False):
    """The options of spawn().

    parent: name or pid of an agent below this one; the caller if not given. role: worker.
    tier: strategic, tactical or operational; by the role. model: for the child; by the tier.
    directory: where it starts; that of the hive. environment: variables; "" removes one.
    uid: that of the parent. restart: always, on-failure, notify or never; by the role.
    memory_bytes, cpu_seconds, open_files, processes: limits. max_children: 10; 0 is no limit.
    output_bytes: how much of its output is kept. ready_within: seconds until it attaches, 10.
    grace: seconds from the request to end until it is killed, 5. key: a second spawn with this key
    gets the first answer.
    """

    parent: str | int
    role: str
    tier: str
    model: str
    directory: str
    environment: Mapping[str, str]
    uid: int
    restart: str
    memory_bytes: int
    cpu_seconds: int
    open_files: int
    processes: int
    max_children: int
    output_bytes: int
    ready_within: float
    grace: float
    key: str


@dataclass(frozen=True)
class Child:
    """A child that has started. `os_pid`: of the process that was started."""

    pid: int
    name: str
    os_pid: int


@dataclass(frozen=True)
class ChildExit:
    """The end of a child. `exit_code` is -1 if a signal ended it, or if nobody knows.

    known: false if the hive was restarted meanwhile and saw no end. output: its last lines.
    """

    pid: int
    exit_code: int
    signal: int
    known: bool
    reason: str
    output: str


@dataclass(frozen=True)
class ChildInfo:
    """A child as the steward knows it. `end`: of its last life, if that has ended.

    state: starting, running, sleeping, restarting or ended. restart: its policy. log: file of its
    output.
    """

    pid: int
    parent: int
    name: str
    role: str
    tier: str
    model: str
    state: str
    restart: str
    os_pid: int
    restarts: int
    started_unix_ns: int
    log: str
    end: ChildExit | None = None


@dataclass(frozen=True)
class Ask:
    """One request to the steward."""

    type: str
    fields: Mapping[str, Any]
    timeout: float

    @property
    def payload(self) -> str:
        return json.dumps(self.fields)

    @property
    def options(self) -> SendOptions:
        # A request to the steward has nothing to do with the message that the agent handles.
        return SendOptions(type=self.type, inherit=False)

    def read(self, answer: BaseMessage) -> dict[str, Any]:
        """The answer, which is ended. An error that the steward answered is raised."""
        with answer:
            text = bytes(answer.payload)
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ProtocolError(f"the steward answered {self.type} with no object: {text[:40]!r}")
        refused = found.get("error")
        if refused is None:
            return found
        words = refused if isinstance(refused, dict) else {}
        raise error_of(str(words.get("code", "")), str(words.get("text", refused)))


def error_of(code: str, text: str) -> Exception:
    """The exception for a word of a service."""
    if code == "timeout":
        return TimeoutError(text)
    return OF_WORD.get(code, ProtocolError)(text)


def _milliseconds(seconds: float) -> int:
    return round(min(max(seconds, 0.0), _LONGEST) * 1000)


def _child(child: To) -> str:
    return str(child.pid if isinstance(child, Peer) else child)


def ask_to_spawn(name: str, command: Sequence[str], options: SpawnOptions) -> Ask:
    if isinstance(command, str):
        raise TypeError("command is a list of a program and its arguments, not one text")
    unknown = set(options) - set(SpawnOptions.__annotations__)
    if unknown:
        raise TypeError(f"spawn() has no option {sorted(unknown)[0]!r}")
    fields: dict[str, Any] = {"name": name, "command": list(command)}
    limits: dict[str, Any] = {}
    for option, value in options.items():
        if option in _LIMITS:
            limits[option] = value
        elif option in _TIMES:
            fields[_TIMES[option]] = _milliseconds(float(value))  # type: ignore[arg-type]
        else:
            fields[option] = value
    if "parent" in fields:
        fields["parent"] = str(fields["parent"])
    if limits:
        fields["limits"] = limits
    patience = min(options.get("ready_within", _READY_WITHIN), _LONGEST)
    return Ask("hive.spawn", fields, patience + FOR_THE_ANSWER)


def ask_to_kill(child: To, recursive: bool) -> Ask:
    return Ask("hive.kill", {"child": _child(child), "recursive": recursive}, FOR_A_KILL)


def ask_to_wait(child: To, timeout: float | None) -> Ask:
    patience = _LONGEST if timeout is None else timeout
    fields = {"child": _child(child), "timeout_ms": _milliseconds(patience)}
    return Ask("hive.wait", fields, min(max(patience, 0.0), _LONGEST) + FOR_THE_ANSWER)


def ask_to_list(recursive: bool) -> Ask:
    return Ask("hive.list", {"recursive": recursive}, FOR_THE_ANSWER)


def ask_to_signal(child: To, signal: str | int) -> Ask:
    name = signal if isinstance(signal, str) else _signal.Signals(signal).name
    fields = {"child": _child(child), "signal": name.removeprefix("SIG")}
    return Ask("hive.signal", fields, FOR_THE_ANSWER)


def ask_to_sleep(child: To) -> Ask:
    return Ask("hive.sleep", {"child": _child(child)}, FOR_THE_ANSWER)


def ask_to_wake(child: To) -> Ask:
    return Ask("hive.wake", {"child": _child(child)}, FOR_THE_ANSWER)


def _made(kind: type[Any], found: Mapping[str, Any]) -> Any:
    # Keys of a newer steward are left out.
    try:
        return kind(**{key: found[key] for key in kind.__annotations__ if key in found})
    except TypeError as error:
        raise ProtocolError(f"the steward broke the form of its answer: {error}") from None


def child_of(found: Mapping[str, Any]) -> Child:
    made: Child = _made(Child, found)
    return made


def exit_of(found: Mapping[str, Any]) -> ChildExit:
    made: ChildExit = _made(ChildExit, found)
    return made


def children_of(found: Mapping[str, Any]) -> list[ChildInfo]:
    listed = []
    for each in found.get("children", ()):
        end = each.get("end")
        listed.append(_made(ChildInfo, {**each, "end": exit_of(end) if end else None}))
    return listed


def killed_of(found: Mapping[str, Any]) -> list[int]:
    return [int(pid) for pid in found.get("killed", ())]


def state_of(found: Mapping[str, Any]) -> str:
    return str(found.get("state", ""))


class ProcessCalls:
    """The calls of an agent of beeline.sync about processes."""

    __slots__ = ()

    if TYPE_CHECKING:

        def request(
            self,
            to: To,
            payload: str,
            *,
            timeout: float = ...,
            cancel_on_timeout: bool = ...,
            **options: Unpack[SendOptions],
        ) -> BaseMessage: ...

    def _ask_steward(self, ask: Ask) -> dict[str, Any]:
        return ask.read(
            self.request(STEWARD, ask.payload, timeout=ask.timeout, **ask.options)
        )

    def spawn(
        self, name: str, command: Sequence[str], **options: Unpack[SpawnOptions]
    ) -> Child:
        """Starts a child, and returns once it has attached. See SpawnOptions.

        The process finds its place in the hive by itself: attach() without a name. Errors: Denied
        (the rule), InvalidArgument, NoAgent (the parent), Full, SystemCallError (its start). If it
        ends before it is ready, the text has the last lines of its output.
        """
        return child_of(self._ask_steward(ask_to_spawn(name, command, options)))

    def kill(self, child: To, recursive: bool = True) -> list[int]:
        """Ends a child and all its descendants, the lowest first; returns the pids.

        Without `recursive` only a child without living children is ended.
        """
        return killed_of(self._ask_steward(ask_to_kill(child, recursive)))

    def wait(self, child: To, timeout: float | None = 60.0) -> ChildExit:
        """Waits for the end of a child. TimeoutError: it has not ended."""
        return exit_of(self._ask_steward(ask_to_wait(child, timeout)))

    def processes(self, recursive: bool = False) -> list[ChildInfo]:
        """The children that the steward has started for this agent, or below it."""
        return children_of(self._ask_steward(ask_to_list(recursive)))

    def signal(self, child: To, signal: str | int) -> str:
        """Sends a signal to a child: TERM, KILL, STOP, CONT, HUP, INT, USR1 or USR2.

        Constants of the module signal will do, too. Returns the state of the child afterwards,
        after KILL once its process has ended. A sleeping child takes other signals when it is
        woken. PeerDead: it has ended, and no signal brings it back.
        """
        return state_of(self._ask_steward(ask_to_signal(child, signal)))

    def sleep(self, child: To) -> str:
        """Stops the process of a child: its messages wait. Does nothing if it sleeps."""
        return state_of(self._ask_steward(ask_to_sleep(child)))

    def wake(self, child: To) -> str:
        """Lets a sleeping child run on; returns its state. InvalidArgument: it does not sleep."""
        return state_of(self._ask_steward(ask_to_wake(child)))
