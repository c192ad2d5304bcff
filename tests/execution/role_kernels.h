// Kernels with roles, as text, and the programs that run them.
#pragma once
#include <string>

#include "tests/fuzz/program.h"

namespace tilewright::test {

/// The line of a layout: 256 elements over `warps` warps, 8 / warps neighbours in a thread.
std::string layout(int number, int warps);

/// In each program, n tiles go from x to y through two slots. `fill` and `use`: the code of the two roles for the slot %s.
std::string hand_over(const std::string& roles, int writers, int readers, int full, int empty, const std::string& fill,
                      const std::string& use);

inline const std::string kStores = "%v = load %px : i32[256] #0\n buffer_store %s, %v\n mbarrier_arrive %f\n";
inline const std::string kUse = "store %py, %v\n";
/// A maximum and a scan over all warps of the role: scratch, and barriers of the role.
inline const std::string kReduces = R"(
      %m = reduce %v {axis = 0, commutative} : i32 (%a: i32, %c: i32) {
        %t = maximum %a, %c : i32
        yield %t
      }
      %sc = scan %v {axis = 0} : i32[256] #1 (%a: i32, %c: i32) {
        %t = add %a, %c : i32
        yield %t
      }
      %mb = broadcast %m : i32[256] #1
      %r = add %sc, %mb : i32[256] #1
      store %py, %r
)";

/// Three instances of a role, each of so many warps: instance j sorts and sums tile j of x. The role behind them does so with tile 4.
std::string instances(int warps);

/// Tiles of 256 numbers in x; y is empty.
fuzz::Program program(const std::string& text, int tiles, int programs = 1);

}  // namespace tilewright::test
