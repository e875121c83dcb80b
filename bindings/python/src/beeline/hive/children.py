"""The children of an agent as the steward starts them: each is a process of the runner."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Mapping
from typing import Any, cast

from beeline import aio
from beeline._errors import BeelineError
from beeline._processes import ChildExit, SpawnOptions
from beeline.hive.types import AgentConfig

READY = "hive.ready"
_CONFIG = "BEELINE_AGENT_CONFIG"
_TIERS = ("strategic", "tactical", "operational")
_PATIENCE = 60.0
# The child has 10 s to attach, and 10 s for its on_init().
_INIT_PATIENCE = 20.0


def command_of(image: str, kind: str) -> list[str]:
    """The command for a runtime. ValueError: there is none."""
    if not image:
        raise ValueError(
            "there is no agent without a process: say the class in runtime_image, as module:Class"
        )
    if kind == "python":
        return [sys.executable, "-m", "beeline.hive.runner", "--agent", image]
    if kind == "custom":
        return [image]
    raise ValueError(f"the runtime {kind!r} is not known: it is python or custom")


def environment_of(name: str, config: Mapping[str, Any]) -> dict[str, str]:
    """The variables of a child. The steward has its own, and maybe those of another agent."""
    return {
        "BEELINE_NAME": name,
        "BEELINE_PARENT": "",
        "BEELINE_ROLE": "",
        "HIVEKERNEL_PID": "",
        "HIVEKERNEL_CORE": "",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        _CONFIG: json.dumps(config),
    }


def read_config(config: AgentConfig) -> None:
    """Fills the settings of an agent from its spawn, if it was spawned."""
    text = os.environ.pop(_CONFIG, "")
    if text:
        found = json.loads(text)
        config.system_prompt = found["system_prompt"]
        config.model = found["model"]
        config.metadata.update(found["metadata"])


def tier_of(word: str) -> str:
    """A tier; an unknown word means operational."""
    return word if word in _TIERS else _TIERS[-1]


async def spawn_agent(
    agent: aio.Agent, name: str, command: list[str], options: Mapping[str, Any]
) -> int:
    """Starts a child, and waits until its on_init() has returned. RuntimeError: it has not."""
    child = await agent.spawn(name, command, **cast(SpawnOptions, options))
    # The runner answers once it serves. If on_init() fails, its process ends instead.
    _, answer = await agent.ask(child.pid, b"", type=READY, timeout=_INIT_PATIENCE)
    end = asyncio.ensure_future(agent.wait(child.pid, _INIT_PATIENCE))
    try:
        await asyncio.wait((answer, end), return_when="FIRST_COMPLETED")
        if not answer.done():
            raise RuntimeError(_words_of(end.result()))
        with answer.result():
            return child.pid
    except (BeelineError, TimeoutError) as error:
        with contextlib.suppress(BeelineError, TimeoutError):
            await agent.kill(child.pid)
        raise RuntimeError(f"agent {name} was never ready: {error}") from error
    finally:
        answer.cancel()
        end.cancel()
        await asyncio.gather(end, return_exceptions=True)


def _words_of(end: ChildExit) -> str:
    how = f"by signal {end.signal}" if end.signal else f"with exit code {end.exit_code}"
    return f"the process ended {how} before on_init() had returned; its last lines:\n{end.output}"


async def wait_for_child(agent: aio.Agent, pid: int, timeout: float) -> dict[str, Any]:
    """The end of a child. RuntimeError: it has not ended in that time."""
    try:
        end = await agent.wait(pid, timeout if timeout > 0 else _PATIENCE)
    except TimeoutError:
        raise RuntimeError("timeout waiting for child") from None
    return {"pid": end.pid, "exit_code": end.exit_code, "output": end.output}
