// Loads and stores for all spaces, widths and vectors, lane by lane.
#include <fmt/format.h>

#include "runtime/emulator/memory/access.h"
#include "runtime/emulator/memory/load_store_fast.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/simd/host_atomics.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

struct LoadOptions {
  bool is_non_coherent = false;  // .nc
};

/// Loads one lane's element into a register, which may be wider than the element.
void load_element(Warp& warp, const Instruction& i, s32 slot, int lane, const std::byte* at, Space space) {
  if (slot < 0) return;
  std::array<std::byte, sizeof(Word128)> value{};
  if (space == Space::global)
    load_bytes(value.data(), at, i.width, load_order(i));
  else
    std::memcpy(value.data(), at, i.width);
  const bool is_negative = i.extends_sign && (value[i.width - 1u] & std::byte{0x80}) != std::byte{0};
  if (is_negative) std::fill(value.begin() + i.width, value.end(), std::byte{0xff});
  std::memcpy(warp.registers + slot + lane * i.value_bytes, value.data(), i.value_bytes);
}

bool is_ordering(const Warp& warp, const Instruction& i, const Request& request) {
  return i.is_strong && warp.worker->launch->check && (request.space == Space::shared || request.space == Space::global);
}

void load(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u64> address = addresses_of(warp, i, i.slot[0], i.immediate);
  const int bytes = i.width * i.count;
  locate(warp, i, mask, address, i.space, bytes, [&](const Request& request) {
    if (i.is_strong) poll(warp, i, request, bytes);
    const Accessor by = accessor_of(warp, i);
    RequestCheck check(by, request);
    check.read(bytes);
    if (i.options<LoadOptions>().is_non_coherent) check.expect_unwritten(bytes);
    check_written(warp, i, request, bytes, Access::read);
    const s32* const slots = warp.kernel->extra.data() + i.first;
    if (!warp.worker->launch->fast_paths || !load_fast(warp, i, request, slots))
      for (int lane = 0; lane < kLanes; ++lane)
        for (u32 k = 0; k < i.count && has_lane(request.mask, lane); ++k)
          load_element(warp, i, slots[k], lane, request.at[lane] + std::size_t{k} * i.width, request.space);
    if (is_ordering(warp, i, request))
      for (const int lane : lanes_of(request.mask)) acquire_through(warp, i, request, lane);
  });
}

void store(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u64> address = addresses_of(warp, i, i.slot[0], i.immediate);
  const auto bytes = static_cast<std::size_t>(i.width * i.count);
  locate(warp, i, mask, address, i.space, static_cast<int>(bytes), [&](const Request& request) {
    if (request.space == Space::param) {
      report(warp, i, DiagnosticKind::wrong_space, __builtin_ctz(request.mask),
             [] { return std::string("a store to the kernel's parameters"); });
      return;
    }
    if (is_ordering(warp, i, request)) {
      const ReleaseClocks released = released_by(warp, i, request.mask);
      for (const int lane : lanes_of(request.mask)) release_through(warp, released, request, lane, true);
    }
    const Accessor by = accessor_of(warp, i);
    check_written(warp, i, request, static_cast<int>(bytes), Access::write);
    const s32* const slots = warp.kernel->extra.data() + i.first;
    RequestCheck check(by, request);
    if (warp.worker->launch->fast_paths && store_fast(warp, i, request, slots, check)) return;
    for (const int lane : lanes_of(request.mask)) {
      std::array<std::byte, 32> value;
      for (u32 k = 0; k < i.count; ++k)
        std::memcpy(value.data() + std::size_t{k} * i.width, warp.registers + slots[k] + lane * i.value_bytes, i.width);
      // Lanes are handled one after another, so that the check of a lane sees the stores of earlier lanes.
      check.write(lane, static_cast<int>(bytes), value.data());
      if (request.space == Space::global)
        store_bytes(request.at[lane], value.data(), bytes, store_order(i));
      else
        std::memcpy(request.at[lane], value.data(), bytes);
    }
  });
}

void nothing(Warp&, const Instruction&, Mask) {}

void make_policy(Warp& warp, const Instruction& i, Mask mask) { write(warp, i.slot[0], Lanes<u64>{}, mask); }

Space take_space(Decoder& d) {
  constexpr Space kSpaces[] = {Space::global, Space::shared, Space::shared, Space::local, Space::constant,
                               Space::param,  Space::param,  Space::param,  Space::shared};
  const int space =
      d.take_one({"global", "shared", "shared::cta", "local", "const", "param", "param::func", "param::entry", "shared::cluster"});
  d.out.in_cluster = space == 8;
  return space < 0 ? Space::generic : kSpaces[space];
}

