// Placement of tensors by liveness.
#include "runtime/plan/workspace.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace tilewright::detail;

namespace {

/// No two tensors that are live at one kernel overlap, each is aligned, and the size covers all.
void check_layout(const std::vector<LiveTensor>& tensors, const WorkspaceLayout& layout) {
  REQUIRE(layout.offsets.size() == tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    CHECK(layout.offsets[i] % kWorkspaceAlignment == 0);
    CHECK(layout.offsets[i] + tensors[i].bytes <= layout.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const bool are_live_together = tensors[i].first <= tensors[j].last && tensors[j].first <= tensors[i].last;
      const bool overlap =
          layout.offsets[i] < layout.offsets[j] + tensors[j].bytes && layout.offsets[j] < layout.offsets[i] + tensors[i].bytes;
      CHECK_FALSE((are_live_together && overlap));
    }
  }
}

std::uint64_t most_live(const std::vector<LiveTensor>& tensors) {
  std::uint64_t most = 0;
  for (const LiveTensor& t : tensors) {
    std::uint64_t live = 0;
    for (const LiveTensor& o : tensors)
      if (o.first <= t.first && t.first <= o.last) live += (o.bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace

TEST_CASE("workspace: nothing takes nothing") { CHECK(place_tensors({}).bytes == 0); }

TEST_CASE("workspace: a tensor takes the place of one that is dead, and not of one that is read by its writer") {
  // Kernel 0 writes a, 1 reads a and writes b, 2 reads b and writes c.
  const std::vector<LiveTensor> chain{{1000, 0, 1}, {1000, 1, 2}, {900, 2, 3}};
  const WorkspaceLayout layout = place_tensors(chain);
  check_layout(chain, layout);
  CHECK(layout.bytes == 2048);
  CHECK(layout.offsets[0] == layout.offsets[2]);
  CHECK(layout.offsets[0] != layout.offsets[1]);
}

TEST_CASE("workspace: first fit uses a gap that is large enough") {
  const std::vector<LiveTensor> tensors{{4096, 0, 1}, {2048, 0, 3}, {1024, 2, 3}};
  const WorkspaceLayout layout = place_tensors(tensors);
  check_layout(tensors, layout);
  CHECK(layout.bytes == 4096 + 2048);
  CHECK(layout.offsets[2] == 0);
}

TEST_CASE("workspace: random lives never overlap, and seldom waste") {
  std::mt19937 random(1);
  const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 200; ++round) {
    std::vector<LiveTensor> tensors;
    for (int i = upto(30); i >= 0; --i) {
      const int first = upto(12);
      tensors.push_back({static_cast<std::uint64_t>(upto(10000)), first, first + upto(6)});
    }
    const WorkspaceLayout layout = place_tensors(tensors);
    check_layout(tensors, layout);
    CHECK(layout.bytes >= most_live(tensors));
    CHECK(layout.bytes <= 2 * most_live(tensors));
  }
}
