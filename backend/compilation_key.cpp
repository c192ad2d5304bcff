// The key of a compilation in the disk cache: everything that the compiled code depends on.
#include "backend/compilation_key.h"

#include "backend/build_identity.h"
#include "backend/find_target.h"
#include "tileir/structure.h"

namespace tilewright::backend {

std::vector<std::byte> compilation_key(const ir::Function& f, const CompileOptions& options) {
  const std::span<const std::byte> build = build_identity();
  if (build.empty()) return {};
  ir::ByteWriter out;
  out.write(build);
  // This does not compile when an option is added.
  const auto& [target, num_warps, num_stages, check, contract, ptx_version] = options;
  out.write(target);
  out.write(find_target(target)->processor());
  out.write(num_warps);
  out.write(num_stages);
  out.write(check);
  out.write(contract);
  out.write(ptx_version);
  ir::write_structure(f, out);
  return std::move(out).bytes();
}

}  // namespace tilewright::backend
