// The type rules of ops on shared memory, of slices and of matrix instructions.
#include <algorithm>
#include <bit>

#include "tileir/target/mma_layouts.h"
#include "tileir/type_rules/checks.h"

namespace tilewright::ir::rules {

namespace {

constexpr std::int64_t kMostWarps = 32;                               // of a program
constexpr std::int64_t kLeastAlignment = 128, kMostAlignment = 1024;  // of a buffer

/// Checks that operand i is a buffer of one slot.
RuleResult check_slot(const RuleInput& in, int i) {
  const Type t = in.operands[i];
  if (!t.is_buffer()) return fail(in, i, "{}; expected a buffer", seen(in, i));
  if (t.slots() != 1) return fail(in, i, "{}; expected a buffer of one slot (buffer_slot)", seen(in, i));
  return {};
}

/// Checks that the result is a part of operand 0; `offsets` gives its first element, and without `offsets` the part is at the start.
RuleResult check_slice(const RuleInput& in, Type part) {
  const Type x = in.operands[0];
  if (part.element() != x.element() || !is_plain(part) || part.rank() != x.rank())
    return fail(in, 0, "{}; {} is not part of it", seen(in, 0), text(part));
  const std::span<const std::int64_t> offsets = in.list(AttrName::offsets);
  if (!offsets.empty() && static_cast<int>(offsets.size()) != x.rank())
    return fail(in, 0, "{} offsets; there must be one for each of the {} axes", offsets.size(), x.rank());
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t at = offsets.empty() ? 0 : offsets[static_cast<std::size_t>(axis)], extent = part.extent(axis);
    if (at < 0 || extent > x.extent(axis) || at > x.extent(axis) - extent || at % extent != 0)
      return fail(in, 0, "{}; a part of extent {} cannot start at {} of axis {}: it must be a multiple of the extent, within",
                  seen_shape(in, 0), extent, at, axis);
  }
  return {};
}

}  // namespace

