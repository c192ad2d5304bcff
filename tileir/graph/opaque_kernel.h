// A kernel as a node of a graph: a traced kernel of the user with its launch, or one that the library adds. Its results share it.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tileir/graph/graph.h"
#include "tileir/ir.h"

namespace tilewright::graph {

class OpaqueKernel {
 public:
  /// What a launch passes for one parameter of the function.
  struct Argument {
    enum class Kind : std::uint8_t {
      operand,  // the memory of the node's operand `index`: row-major
      result,   // the memory of result `index`: row-major
      extent,   // the value of an extent
      number,   // bits
      scalar,   // a value that a run passes by name
    } kind{};
    std::size_t index = 0;
    Dim extent;
    std::uint64_t bits = 0;
    std::string name;
  };
  struct Result {
    ir::Element element{};
    TensorShape shape;
  };

  std::string name;
  ir::Function function;
  std::vector<Argument> arguments;
  std::vector<Result> results;
  std::array<Dim, 3> grid{1, 1, 1};
  std::int64_t lanes = 1;  // how many elements along the grid's first axis one program handles
  int num_warps = 4, num_stages = 0;
  bool contract = true, check = false;
  std::string reason;  // why the library has added it; empty: the user calls it
};

}  // namespace tilewright::graph