/// Takes the order and scope of an access, and modifiers that have no effect here: caching and eviction.
void take_order(Decoder& d) {
  const bool is_mmio = d.take("mmio");
  const int order = d.take_one({"weak", "relaxed", "acquire", "release", "volatile"});
  if (is_mmio && order != 1) d.fail("'.mmio' needs '.relaxed'");
  d.out.is_strong = order >= 1;
  d.out.acquires = order == 2;
  d.out.releases = order == 3;
  const int scope = d.take_one({"cta", "cluster", "gpu", "sys"});
  if (is_mmio && scope != 3) d.fail("'.mmio' needs '.sys'");
  d.out.whole_gpu = scope >= 1 || order == 4;
  d.take_one({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  for (std::string_view level : {"L1", "L2"}) {
    for (std::string_view kind : {"evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate", "cache_hint"})
      d.take(std::string(level) + "::" + std::string(kind));
    for (std::string_view size : {"64B", "128B", "256B"}) d.take(std::string(level) + "::" + std::string(size));
  }
}

/// 90 for "sm_90a".
int target_number(std::string_view target) {
  int number = 0;
  for (const char c : target)
    if (c >= '0' && c <= '9') number = 10 * number + (c - '0');
  return number;
}

/// Returns true if the address is a parameter or a result of a call, which are in local memory here.
bool take_access(Decoder& d, const Operand& address, const Operand& value, bool is_load) {
  const bool has_hint = d.has("L2::cache_hint"), is_of_entry = d.has("param::entry");
  d.out.space = take_space(d);
  take_order(d);
  if (is_load && d.take("nc")) {
    if (d.out.space != Space::global) d.fail("'.nc' is for '.global' alone");
    d.options<LoadOptions>().is_non_coherent = true;
  }
  const int vector = d.take_one({"v2", "v4", "v8"});
  const int count = vector < 0 ? 1 : 2 << vector;
  const Type type = d.take_type();
  if (type == Type::pred) d.fail("no instruction of this type");
  d.expect_operands(has_hint ? 3 : 2);
  d.out.width = static_cast<u8>(bytes_of(type));
  d.out.count = static_cast<u8>(count);
  d.out.extends_sign = is_signed(type);
  if (d.out.width * count > 32 || (d.out.width * count > 16 && vector != 2 && !(vector == 1 && d.out.width == 8)))
    d.fail("too many bytes for one access");
  // ptxas also enforces these two rules.
  if (d.out.width * count > 16 && target_number(d.module().target) < 100) d.fail("accesses of 256 bits need '.target sm_100' or higher");
  if (d.out.width * count > 16 && d.out.space != Space::global) d.fail("accesses of 256 bits need the space '.global'");
  d.address(0, address);
  const bool is_passed = d.out.space == Space::param && !is_of_entry && d.is_in_frame(address);
  if (is_passed) d.out.space = Space::local;
  // Compilers write "ld.b32 {%r1}, [...]" for a vector of one element, which ptxas accepts.
  const std::vector<Operand> values = value.kind == OperandKind::vector ? value.parts : std::vector{value};
  if (values.size() != static_cast<std::size_t>(count)) d.fail(fmt::format("{} values, not {}", values.size(), count));
  const auto one = [&](const Operand& operand) {
    int bytes = std::max<int>(d.out.width, 2);
    if (operand.kind == OperandKind::reg) bytes = d.bytes_of_register(operand);
    if (bytes == 0 || bytes < d.out.width) d.fail("a register is too narrow for its type");
    d.out.value_bytes = static_cast<u8>(bytes);
    if (is_load)
      d.extra_destination(operand, bytes);
    else
      d.extra_source(operand, bytes, type);
  };
  for (const Operand& part : values) one(part);
  for (const Operand& part : values)
    if (part.kind == OperandKind::reg && d.bytes_of_register(part) != d.out.value_bytes) d.fail("the registers of a vector differ in size");
  return is_passed;
}

}  // namespace

void decode_load(Decoder& d) {
  // Indexed by space, in the order of their declaration.
  constexpr Category kLoads[] = {Category::load_generic, Category::load_global, Category::load_shared,
                                 Category::load_local,   Category::load_const,  Category::load_param};
  d.options<LoadOptions>() = {};
  d.out.execute = load;
  const bool is_passed = take_access(d, d.operand(1), d.operand(0), true);
  d.out.category = is_passed ? Category::load_param : kLoads[static_cast<std::size_t>(d.out.space)];
}

void decode_store(Decoder& d) {
  constexpr Category kStores[] = {Category::store_generic, Category::store_global, Category::store_shared, Category::store_local};
  d.out.execute = store;
  const bool is_passed = take_access(d, d.operand(0), d.operand(1), false);
  if (d.out.space > Space::local) d.fail(fmt::format("{} memory cannot be stored to", name_of(d.out.space)));
  d.out.category = is_passed ? Category::move : kStores[static_cast<std::size_t>(d.out.space)];
}

void decode_hint(Decoder& d) {
  d.out.category = Category::move;
  take_space(d);
  d.take_one({"L1", "L2"});
  take_order(d);
  if (d.take("tensormap")) d.take_one({"const", "param"});
  d.expect_operands(1, 2);
  d.address(0, d.operand(0));
  d.out.execute = nothing;
}

void decode_createpolicy(Decoder& d) {
  d.out.category = Category::move;
  if (d.take_one({"fractional", "range", "cvt"}) < 0) d.fail("expected '.fractional', '.range' or '.cvt'");
  d.take("L2");
  d.take("global");
  // There may be a primary and a secondary eviction priority.
  for (int k = 0; k < 2; ++k) take_order(d);
  if (d.take_type() != Type::b64) d.fail("a policy has 64 bits");
  d.expect_operands(1, 4);
  d.destination(0, d.operand(0), 8);
  d.out.execute = make_policy;
}

}  // namespace tilewright::rt::emulator
