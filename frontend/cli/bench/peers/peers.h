// The peers, by name: other libraries that kernels are measured beside.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/cli/bench/measuring/contender.h"

namespace tilewright::cli::bench {

struct PeerOptions {
  std::string python;  // path of the interpreter; empty: python3
};

struct PeerKind {
  std::string_view name, about;
  bool on_cpu, on_gpu;
  /// Throws Unavailable if the peer is missing. The setting must outlive the peer.
  std::unique_ptr<Peer> (*open)(const Setting&, const PeerOptions&);
};

std::span<const PeerKind> peer_kinds();

/// Throws UsageError that suggests a peer and lists all.
const PeerKind& find_peer(const std::string& name);

// Each function is in a file of its name, those of Python peers in python_peer.cpp.
std::unique_ptr<Peer> open_cublas(const Setting&, const PeerOptions&);
std::unique_ptr<Peer> open_openblas(const Setting&, const PeerOptions&);
std::unique_ptr<Peer> open_onednn(const Setting&, const PeerOptions&);
std::unique_ptr<Peer> open_torch(const Setting&, const PeerOptions&);
std::unique_ptr<Peer> open_triton(const Setting&, const PeerOptions&);
std::unique_ptr<Peer> open_cudnn(const Setting&, const PeerOptions&);
std::unique_ptr<Peer> open_flash(const Setting&, const PeerOptions&);
std::unique_ptr<Peer> open_numpy(const Setting&, const PeerOptions&);
std::unique_ptr<Peer> open_memcpy(const Setting&, const PeerOptions&);

/// A copy that moves the bytes of a case: it reads half of them and writes the other half.
std::unique_ptr<Contender> copy_of(const Setting&, double bytes);

}  // namespace tilewright::cli::bench
