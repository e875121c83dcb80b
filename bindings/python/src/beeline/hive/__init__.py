"""Agents in the manner of HiveKernel's SDK, on Beeline. docs/hive.md says what differs."""

from beeline.hive.agent import HiveAgent
from beeline.hive.client import CoreClient
from beeline.hive.process_info import ProcessInfo
from beeline.hive.syscall import SyscallContext
from beeline.hive.types import (
    AgentConfig,
    Message,
    MessageAck,
    ResourceUsage,
    Task,
    TaskResult,
)

__all__ = [
    "AgentConfig",
    "CoreClient",
    "HiveAgent",
    "Message",
    "MessageAck",
    "ProcessInfo",
    "ResourceUsage",
    "SyscallContext",
    "Task",
    "TaskResult",
]
