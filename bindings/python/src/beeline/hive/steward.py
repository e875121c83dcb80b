"""The calls that need a steward: the program that starts, ends and supplies agents."""

from __future__ import annotations

_START = (
    "start the agent yourself: BEELINE_PARENT=NAME python -m beeline.hive.runner "
    "--agent module:Class, where NAME is the name of this agent"
)
_END = "end its process yourself; `beeline forget NAME` then frees its name"
_WATCH = "ask get_process_info() for its state: 4 (dead) and 5 (zombie) say that it has ended"
_CRON = "let cron or a timer of on_init() send the message, with `beeline send` for example"
_ARTIFACT = "put the content into a message or into the artifacts of a TaskResult"
_BUDGET = "count in the agent, and report it with log()"

_ADVICE = {
    "spawn failed": _START,
    "kill failed": _END,
    "wait_child failed": _WATCH,
    "add_cron failed": _CRON,
    "remove_cron failed": _CRON,
    "list_cron failed": _CRON,
    "store artifact failed": _ARTIFACT,
    "artifact not found": _ARTIFACT,
    "list_artifacts failed": _ARTIFACT,
    "get_resource_usage failed": _BUDGET,
    "request_resources failed": _BUDGET,
    "report_metric failed": _BUDGET,
}


def no_steward(failure: str) -> RuntimeError:
    return RuntimeError(f"{failure}: this hive has no steward yet; {_ADVICE[failure]}")
