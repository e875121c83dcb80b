#pragma once
// Lets one chosen file call of this process fail, or end the process before it happens. The file
// calls of the library go through this program: the linker finds these definitions first.

namespace beeline::spool::test {

struct CallFault {
  int at = 0;     // the n-th call from here on, from 1; 0: none
  int error = 0;  // errno of the failure; 0: the process is killed
};

// Counts from here on. Returns the number of calls that were made since the last call of this.
int aim(CallFault fault);

}  // namespace beeline::spool::test
