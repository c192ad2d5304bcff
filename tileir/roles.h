// Roles: which warps of a program execute an op. Passes and lowerings ask only here.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/ir.h"

namespace tilewright::ir {

inline constexpr int kMostProgramWarps = 32;   // 1024 threads
inline constexpr int kWarpsOfGroup = 4;        // warps that share a setmaxnreg
inline constexpr int kMostNamedBarriers = 15;  // in addition to barrier 0, which the whole program uses

/// One region of `roles`.
struct Role {
  BlockId region;
  int warps = 1;  // of one instance
  int instances = 1;
  int registers = 0;   // of a thread; 0: not specified
  int first_warp = 0;  // first warp of its first instance; the other instances follow
  int barrier = 1;     // the named barrier of its first instance; the others follow
  /// The warps that the role takes from the program: those of all instances and, if it specifies registers, padding warps that end at once.
  int program_warps() const;
};

/// The op `roles` of a function, or none.
OpId roles_op(const Function&);
/// The roles of the op. Requires: its attributes are valid.
std::vector<Role> roles(const Function&, OpId roles_op);
/// The region of `roles` that an op is in, or none: the whole program executes the op.
BlockId role_region(const Function&, OpId);

/// The number of warps that execute an op: those of an instance of its role, or outside of roles the program's `num_warps`.
int warps_of(const Function&, OpId, int num_warps);
/// The number of warps of a program: `num_warps`, or the sum over the roles.
int program_warps(const Function&, int num_warps);

}  // namespace tilewright::ir
