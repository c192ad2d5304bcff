// wmma.load, wmma.store and wmma.mma. The device may choose which lane holds which element of a fragment: here element e of a matrix in
// row-major order is element e / 32 of lane e % 32. A lane that holds more elements than its share repeats them.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "runtime/emulator/matrix/elements.h"
#include "runtime/emulator/matrix/shape.h"
#include "runtime/emulator/memory/access.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

/// A matrix of an instruction, and how lanes hold it.
struct Fragment {
  u8 rows, columns;
  Type type;
  u8 registers, register_bytes;

  int elements() const { return rows * columns; }
  int bytes() const { return operand_bits(type) / 8; }
  int per_register() const { return register_bytes / bytes(); }
  int elements_of_lane() const { return registers * per_register(); }
};

// PTX ISA, "Matrix Fragments for WMMA". Operands of f16 take 8 registers, whatever the shape is.
Fragment fragment_of(Decoder& d, char which, const MatrixShape& s, Type type) {
  const bool is_wide = (s.m == 16 && s.n == 16) || (s.m == 32 && s.n == 8) || (s.m == 8 && s.n == 32);
  const bool is_sum = which == 'c' || which == 'd';
  bool known = false;
  switch (type) {
    case Type::f16: known = is_wide && s.k == 16; break;
    case Type::bf16:
    case Type::s8:
    case Type::u8: known = is_wide && s.k == 16 && !is_sum; break;
    case Type::tf32: known = s.m == 16 && s.n == 16 && s.k == 8 && !is_sum; break;
    case Type::f32: known = (is_wide && s.k == 16 && is_sum) || (s.m == 16 && s.n == 16 && s.k == 8 && is_sum); break;
    case Type::s32: known = is_wide && s.k == 16 && is_sum; break;
    case Type::f64: known = s.m == 8 && s.n == 8 && s.k == 4; break;
    default: break;
  }
  if (!known) d.fail("no fragment of this shape and type");
  Fragment f{static_cast<u8>(which == 'b' ? s.k : s.m), static_cast<u8>(which == 'a' ? s.k : s.n), type, 8,
             type == Type::f64 ? u8{8} : u8{4}};
  if (type != Type::f16 || is_sum) f.registers = static_cast<u8>(f.elements() * f.bytes() / kLanes / f.register_bytes);
  return f;
}

struct AccessOptions {
  Fragment fragment;
  bool by_columns = false;  // elements of a column are consecutive in memory
};
struct ProductOptions {
  Fragment d, a, b, c;
  bool saturates = false;
};

/// The address, in the register file, of element `index` of a lane.
std::byte* element_address(const Warp& warp, const s32* slots, const Fragment& f, int index, int lane) {
  return warp.registers + slots[index / f.per_register()] + lane * f.register_bytes + index % f.per_register() * f.bytes();
}

/// The memory addresses of the elements `index` of all lanes.
Lanes<u64> memory_addresses(const Fragment& f, bool by_columns, int index, u64 base, u64 stride) {
  Lanes<u64> address;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int e = (index * kLanes + lane) % f.elements(), row = e / f.columns, column = e % f.columns;
    const u64 element =
        by_columns ? static_cast<u64>(column) * stride + static_cast<u64>(row) : static_cast<u64>(row) * stride + static_cast<u64>(column);
    address[lane] = base + element * static_cast<u64>(f.bytes());
  }
  return address;
}

/// Address and stride must be the same in all lanes; differences are reported.
template <class T>
T uniform(Warp& warp, const Instruction& i, Mask mask, const Lanes<T>& values, const char* what) {
  const int first = __builtin_ctz(mask);
  for (int lane = first; lane < kLanes; ++lane)
    if (has_lane(mask, lane) && values[lane] != values[first])
      report(warp, i, DiagnosticKind::bad_operand, lane,
             [&] { return fmt::format("the {} is {}, and {} in lane {}", what, values[lane], values[first], first); });
  return values[first];
}

