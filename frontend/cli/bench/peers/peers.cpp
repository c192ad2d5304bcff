// The table of peers.
#include "frontend/cli/bench/peers/peers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/cli/files/errors.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli::bench {

std::span<const PeerKind> peer_kinds() {
  static constexpr PeerKind kinds[] = {
      {"cublas", "cuBLAS, by libcublasLt and its heuristics", false, true, open_cublas},
      {"torch", "PyTorch in eager mode, by python3", true, true, open_torch},
      {"triton", "Triton, by python3 with torch and triton", false, true, open_triton},
      {"cudnn", "attention by cuDNN, through PyTorch, by python3", false, true, open_cudnn},
      {"flash", "attention by FlashAttention, through PyTorch, by python3", false, true, open_flash},
      {"numpy", "NumPy, by python3", true, false, open_numpy},
      {"openblas", "OpenBLAS, by libopenblas", true, false, open_openblas},
      {"onednn", "oneDNN, by libdnnl: products of f32", true, false, open_onednn},
      {"memcpy", "a copy of as many bytes", true, true, open_memcpy},
  };
  return kinds;
}

const PeerKind& find_peer(const std::string& name) {
  std::vector<std::string_view> names;
  for (const PeerKind& kind : peer_kinds()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  throw UsageError(fmt::format("--vs: there is no peer '{}'{}; there are: {}", name, ir::suggestion(name, names), fmt::join(names, ", ")));
}

}  // namespace tilewright::cli::bench
