// Counts the allocations of the whole test program, so that a test can show that something allocates nothing.
#pragma once

namespace tilewright::rt {

/// Calls of operator new so far, of all threads.
long allocations_so_far();

}  // namespace tilewright::rt
