// Finds kernels that repeat earlier ones with other tensors, such as the layers of a model. Reports show them only once.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "passes/fusion/sequence/kernel_sequence.h"

namespace tilewright::detail {

/// Kernels that reports show as one: a kernel unlike all before it, or `times` repetitions of earlier kernels.
struct KernelGroup {
  std::size_t first = 0;  // the first of its kernels
  std::size_t count = 1;  // kernels in each repetition
  std::size_t times = 1;
  std::vector<std::size_t> as;  // the earlier kernels; empty for a kernel unlike all before it

  bool repeats() const { return !as.empty(); }
  std::size_t end() const { return first + count * times; }
};

/// The groups of all kernels, in order.
std::vector<KernelGroup> group_kernels(const std::vector<passes::fusion::SequenceKernel>&);

/// The numbers of kernels, counted from 1: "kernel 7", "kernels 7 to 9", "kernels 2, 5 and 6".
std::string numbers_text(std::vector<std::size_t> kernels);
/// "22 times what kernels 1 to 6 do, with other tensors".
std::string repetition_text(const KernelGroup&);

}  // namespace tilewright::detail
