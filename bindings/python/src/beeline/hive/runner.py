"""Runs one agent as a process: python -m beeline.hive.runner --agent module:Class"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import faulthandler
import importlib
import logging
import os
import signal
import sys

from beeline import aio
from beeline.hive.agent import HiveAgent
from beeline.hive.children import read_config

# on_init() may block the loop, which then cannot end it. This many seconds later its process ends.
_MERCY = 2.0


def main(arguments: list[str] | None = None) -> int:
    """Prints READY and the pid of the agent once its on_init() has returned."""
    words = _parse(arguments)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    try:
        agent = _make(words.agent)
        read_config(agent.config)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        print(f"runner: cannot make {words.agent!r}: {error}", file=sys.stderr)
        return 2
    # An address is one of the original's server; here a hive has a name.
    hive = "" if ":" in words.core else words.core
    try:
        asyncio.run(_run(agent, hive))
    except Exception as error:
        logging.getLogger("beeline.hive").exception("%s failed", words.agent)
        print(f"runner: {words.agent} failed: {error}", file=sys.stderr)
        return 1
    return 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="beeline.hive.runner", description=__doc__)
    parser.add_argument(
        "--agent", required=True, metavar="MODULE:CLASS", help="a subclass of HiveAgent"
    )
    parser.add_argument(
        "--core",
        default=os.environ.get("HIVEKERNEL_CORE", ""),
        metavar="HIVE",
        help="the name of the hive; $HIVEKERNEL_CORE, else $BEELINE_HIVE, unless it is given; "
        "an address with a colon is ignored",
    )
    return parser.parse_args(arguments)


def _make(words: str) -> HiveAgent:
    module, colon, name = words.partition(":")
    if not colon:
        raise ValueError("the form is MODULE:CLASS")
    sys.path.insert(0, os.getcwd())
    made = getattr(importlib.import_module(module), name)()
    if not isinstance(made, HiveAgent):
        raise TypeError(f"{name} is no subclass of beeline.hive.HiveAgent")
    return made


async def _run(agent: HiveAgent, hive: str) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, agent.stop, "user_request")
    if pid := os.environ.get("HIVEKERNEL_PID"):
        agent.config.name = await _name_of(int(pid), hive)
    faulthandler.dump_traceback_later(agent.init_timeout + _MERCY, exit=True)
    with contextlib.ExitStack() as stack:
        # READY is the first line that the agent prints.
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))

        def ready() -> None:
            stack.close()
            faulthandler.cancel_dump_traceback_later()
            os.environ["HIVEKERNEL_PID"] = str(agent.pid)
            print(f"READY {agent.pid}", flush=True)

        await agent.run_with(ready, hive)


async def _name_of(pid: int, hive: str) -> str:
    """The name of an agent whose process has ended: the new one goes on with its messages."""
    async with aio.attach(hive=hive) as visitor:
        return (await visitor.info(pid)).name


if __name__ == "__main__":
    sys.exit(main())