template <class F>
void each_lane_element(Warp& warp, const Instruction& i, Mask mask, int request, F f) {
  const auto& [fragment, by_columns] = i.options<AccessOptions>();
  const u64 base = uniform(warp, i, mask, addresses_of(warp, i, i.slot[0], i.immediate), "address");
  u64 stride = by_columns ? fragment.rows : fragment.columns;
  if (i.slot[1] >= 0) stride = uniform(warp, i, mask, read<u32>(warp, i.slot[1]), "stride");
  for (int index = 0; index < request; ++index)
    locate(warp, i, mask, memory_addresses(fragment, by_columns, index, base, stride), i.space, fragment.bytes(),
           [&](const Request& at) { f(index, at); });
}

void load(Warp& warp, const Instruction& i, Mask mask) {
  const s32* slots = warp.kernel->extra.data() + i.first;
  const Accessor by = accessor_of(warp, i);
  const Fragment& f = i.options<AccessOptions>().fragment;
  each_lane_element(warp, i, mask, f.elements_of_lane(), [&](int index, const Request& at) {
    check_written(warp, i, at, f.bytes(), Access::read);
    for (const int lane : lanes_of(at.mask)) {
      check_read(by, at, lane, f.bytes());
      std::memcpy(element_address(warp, slots, f, index, lane), at.at[lane], static_cast<std::size_t>(f.bytes()));
    }
  });
}

void store(Warp& warp, const Instruction& i, Mask mask) {
  const s32* slots = warp.kernel->extra.data() + i.first;
  const Accessor by = accessor_of(warp, i);
  const Fragment& f = i.options<AccessOptions>().fragment;
  each_lane_element(warp, i, mask, f.elements() / kLanes, [&](int index, const Request& at) {
    check_written(warp, i, at, f.bytes(), Access::write);
    for (const int lane : lanes_of(at.mask)) {
      const std::byte* value = element_address(warp, slots, f, index, lane);
      check_write(by, at, lane, f.bytes(), value);
      std::memcpy(at.at[lane], value, static_cast<std::size_t>(f.bytes()));
    }
  });
}

/// The elements of an operand, row by row.
std::vector<double> numbers(const Warp& warp, const s32* slots, const Fragment& f) {
  std::vector<double> values(static_cast<std::size_t>(f.elements()));
  for (int e = 0; e < f.elements(); ++e) {
    u64 bits = 0;
    std::memcpy(&bits, element_address(warp, slots, f, e / kLanes, e % kLanes), static_cast<std::size_t>(f.bytes()));
    values[e] = number_of(bits, f.type);
  }
  return values;
}

/// Sums in the order of k: floats as in multiply_add(), integers exactly.
template <class Left, class Right>
double sum_of_products(Type type, double before, int depth, Left left, Right right) {
  const bool is_wide = type == Type::f64 || type == Type::s32;
  double sum = 0;
  float rounded = is_wide ? 0 : static_cast<float>(before);
  for (int k = 0; k < depth; ++k) {
    if (is_wide)
      sum += left(k) * right(k);
    else
      rounded = std::fma(static_cast<float>(left(k)), static_cast<float>(right(k)), rounded);
  }
  return is_wide ? sum + before : rounded;
}

void multiply(Warp& warp, const Instruction& i, Mask mask) {
  const s32* slots = warp.kernel->extra.data() + i.first;
  const auto& p = i.options<ProductOptions>();
  const std::vector<double> a = numbers(warp, slots + p.d.registers, p.a), b = numbers(warp, slots + p.d.registers + p.a.registers, p.b),
                            c = numbers(warp, slots + p.d.registers + p.a.registers + p.b.registers, p.c);
  for (int e = 0; e < p.d.elements_of_lane() * kLanes; ++e) {
    if (!has_lane(mask, e % kLanes)) continue;
    const int row = e % p.d.elements() / p.d.columns, column = e % p.d.columns;
    const double before = c[row * p.d.columns + column];
    const auto left = [&](int k) { return a[row * p.a.columns + k]; };
    const auto right = [&](int k) { return b[k * p.b.columns + column]; };
    const double sum = sum_of_products(p.d.type, before, p.a.columns, left, right);
    const u64 bits = bits_of_sum(sum, p.d.type, p.saturates);
    std::memcpy(element_address(warp, slots, p.d, e / kLanes, e % kLanes), &bits, static_cast<std::size_t>(p.d.bytes()));
  }
}

