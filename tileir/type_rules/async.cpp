// The type rules of roles, mbarriers and bulk copies.
#include <algorithm>

#include "tileir/type_rules/checks.h"

namespace tilewright::ir::rules {

namespace {

constexpr std::int64_t kMostArrivals = (1 << 20) - 1;  // PTX ISA, mbarrier.init
constexpr std::int64_t kMostBytes = (1 << 20) - 1;     // PTX ISA, tx-count of a phase

/// Checks that operand i is one mbarrier.
RuleResult check_mbarrier(const RuleInput& in, int i) {
  const Type t = in.operands[static_cast<std::size_t>(i)];
  if (!t.is_mbarrier()) return fail(in, i, "{}; expected an mbarrier", seen(in, i));
  if (t.slots() != 1) return fail(in, i, "{}; expected one mbarrier (mbarrier_slot)", seen(in, i));
  return {};
}

/// Checks the map and the buffer of a bulk copy or store, operands 0 and 1.
RuleResult check_part_of_tensor(const RuleInput& in) {
  const Type map = in.operands[0], buffer = in.operands[1];
  if (!map.is_tensor_map()) return fail(in, 0, "{}; expected a tensor map", seen(in, 0));
  if (!buffer.is_buffer()) return fail(in, 1, "{}; expected a buffer", seen(in, 1));
  if (buffer.slots() != 1) return fail(in, 1, "{}; expected a buffer of one slot (buffer_slot)", seen(in, 1));
  if (buffer.element() != map.element())
    return fail(in, 1, "{}; its elements must be those of 'map', {}", seen(in, 1), text(map.element()));
  const std::vector<std::int64_t> box = map.box();
  const std::size_t further = box.size() - std::min(box.size(), static_cast<std::size_t>(buffer.rank()));
  const auto counts = box.begin() + static_cast<std::ptrdiff_t>(further > 0 ? further - 1 : 0);
  const bool are_ones = std::all_of(box.begin(), counts, [](std::int64_t n) { return n == 1; });
  const bool are_slabs = further == 0 || *counts == 1 || *counts * box.back() == buffer.extent(buffer.rank() - 1);
  if (static_cast<int>(box.size()) < buffer.rank() || !are_ones || !are_slabs)
    return fail(in, 0, "{}; the axes that 'buffer', {}, does not have must come first and have extent 1, or the last one counts its slabs",
                seen(in, 0), text(buffer));
  return {};
}

/// Checks the coordinates, operands `first` and following ones.
RuleResult check_coordinates(const RuleInput& in, std::size_t first) {
  const std::size_t rank = in.operands[0].box().size();
  if (in.operands.size() != first + rank)
    return fail(in, -1, "{} coordinates for {}; it takes {}", in.operands.size() - first, text(in.operands[0]), rank);
  for (std::size_t i = first; i < in.operands.size(); ++i)
    if (in.operands[i] != Type(Element::i32)) return fail(in, static_cast<int>(i), "{}; it must be i32", seen(in, static_cast<int>(i)));
  return none();
}

/// PTX ISA 9.0, cp.reduce.async.bulk: the types of .add, .min and .max. Of floats, minimum and maximum have another rule for NaN.
bool has_reduction(Element e, Reduction r) {
  const bool is_integer = e == Element::i32 || e == Element::u32 || e == Element::u64;
  if (r == Reduction::add) return is_integer || e == Element::f16 || e == Element::bf16 || e == Element::f32;
  return is_integer || e == Element::i64;
}

}  // namespace

// The verifier checks the numbers of roles, since there is one for each region.
RuleResult rule_roles(const RuleInput&) { return none(); }
RuleResult rule_role_instance(const RuleInput&) { return one(Type(Element::i32)); }

RuleResult rule_alloc_mbarriers(const RuleInput& in) {
  RuleResult r = stated(in);
  if (!r.ok()) return r;
  if (!r.types[0].is_mbarrier()) return fail(in, -1, "the result is {}; it must be mbarriers", text(r.types[0]));
  const std::int64_t arrivals = in.number(AttrName::arrivals);
  if (arrivals < 1 || arrivals > kMostArrivals) return fail(in, -1, "arrivals is {}; it must be 1 to {}", arrivals, kMostArrivals);
  return r;
}

RuleResult rule_mbarrier_slot(const RuleInput& in) {
  if (!in.operands[0].is_mbarrier()) return fail(in, 0, "{}; expected mbarriers", seen(in, 0));
  if (in.operands[1] != Type(Element::i32)) return fail(in, 1, "{}; it must be i32", seen(in, 1));
  if (RuleResult r = check_divisor(in); !r.ok()) return r;
  return one(Type::mbarrier(1));
}

RuleResult rule_mbarrier_arrive(const RuleInput& in) {
  if (RuleResult r = check_mbarrier(in, 0); !r.ok()) return r;
  if (in.operands.size() > 1 && !is_scalar_bool(in.operands[1])) return fail(in, 1, "{}; it must be a scalar i1", seen(in, 1));
  return none();
}

RuleResult rule_copy_arrive(const RuleInput& in) {
  const RuleResult wrong = check_mbarrier(in, 0);
  return wrong.ok() ? none() : wrong;
}

RuleResult rule_make_tensor_map(const RuleInput& in) {
  RuleResult r = stated(in);
  if (!r.ok()) return r;
  if (!r.types[0].is_tensor_map()) return fail(in, -1, "the result is {}; it must be a tensor map", text(r.types[0]));
  const Type pointer = in.operands[0], map = r.types[0];
  if (!pointer.is_scalar() || !pointer.is_pointer() || pointer.element() != map.element())
    return fail(in, 0, "{}; it must be a pointer to {}", seen(in, 0), text(map.element()));
  const std::size_t rank = map.box().size();
  if (in.operands.size() < 2 * rank)
    return fail(in, -1, "{} numbers for a box of {} axes; it takes {} extents and {} distances", in.operands.size() - 1, rank, rank,
                rank - 1);
  for (std::size_t i = 1; i < in.operands.size(); ++i)
    if (in.operands[i] != Type(Element::i32) && in.operands[i] != Type(Element::i64))
      return fail(in, static_cast<int>(i), "{}; it must be i32 or i64", seen(in, static_cast<int>(i)));
  const std::int64_t swizzle = in.number(AttrName::swizzle), row = map.box().back() * map.element_bytes();
  if (swizzle != 32 && swizzle != 64 && swizzle != 128) return fail(in, -1, "swizzle is {}; it must be 32, 64 or 128", swizzle);
  if (row != swizzle) return fail(in, -1, "a row of the box has {} bytes; it must have {}, as the swizzle", row, swizzle);
  return r;
}

RuleResult rule_mbarrier_expect(const RuleInput& in) {
  if (RuleResult r = check_mbarrier(in, 0); !r.ok()) return r;
  if (in.operands.size() > 1 && !is_scalar_bool(in.operands[1])) return fail(in, 1, "{}; it must be a scalar i1", seen(in, 1));
  const std::int64_t bytes = in.number(AttrName::bytes);
  if (bytes < 1 || bytes > kMostBytes) return fail(in, -1, "bytes is {}; it must be 1 to {}", bytes, kMostBytes);
  return none();
}

RuleResult rule_bulk_copy(const RuleInput& in) {
  if (RuleResult r = check_part_of_tensor(in); !r.ok()) return r;
  if (RuleResult r = check_mbarrier(in, 2); !r.ok()) return r;
  if (!is_scalar_bool(in.operands[3])) return fail(in, 3, "{}; it must be a scalar i1", seen(in, 3));
  return check_coordinates(in, 4);
}

RuleResult rule_bulk_store(const RuleInput& in) {
  if (RuleResult r = check_part_of_tensor(in); !r.ok()) return r;
  const Element e = in.operands[0].element();
  const auto reduction = static_cast<Reduction>(in.number(AttrName::reduction));
  if (reduction != Reduction::none && !has_reduction(e, reduction))
    return fail(in, 0, "{}; bulk stores have no reduction {} of {}", seen(in, 0),
                symbols(AttrName::reduction)[in.number(AttrName::reduction)], text(e));
  return check_coordinates(in, 2);
}

RuleResult rule_mbarrier_wait(const RuleInput& in) {
  if (RuleResult r = check_mbarrier(in, 0); !r.ok()) return r;
  if (in.operands[1] != Type(Element::i32)) return fail(in, 1, "{}; it must be i32", seen(in, 1));
  return none();
}

}  // namespace tilewright::ir::rules
