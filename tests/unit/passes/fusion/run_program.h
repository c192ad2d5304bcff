// Runs a program of a graph by the interpreter of tile IR.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "passes/fusion/sequence/build_sequence.h"
#include "tileir/graph/interpreter.h"

namespace tilewright::passes::fusion::test {

/// Random inputs, and the given values of the symbols.
graph::Arguments random_arguments(const graph::Graph&, const std::map<std::string, std::int64_t>& symbols, std::uint64_t seed);

/// Arguments whose integers cover their whole range, including its ends.
graph::Arguments full_range_arguments(const graph::Graph&, const std::map<std::string, std::int64_t>& symbols, std::uint64_t seed);
/// The elements of each output.
std::map<std::string, std::vector<double>> outputs_of(const graph::Graph&, const KernelSequence&, const graph::Arguments&);

/// ||got - want|| / ||want|| over the elements that are finite in double precision; infinite if one of these is not finite, or if one that is not
/// is. Values that cancel to nothing are compared with 1e-3.
double relative_error(const std::vector<double>& got, const graph::Array& want);

/// The relative error of each output against the graph in double precision.
std::map<std::string, double> errors_of(const graph::Graph&, const KernelSequence&, const graph::Arguments&);

}  // namespace tilewright::passes::fusion::test
