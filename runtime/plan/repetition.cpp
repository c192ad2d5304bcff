// Compares kernels with the kernels that they are like.
#include "runtime/plan/repetition.h"

#include <fmt/format.h>

namespace tilewright::detail {

using passes::fusion::SequenceKernel;

namespace {

/// The longest repetition from kernel `i` on and before `end`: its length, and how often it occurs.
KernelGroup repeated(const std::vector<SequenceKernel>& kernels, std::size_t i, std::size_t end) {
  KernelGroup group{i, end - i, 1, {}};
  for (std::size_t k = i + 1; k < end; ++k)
    if (kernels[k].like == kernels[i].like) {
      group.count = k - i;
      break;
    }
  std::size_t same = i + group.count;
  while (same < end && kernels[same].like == kernels[same - group.count].like) ++same;
  group.times = (same - i) / group.count;
  for (std::size_t k = 0; k < group.count; ++k) group.as.push_back(static_cast<std::size_t>(kernels[i + k].like));
  return group;
}

}  // namespace

std::vector<KernelGroup> group_kernels(const std::vector<SequenceKernel>& kernels) {
  std::vector<KernelGroup> groups;
  for (std::size_t i = 0; i < kernels.size(); i = groups.back().end()) {
    std::size_t end = i;
    while (end < kernels.size() && kernels[end].like >= 0) ++end;
    groups.push_back(end == i ? KernelGroup{i, 1, 1, {}} : repeated(kernels, i, end));
  }
  return groups;
}

std::string numbers_text(std::vector<std::size_t> kernels) {
  if (kernels.size() == 1) return fmt::format("kernel {}", kernels[0] + 1);
  std::string text = "kernels ";
  for (std::size_t i = 0; i < kernels.size();) {
    std::size_t last = i;
    while (last + 1 < kernels.size() && kernels[last + 1] == kernels[last] + 1) ++last;
    if (i > 0) text += last + 1 == kernels.size() ? " and " : ", ";
    text += last == i ? fmt::format("{}", kernels[i] + 1) : fmt::format("{} to {}", kernels[i] + 1, kernels[last] + 1);
    i = last + 1;
  }
  return text;
}

std::string repetition_text(const KernelGroup& g) {
  const std::string what = numbers_text(g.as) + (g.as.size() == 1 ? " does" : " do");
  return fmt::format("{}what {}, with other tensors", g.times == 1 ? "" : fmt::format("{} times ", g.times), what);
}

}  // namespace tilewright::detail
