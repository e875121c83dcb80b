"""A worker of `beeline demo` in Python. tools/beeline/demo/role.h says how its processes talk.

Usage: python -m beeline._demo_worker NAME EVENTS, where EVENTS is a named pipe for lines of
JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from typing import Any

import beeline.sync
from beeline import Handler, TaskResult

_PATIENCE = 20.0


def count(text: bytes) -> str:
    """Lines, words and bytes."""
    lines = text.count(b"\n") + (not text.endswith(b"\n") and text != b"")
    return f"{lines} {len(text.split())} {len(text)}"


class Worker(Handler):
    """Counts the texts of its tasks, echoes, and ends with the demo."""

    def __init__(self) -> None:
        self._agent: beeline.sync.Agent

    def on_start(self, agent: beeline.sync.Agent) -> None:
        self._agent = agent
        agent.send(agent.parent, agent.name, type="ready", timeout=_PATIENCE)

    def on_task(self, run: beeline.sync.TaskRun) -> TaskResult:
        return TaskResult(output=count(run.context).encode())

    def on_message(self, message: beeline.sync.Message) -> str | None:
        if message.type == "finish":
            self._agent.stop_serving()
        return message.text if message.type == "echo" else None


class Events:
    """Tells the demo of this process."""

    def __init__(self, path: str, name: str) -> None:
        self._descriptor = os.open(path, os.O_WRONLY)
        self._name = name

    def write(self, event: str, **fields: Any) -> None:
        line = {"event": event, "agent": self._name, "os_pid": os.getpid(), **fields}
        os.write(self._descriptor, json.dumps(line).encode() + b"\n")


def main() -> int:
    events = Events(path=sys.argv[2], name=sys.argv[1])
    try:
        with beeline.sync.attach(start_coordinator=False) as agent:
            agent.serve(Worker(), timeout=60.0)
            links = [dataclasses.asdict(link) for link in agent.links()]
            counters = dataclasses.asdict(agent.counters())
            events.write("accounts", pid=agent.pid, links=links, **counters)
            agent.detach(drain=5.0)
    except Exception as error:
        events.write("failed", text=str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
