"""The names of HiveKernel's SDK for beeline.hive. Other folders of this name may add modules."""

import pkgutil
import sys

import beeline.hive
from beeline.hive import (
    AgentConfig,
    CoreClient,
    HiveAgent,
    Message,
    MessageAck,
    ResourceUsage,
    SyscallContext,
    Task,
    TaskResult,
    agent,
    client,
    syscall,
    types,
)

__all__ = [
    "AgentConfig",
    "CoreClient",
    "HiveAgent",
    "Message",
    "MessageAck",
    "ResourceUsage",
    "SyscallContext",
    "Task",
    "TaskResult",
]
# The runner is found there: python -m hivekernel_sdk.runner
__path__ = [*pkgutil.extend_path(__path__, __name__), *beeline.hive.__path__]

for module in (agent, client, syscall, types):
    sys.modules[f"{__name__}.{module.__name__.rpartition('.')[2]}"] = module
