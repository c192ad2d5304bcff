// Sets the observer of each thread.
#include "runtime/write_observer.h"

namespace tilewright::rt {

constinit thread_local WriteObserver* WriteObserver::current_ = nullptr;

}  // namespace tilewright::rt
