#pragma once

namespace beeline::os {

/// Gives up what this process has inherited from whoever happened to start it, as far as it may:
/// nice value, scheduling policy and I/O priority, timer slack, the CPUs that it may run on, its
/// place in the order of the OOM killer, and soft limits of file size, address space, data, CPU
/// time and processes. A cgroup cannot be left without rights: it stays, and its limits count.
void give_up_inheritance() noexcept;

}  // namespace beeline::os