MatrixShape expect_shape(Decoder& d) {
  if (const auto shape = take_shape(d)) return *shape;
  d.fail("a shape is missing");
}

void registers(Decoder& d, const Operand& operand, const Fragment& f, bool are_written) {
  const std::vector<Operand> parts = operand.kind == OperandKind::vector ? operand.parts : std::vector{operand};
  if (parts.size() != static_cast<std::size_t>(f.registers)) d.fail(fmt::format("{} registers, not {}", parts.size(), f.registers));
  for (const Operand& part : parts) {
    if (!d.is_register(part)) d.fail("expected registers");
    are_written ? d.extra_destination(part, f.register_bytes) : d.extra_source(part, f.register_bytes);
  }
}

void decode_access(Decoder& d, bool is_load) {
  constexpr char kWhich[] = {'a', 'b', 'c', 'd'};
  const int which = d.take_one({"a", "b", "c", "d"});
  if (which < 0 || (which == 3) == is_load) d.fail("a fragment is missing");
  const int layout = d.take_one({"row", "col"}, "'.row' or '.col' is missing");
  const MatrixShape shape = expect_shape(d);
  constexpr Space kSpaces[] = {Space::global, Space::shared, Space::shared};
  const int space = d.take_one({"global", "shared", "shared::cta"});
  d.out.space = space < 0 ? Space::generic : kSpaces[space];
  const Fragment f = fragment_of(d, kWhich[which], shape, d.take_type());
  d.options<AccessOptions>() = {f, layout == 1};
  d.expect_operands(2, 3);
  const Operand& address = d.operand(is_load ? 1 : 0);
  d.address(0, address);
  if (d.out.immediate != static_cast<u32>(d.out.immediate)) d.fail("the offset of the address does not fit 32 bits");
  d.out.width = static_cast<u8>(f.bytes());
  if (d.operands() == 3) d.source(1, d.operand(2), 4);
  registers(d, d.operand(is_load ? 0 : 1), f, is_load);
  d.out.execute = is_load ? load : store;
}

void decode_product(Decoder& d) {
  // Fragments hold elements by row and column, so the layout in memory does not matter.
  for (int operand = 0; operand < 2; ++operand)
    if (d.take_one({"row", "col"}) < 0) d.fail("the layouts of a and b are missing");
  const MatrixShape shape = expect_shape(d);
  ProductOptions& p = d.options<ProductOptions>();
  p.saturates = d.take("satfinite");
  std::vector<Type> types;
  while (const auto type = d.try_type()) types.push_back(*type);
  if (types.size() == 2) types = {types[0], Type::f16, Type::f16, types[1]};
  if (types.size() != 4) d.fail("the types of d, a, b and c are missing");
  p.d = fragment_of(d, 'd', shape, types[0]);
  p.a = fragment_of(d, 'a', shape, types[1]);
  p.b = fragment_of(d, 'b', shape, types[2]);
  p.c = fragment_of(d, 'c', shape, types[3]);
  d.expect_operands(4);
  registers(d, d.operand(0), p.d, true);
  registers(d, d.operand(1), p.a, false);
  registers(d, d.operand(2), p.b, false);
  registers(d, d.operand(3), p.c, false);
  d.out.execute = multiply;
}

}  // namespace

void decode_wmma(Decoder& d) {
  d.out.category = Category::matrix;
  d.out.kind = Kind::collective;
  d.out.is_aligned = true;
  const int what = d.take_one({"load", "store", "mma"});
  if (what < 0 || !d.take("sync") || !d.take("aligned")) d.fail("expected '.load', '.store' or '.mma', and '.sync.aligned'");
  what == 2 ? decode_product(d) : decode_access(d, what == 0);
}

}  // namespace tilewright::rt::emulator
