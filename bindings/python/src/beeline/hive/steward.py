"""The calls that the steward of this version does not know: it starts and ends agents."""

from __future__ import annotations

_CRON = "let cron or a timer of on_init() send the message, with `beeline send` for example"
_ARTIFACT = "put the content into a message or into the artifacts of a TaskResult"
_BUDGET = "count in the agent, and report it with log()"

_ADVICE = {
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
    return RuntimeError(f"{failure}: the steward does not do this yet; {_ADVICE[failure]}")
