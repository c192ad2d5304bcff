// Asks each kind of target.
#include "backend/find_target.h"

#include "backend/host/target.h"
#include "backend/nvptx/target.h"

namespace tilewright::backend {

std::unique_ptr<TargetHooks> find_target(const std::string& name) {
  auto gpu = nvptx::hooks_of(name);
  return gpu ? std::move(gpu) : host::hooks_of(name);
}

}  // namespace tilewright::backend
