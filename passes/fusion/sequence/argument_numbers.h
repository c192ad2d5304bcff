// Numbers as arguments of the kernels that alike segments share (segments/alike_segments.h).
#pragma once
#include <cstddef>
#include <span>

#include "passes/fusion/sequence/kernel_sequence.h"

namespace tilewright::passes::fusion {

/// Whether kernels do the same work with numbers as arguments as with the numbers themselves: with at most kMostAddedByArguments more
/// operations on tiles at each depth of loops and, if there are loops, with equally many programs and threads. It is false where a rule has made
/// use of a number, for example where a product of several numbers was computed when the graph was compiled.
bool do_same_work(std::span<const SequenceKernel> with_numbers, std::span<const SequenceKernel> with_arguments);

/// Turns kernels that were derived for `changed`, which is the graph `g` with numbers as arguments, into kernels for `g`: sets these
/// arguments to the numbers.
void set_numbers(KernelSequence&, const graph::Graph& g, const graph::Graph& changed);

}  // namespace tilewright::passes::fusion
