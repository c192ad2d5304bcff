// Checks the rules of roles in order; later rules rely on attributes that the first rule has checked.
#include "tileir/role_rules.h"

#include <bit>

#include <fmt/format.h>

#include "tileir/op_kind.h"
#include "tileir/roles.h"

namespace tilewright::ir {

namespace {

constexpr int kRegisterFile = 65536;                                                   // registers of a multiprocessor
constexpr std::int64_t kLeastRegisters = 24, kMostRegisters = 256, kRegisterStep = 8;  // PTX ISA, setmaxnreg

class RoleChecker {
 public:
  explicit RoleChecker(const Function& f) : f_(f) {}

  std::vector<std::pair<OpId, std::string>> run() {
    f_.walk([&](OpId id) {
      if (f_.kind(id) == OpKind::roles_)
        check_place(id);
      else
        check_member(id);
    });
    const OpId op = roles_op(f_);
    if (!op || !problems_.empty() || !check_numbers(op)) return std::move(problems_);
    const std::vector<Role> all = roles(f_, op);
    check_resources(op, all);
    for (OpId id : f_.ops(f_.body()))
      if (id != op) check_body(id);
    for (const Role& r : all) f_.walk(r.region, [&](OpId id) { check_tiles(id, r); });
    return std::move(problems_);
  }

 private:
  template <class... Args>
  void report(OpId id, fmt::format_string<Args...> format, Args&&... args) {
    problems_.emplace_back(id, fmt::format(format, std::forward<Args>(args)...));
  }
  bool is_tile(ValueId v) const { return !f_.type(v).is_scalar() && !f_.type(v).is_buffer(); }

  void check_place(OpId id) {
    if (f_.op(id).parent != f_.body() || f_.op(id).next) report(id, "it must be the last op of the body");
  }

  void check_member(OpId id) {
    const OpKind k = f_.kind(id);
    if (k == OpKind::alloc_mbarriers_ && f_.op(id).parent != f_.body()) report(id, "it must be in the body, outside of regions");
    if ((k == OpKind::role_instance_ || k == OpKind::mbarrier_arrive_ || k == OpKind::copy_arrive_) && !role_region(f_, id))
      report(id, "it must be in a region of 'roles'");
  }

  bool check_numbers(OpId id) {
    const std::size_t regions = f_.op(id).regions.size(), before = problems_.size();
    for (const AttrName name : {AttrName::warps, AttrName::registers, AttrName::instances}) {
      const auto& list = f_.attr_list(id, name);
      if (list.size() != regions && (name == AttrName::warps || !list.empty()))
        report(id, "{} has {} numbers; there are {} roles", text(name), list.size(), regions);
    }
    for (const std::int64_t n : f_.attr_list(id, AttrName::warps))
      if (n < 1 || n > kMostProgramWarps || !std::has_single_bit(static_cast<std::uint64_t>(n)))
        report(id, "a role of {} warps; it must be a power of two, at most {}", n, kMostProgramWarps);
    for (const std::int64_t n : f_.attr_list(id, AttrName::instances))
      if (n < 1 || n > kMostNamedBarriers) report(id, "{} instances; it must be 1 to {}", n, kMostNamedBarriers);
    for (const std::int64_t n : f_.attr_list(id, AttrName::registers))
      if (n < kLeastRegisters || n > kMostRegisters || n % kRegisterStep != 0)
        report(id, "{} registers; it must be a multiple of {} from {} to {}", n, kRegisterStep, kLeastRegisters, kMostRegisters);
    return problems_.size() == before;
  }

  void check_resources(OpId id, const std::vector<Role>& all) {
    int warps = 0, barriers = 0, registers = 0;
    for (const Role& r : all) {
      warps += r.program_warps();
      barriers += r.instances;
      registers += r.program_warps() * 32 * r.registers;
    }
    if (warps > kMostProgramWarps) report(id, "the roles have {} warps together; a program has at most {}", warps, kMostProgramWarps);
    if (barriers > kMostNamedBarriers)
      report(id, "{} instances of roles; each takes one of {} named barriers", barriers, kMostNamedBarriers);
    if (registers > kRegisterFile) report(id, "the roles have {} registers together; a multiprocessor has {}", registers, kRegisterFile);
  }

  void check_body(OpId id) {
    for (const auto* values : {&f_.op(id).operands, &f_.op(id).results})
      for (ValueId v : *values)
        if (is_tile(v))
          return report(id, "{} in the body of a function with roles, which has scalars, buffers and mbarriers", text(f_.type(v)));
    for (BlockId b : f_.op(id).regions)
      for (OpId inner : f_.ops(b)) check_body(inner);
  }

  void check_tiles(OpId id, const Role& role) {
    for (ValueId v : f_.op(id).results)
      if (is_tile(v) && f_.layout_id(v) && static_cast<int>(f_.layout(v).size(HardwareDim::warp)) != role.warps)
        return report(id, "a tile over {} warps in a role of {}", f_.layout(v).size(HardwareDim::warp), role.warps);
  }

  const Function& f_;
  std::vector<std::pair<OpId, std::string>> problems_;
};

}  // namespace

std::vector<std::pair<OpId, std::string>> role_problems(const Function& f) { return RoleChecker(f).run(); }

}  // namespace tilewright::ir
