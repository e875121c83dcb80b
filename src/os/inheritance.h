#pragma once

namespace beeline::os {

// Gives up everything that this process has inherited from its starter, as far as it may: nice
// value, scheduling policy and I/O priority, timer slack, the CPUs that it may run on, its place
// in the order of the OOM killer, and soft limits of file size, address space, data, CPU time and
// processes. A process cannot leave its cgroup without rights: the cgroup stays, and its limits
// count.
void give_up_inheritance() noexcept;

}  // namespace beeline::os
