// Reads the attributes of `roles`.
#include "tileir/roles.h"

#include "tileir/op_kind.h"

namespace tilewright::ir {

int Role::program_warps() const {
  const int all = warps * instances;
  return registers == 0 ? all : (all + kWarpsOfGroup - 1) / kWarpsOfGroup * kWarpsOfGroup;
}

OpId roles_op(const Function& f) {
  const OpId last = f.block(f.body()).last;
  return last && f.kind(last) == OpKind::roles_ ? last : OpId{};
}

std::vector<Role> roles(const Function& f, OpId id) {
  const auto &warps = f.attr_list(id, AttrName::warps), &registers = f.attr_list(id, AttrName::registers),
             &instances = f.attr_list(id, AttrName::instances);
  std::vector<Role> all;
  int warp = 0, barrier = 1;
  for (std::size_t i = 0; i < f.op(id).regions.size(); ++i) {
    Role r;
    r.region = f.op(id).regions[i];
    r.warps = static_cast<int>(warps[i]);
    if (!registers.empty()) r.registers = static_cast<int>(registers[i]);
    if (!instances.empty()) r.instances = static_cast<int>(instances[i]);
    r.first_warp = warp;
    r.barrier = barrier;
    warp += r.program_warps();
    barrier += r.instances;
    all.push_back(r);
  }
  return all;
}

BlockId role_region(const Function& f, OpId id) {
  for (BlockId b = f.op(id).parent; b.valid();) {
    const OpId owner = f.block(b).parent;
    if (!owner) return {};
    if (f.kind(owner) == OpKind::roles_) return b;
    b = f.op(owner).parent;
  }
  return {};
}

int warps_of(const Function& f, OpId id, int num_warps) {
  const OpId op = roles_op(f);
  if (!op) return num_warps;
  if (const BlockId region = role_region(f, id))
    for (const Role& r : roles(f, op))
      if (r.region == region) return r.warps;
  return program_warps(f, num_warps);
}

int program_warps(const Function& f, int num_warps) {
  const OpId op = roles_op(f);
  if (!op) return num_warps;
  const Role last = roles(f, op).back();
  return last.first_warp + last.program_warps();
}

}  // namespace tilewright::ir