RuleResult rule_alloc_buffer(const RuleInput& in) {
  RuleResult r = stated(in);
  if (!r.ok()) return r;
  if (!r.types[0].is_buffer()) return fail(in, -1, "the result is {}; it must be a buffer", text(r.types[0]));
  const std::int64_t alignment = in.number(AttrName::alignment, kLeastAlignment);
  if (alignment < kLeastAlignment || alignment > kMostAlignment || !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
    return fail(in, -1, "alignment is {}; it must be a power of two from {} to {}", alignment, kLeastAlignment, kMostAlignment);
  if (const std::int64_t spare = in.number(AttrName::spare); spare < 0 || spare >= r.types[0].slots())
    return fail(in, -1, "spare is {}; it must be 0 to {}, less than the number of slots", spare, r.types[0].slots() - 1);
  return r;
}

RuleResult rule_buffer_slot(const RuleInput& in) {
  const Type t = in.operands[0];
  if (!t.is_buffer()) return fail(in, 0, "{}; expected a buffer", seen(in, 0));
  if (in.operands[1] != Type(Element::i32)) return fail(in, 1, "{}; it must be i32", seen(in, 1));
  if (RuleResult r = check_divisor(in); !r.ok()) return r;
  return one(Type::buffer(t.element(), 1, t.shape()));
}

RuleResult rule_buffer_permute(const RuleInput& in) {
  const RuleResult wrong = check_slot(in, 0);
  return wrong.ok() ? rule_permute(in) : wrong;
}

RuleResult rule_buffer_store(const RuleInput& in) {
  if (RuleResult r = check_slot(in, 0); !r.ok()) return r;
  const Type expected(in.operands[0].element(), in.operands[0].shape());
  if (in.operands[1] != expected) return fail(in, 1, "{}; it must be {}", seen(in, 1), text(expected));
  return none();
}

RuleResult rule_buffer_load(const RuleInput& in) {
  if (RuleResult r = check_slot(in, 0); !r.ok()) return r;
  RuleResult r = stated(in);
  if (!r.ok()) return r;
  const RuleResult wrong = check_slice(in, r.types[0]);
  return wrong.ok() ? r : wrong;
}

RuleResult rule_copy_async(const RuleInput& in) {
  const Type pointer = in.operands[0], buffer = in.operands[1];
  if (!pointer.is_pointer()) return fail(in, 0, "{}; expected pointers", seen(in, 0));
  if (RuleResult r = check_slot(in, 1); !r.ok()) return r;
  if (buffer.element() != pointer.element() || !buffer.same_extents(pointer))
    return fail(in, 1, "{}; it must hold what 'pointer' points to, which is {}", seen(in, 1), text(pointer));
  if (!is_scalar_bool(in.operands[2])) return fail(in, 2, "{}; it must be a scalar i1", seen(in, 2));
  if (RuleResult r = check_mask(in, 3, pointer); !r.ok()) return r;
  return none();
}

namespace {

RuleResult check_pending(const RuleInput& in) {
  if (in.number(AttrName::pending) < 0) return fail(in, -1, "pending is {}; it must not be negative", in.number(AttrName::pending));
  return none();
}

}  // namespace

RuleResult rule_async_wait(const RuleInput& in) { return check_pending(in); }

namespace {

/// Checks that `order` is a permutation of the lowest bits of an axis of this extent.
RuleResult check_order(const RuleInput& in, AttrName name, std::int64_t extent) {
  const std::span<const std::int64_t> order = in.list(name);
  std::vector<std::int64_t> sorted(order.begin(), order.end());
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<std::int64_t>(i))
      return fail(in, -1, "{} is [{}]; it must be a permutation of 0 to {}", text(name), fmt::join(order, ", "), order.size() - 1);
  if (!order.empty() && extent >> order.size() == 0)
    return fail(in, -1, "{} has {} bits; the axis has {} elements", text(name), order.size(), extent);
  return {};
}

const MatrixInstruction& instruction_of(const RuleInput& in) {
  return matrix_instructions()[static_cast<std::size_t>(in.number(AttrName::instruction))];
}

/// Checks that `warps` gives the number of warps along each axis of the accumulator.
RuleResult check_warps(const RuleInput& in, Type acc) {
  const std::span<const std::int64_t> warps = in.list(AttrName::warps);
  const auto is_count = [](std::int64_t n) { return n >= 1 && n <= kMostWarps && std::has_single_bit(static_cast<std::uint64_t>(n)); };
  if (static_cast<int>(warps.size()) == acc.rank() && std::ranges::all_of(warps, is_count)) return {};
  return fail(in, -1, "warps is [{}]; it must be {} powers of two, one for each axis of 'acc'", fmt::join(warps, ", "), acc.rank());
}

/// Checks that groups of warps can execute an asynchronous instruction: each group has whole rows of instructions.
RuleResult check_groups(const RuleInput& in, Type a, Type acc) {
  const MatrixInstruction& instruction = instruction_of(in);
  if (acc.rank() != 2) return fail(in, 2, "{}; {} multiplies one pair of matrices", seen_shape(in, 2), instruction.name);
  const std::span<const std::int64_t> warps = in.list(AttrName::warps);
  const std::int64_t m = 1 << instruction.log2_m, k = 1 << instruction.log2_k, group = 1 << instruction.log2_warps;
  const std::int64_t columns = acc.extent(1) / warps[1];
  if (warps[0] % group != 0 || acc.extent(0) / (warps[0] / group) < m)
    return fail(in, -1, "warps is [{}]; {} takes groups of {} warps, of which each has {} rows or more of 'acc'", fmt::join(warps, ", "),
                instruction.name, group, m);
  if (!instruction.n.has(static_cast<int>(std::min<std::int64_t>(columns, instruction.n.most))))
    return fail(in, -1, "warps is [{}]; each warp has {} columns of 'acc', and {} takes {} to {}", fmt::join(warps, ", "), columns,
                instruction.name, instruction.n.least, instruction.n.most);
  if (a.extent(1) < k) return fail(in, 0, "{}; {} multiplies {} elements of K", seen_shape(in, 0), instruction.name, k);
  return {};
}

}  // namespace

