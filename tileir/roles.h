// Roles: which warps of a program execute an op. The one place that knows; passes and lowerings ask it.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/ir.h"

namespace tilewright::ir {

inline constexpr int kMostProgramWarps = 32;   // 1024 threads
inline constexpr int kWarpsOfGroup = 4;        // that share a setmaxnreg
inline constexpr int kMostNamedBarriers = 15;  // beside barrier 0, which is that of the whole program

/// One region of `roles`.
struct Role {
  BlockId region;
  int warps = 1;  // of an instance
  int instances = 1;
  int registers = 0;   // of a thread; 0: not said
  int first_warp = 0;  // of its first instance; the others follow
  int barrier = 1;     // the named barrier of its first instance; the others follow
  /// Warps that the role has of the program: those of all instances and, if it says registers, those that end at once.
  int program_warps() const;
};

/// The op `roles` of a function, or none.
OpId roles_op(const Function&);
/// The roles of the op. Requires: its attributes are valid.
std::vector<Role> roles(const Function&, OpId roles_op);
/// The region of `roles` that an op is in, or none: the whole program executes the op.
BlockId role_region(const Function&, OpId);

/// The warps that execute an op: those of an instance of its role or, outside of roles, `num_warps`, those of the program.
int warps_of(const Function&, OpId, int num_warps);
/// The warps of a program: `num_warps`, or what the roles need together.
int program_warps(const Function&, int num_warps);

}  // namespace tilewright::ir