RuleResult rule_mma(const RuleInput& in) {
  RuleResult r = rule_dot(in);
  if (!r.ok()) return r;
  const MatrixInstruction& instruction = instruction_of(in);
  const Type a = in.operands[0], acc = in.operands[2];
  const auto precision = static_cast<Precision>(in.number(AttrName::precision));
  if (precision != Precision::standard && (precision == Precision::ieee || a.element() != Element::f32))
    return fail(in, 0, "precision must be standard or, for f32 factors, tf32, tf32x3 or bf16x3");
  const Element multiplied = precision == Precision::bf16x3 ? Element::bf16 : a.element();
  if (instruction.factors != multiplied || instruction.sums != acc.element())
    return fail(in, 0, "{}; {} multiplies {} to {}", seen(in, 0), instruction.name, text(instruction.factors), text(instruction.sums));
  if (RuleResult wrong = check_warps(in, acc); !wrong.ok()) return wrong;
  const bool is_async = instruction.issue == MatrixInstruction::Issue::asynchronous;
  if (in.number(AttrName::from_registers) != 0 && instruction.a != MatrixInstruction::Storage::either)
    return fail(in, -1, "from_registers: {} always reads 'a' from registers", instruction.name);
  if (is_async) {
    if (in.number(AttrName::swapped) != 0) return fail(in, -1, "swapped: {} does not multiply transposed tiles", instruction.name);
    for (const AttrName name : {AttrName::row_order, AttrName::column_order, AttrName::k_order})
      if (!in.list(name).empty()) return fail(in, -1, "{}: {} takes the order of shared memory", text(name), instruction.name);
    RuleResult wrong = check_groups(in, a, acc);
    return wrong.ok() ? r : wrong;
  }
  const int rows = acc.rank() - 2, columns = acc.rank() - 1;
  for (const auto& [name, extent] :
       {std::pair(AttrName::row_order, acc.extent(rows)), std::pair(AttrName::column_order, acc.extent(columns)),
        std::pair(AttrName::k_order, a.extent(columns))})
    if (RuleResult wrong = check_order(in, name, extent); !wrong.ok()) return wrong;
  return r;
}

RuleResult rule_mma_async(const RuleInput& in) {
  const MatrixInstruction& instruction = instruction_of(in);
  if (instruction.issue != MatrixInstruction::Issue::asynchronous) return fail(in, -1, "{} is not asynchronous", instruction.name);
  for (int i : {0, 1})
    if (i == 1 || in.operands[0].is_buffer())
      if (RuleResult wrong = check_slot(in, i); !wrong.ok()) return wrong;
  // The types as those of a dot of tiles.
  std::vector<Type> tiles;
  for (const Type& t : in.operands) tiles.push_back(t.is_buffer() ? Type(t.element(), t.shape()) : t);
  RuleInput as_dot = in;
  as_dot.operands = tiles;
  RuleResult r = rule_dot(as_dot);
  if (!r.ok()) return r;
  const Type a = tiles[0], acc = tiles[2];
  if (instruction.factors != a.element() || instruction.sums != acc.element())
    return fail(in, 0, "{}; {} multiplies {} to {}", seen(in, 0), instruction.name, text(instruction.factors), text(instruction.sums));
  if (RuleResult wrong = check_warps(in, acc); !wrong.ok()) return wrong;
  RuleResult wrong = check_groups(in, a, acc);
  return wrong.ok() ? r : wrong;
}

RuleResult rule_mma_wait(const RuleInput& in) {
  if (RuleResult wrong = check_pending(in); !wrong.ok()) return wrong;
  for (std::size_t i = 0; i < in.operands.size(); ++i)
    if (const Type t = in.operands[i]; t.is_scalar() || !is_plain(t))
      return fail(in, static_cast<int>(i), "{}; expected a tile", seen(in, static_cast<int>(i)));
  return {{in.operands.begin(), in.operands.end()}, {}, -1};
}

RuleResult rule_extract_slice(const RuleInput& in) {
  RuleResult r = stated(in);
  if (!r.ok()) return r;
  const RuleResult wrong = check_slice(in, r.types[0]);
  return wrong.ok() ? r : wrong;
}

}  // namespace tilewright::ir::rules
