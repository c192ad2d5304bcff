// Loads and stores of all spaces, widths and vectors.
#include <fmt/format.h>

#include "runtime/emulator/cost/transactions.h"
#include "runtime/emulator/memory/access.h"
#include "runtime/emulator/memory/host_atomics.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

struct LoadOptions {
  bool is_non_coherent = false;  // .nc
};

bool has_whole_sectors(const Places& places) { return places.shape != nullptr && places.shape->has_whole_sectors; }

/// Calls f(lane) for the first lane of each sector of a request that has whole ones: the values of those who share it lie together, in
/// memory and out of it.
template <class F>
void each_sector(std::size_t bytes, F f) {
  const std::size_t lanes = RequestShape::kSectorBytes / bytes;
  for (std::size_t lane = 0; lane < kLanes; lane += lanes) f(lane);
}

void read_sectors(std::byte* to, const Places& places, std::size_t bytes) {
  each_sector(bytes, [&](std::size_t lane) { std::memcpy(to + lane * bytes, places.at[lane], RequestShape::kSectorBytes); });
}
void write_sectors(const Places& places, const std::byte* values, std::size_t bytes) {
  each_sector(bytes, [&](std::size_t lane) { std::memcpy(places.at[lane], values + lane * bytes, RequestShape::kSectorBytes); });
}

/// An element of global memory for each lane.
template <class T>
void load_global_element(Warp& warp, s32 slot, const Places& places, std::size_t offset, std::memory_order order) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if ((places.mask & kLaneBit[lane]) == 0) continue;
    const T value = load_atomic<T>(places.at[lane] + offset, order);
    std::memcpy(warp.registers + static_cast<std::size_t>(slot) + lane * sizeof(T), &value, sizeof value);
  }
}

/// What a strong access orders for the host: what the kernel's fences order too.
std::memory_order load_order(const Instruction& i) { return i.is_strong ? std::memory_order_acquire : std::memory_order_relaxed; }
std::memory_order store_order(const Instruction& i) { return i.is_strong ? std::memory_order_release : std::memory_order_relaxed; }

template <class T>
void load_element(Warp& warp, const Instruction& i, s32 slot, const Places& places, std::size_t offset) {
  if (slot < 0) return;
  if (places.space == Space::global) return load_global_element<T>(warp, slot, places, offset, load_order(i));
  const bool is_all = i.count == 1;
  if (is_all && has_whole_sectors(places)) return call_for_processor<read_sectors>(warp.registers + slot, places, sizeof(T));
  if (places.mask == kAllLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      std::memcpy(warp.registers + static_cast<std::size_t>(slot) + lane * sizeof(T), places.at[lane] + offset, sizeof(T));
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane)
    if (has_lane(places.mask, lane))
      std::memcpy(warp.registers + slot + static_cast<std::size_t>(lane) * sizeof(T), places.at[static_cast<std::size_t>(lane)] + offset,
                  sizeof(T));
}

// Four words in a row, of four lanes or of four registers.
using Quad = u32 __attribute__((vector_size(16)));

Quad read_quad(const std::byte* from) {
  Quad quad;
  std::memcpy(&quad, from, sizeof quad);
  return quad;
}

/// Calls f(k, column) for the four columns of what is read from these places.
template <class F>
void transpose(const std::byte* a, const std::byte* b, const std::byte* c, const std::byte* d, F f) {
  const Quad row0 = read_quad(a), row1 = read_quad(b), row2 = read_quad(c), row3 = read_quad(d);
  const Quad low01 = __builtin_shufflevector(row0, row1, 0, 4, 1, 5), high01 = __builtin_shufflevector(row0, row1, 2, 6, 3, 7);
  const Quad low23 = __builtin_shufflevector(row2, row3, 0, 4, 1, 5), high23 = __builtin_shufflevector(row2, row3, 2, 6, 3, 7);
  f(0, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
  f(1, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
  f(2, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
  f(3, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
}

bool is_quads(const Instruction& i, Mask mask) { return i.width == 4 && i.value_bytes == 4 && i.count == 4 && mask == kAllLanes; }

/// Vectors of four words by all lanes.
void load_quads(Warp& warp, const s32* slots, const Places& places) {
  for (std::size_t lane = 0; lane < kLanes; lane += 4) {
    const auto* const at = places.at.data() + lane;
    transpose(at[0], at[1], at[2], at[3], [&](int k, Quad column) {
      if (slots[k] >= 0) std::memcpy(warp.registers + slots[k] + lane * 4, &column, sizeof column);
    });
  }
}

using Octet = u32 __attribute__((vector_size(32)));

/// Words of two registers, those of each lane side by side.
void interleave(std::byte* to, const std::byte* first, const std::byte* second) {
  for (std::size_t at = 0; at < kLanes * 4; at += sizeof(Octet)) {
    Octet a, b;
    std::memcpy(&a, first + at, sizeof a);
    std::memcpy(&b, second + at, sizeof b);
    const Octet low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11),
                high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    std::memcpy(to + 2 * at, &low, sizeof low);
    std::memcpy(to + 2 * at + sizeof low, &high, sizeof high);
  }
}

/// What each lane stores, one lane after the other.
struct StoredValues {
  alignas(64) std::array<std::byte, kLanes * 32> bytes;

  StoredValues(const Warp& warp, const Instruction& i, const s32* slots, Mask mask) {
    const bool words = i.width == 4 && i.value_bytes == 4;
    if (words && i.count == 1)
      std::memcpy(bytes.data(), warp.registers + slots[0], kLanes * 4);
    else if (words && i.count == 2)
      call_for_processor<interleave>(bytes.data(), warp.registers + slots[0], warp.registers + slots[1]);
    else if (is_quads(i, mask))
      take_quads(warp, slots);
    else
      take_elements(warp, i, slots);
  }

  void write(const Instruction& i, const Places& places, int size) const {
    if (places.space == Space::global) return write_global(places, static_cast<std::size_t>(size), store_order(i));
    if (has_whole_sectors(places)) return call_for_processor<write_sectors>(places, bytes.data(), static_cast<std::size_t>(size));
    if (size == 4) return write<4>(places);
    if (size == 8) return write<8>(places);
    if (size == 16) return write<16>(places);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      if (places.mask & kLaneBit[lane])
        std::memcpy(places.at[lane], bytes.data() + lane * static_cast<std::size_t>(size), static_cast<std::size_t>(size));
  }

 private:
  void write_global(const Places& places, std::size_t size, std::memory_order order) const {
    each_element(size, [&]<class T>(std::size_t offset) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        if ((places.mask & kLaneBit[lane]) == 0) continue;
        T element;
        std::memcpy(&element, bytes.data() + lane * size + offset, sizeof element);
        store_atomic(places.at[lane] + offset, element, order);
      }
    });
  }
  template <std::size_t kSize>
  void write(const Places& places) const {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      if (places.mask & kLaneBit[lane]) std::memcpy(places.at[lane], bytes.data() + lane * kSize, kSize);
  }
  void take_elements(const Warp& warp, const Instruction& i, const s32* slots) {
    for (u32 k = 0; k < i.count; ++k) {
      if (i.width == 4)
        take<u32>(warp, i, slots[k], k);
      else if (i.width == 8)
        take<u64>(warp, i, slots[k], k);
      else if (i.width == 2)
        take<u16>(warp, i, slots[k], k);
      else if (i.width == 1)
        take<u8>(warp, i, slots[k], k);
      else
        take<Word128>(warp, i, slots[k], k);
    }
  }
  template <class T>
  void take(const Warp& warp, const Instruction& i, s32 slot, u32 k) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      std::memcpy(bytes.data() + (lane * i.count + k) * sizeof(T), warp.registers + slot + lane * i.value_bytes, sizeof(T));
  }
  void take_quads(const Warp& warp, const s32* slots) {
    for (std::size_t lane = 0; lane < kLanes; lane += 4) {
      const std::byte* const at = warp.registers + lane * 4;
      transpose(at + slots[0], at + slots[1], at + slots[2], at + slots[3],
                [&](int k, Quad column) { std::memcpy(bytes.data() + (lane + static_cast<std::size_t>(k)) * 16, &column, sizeof column); });
    }
  }
};

/// An element into a wider register: with its sign where the type has one.
void load_extended(Warp& warp, const Instruction& i, s32 slot, const Places& places, std::size_t offset) {
  if (slot < 0) return;
  const int shift = 64 - 8 * i.width;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has_lane(places.mask, lane)) continue;
    const std::byte* const at = places.at[static_cast<std::size_t>(lane)] + offset;
    u64 bits = 0;
    if (places.space == Space::global)
      each_element(i.width, [&]<class T>(std::size_t) { bits = load_atomic<T>(at, load_order(i)); });
    else
      std::memcpy(&bits, at, i.width);
    if (i.extends_sign) bits = static_cast<u64>(static_cast<s64>(bits << shift) >> shift);
    std::memcpy(warp.registers + slot + lane * i.value_bytes, &bits, i.value_bytes);
  }
}

bool is_ordering(const Warp& warp, const Instruction& i, const Places& places) {
  return i.is_strong && warp.worker->launch->check && (places.space == Space::shared || places.space == Space::global);
}

void load(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u64> address = addresses_of(warp, i, i.slot[0], i.immediate);
  const int bytes = i.width * i.count;
  locate(warp, i, mask, address, i.space, bytes, [&](const Places& places) {
    if (i.is_strong) poll(warp, i, places, bytes);
    const Accessor by = accessor_of(warp, i);
    RequestCheck check(by, places);
    check.read(bytes);
    if (i.options<LoadOptions>().is_non_coherent) check.expect_unwritten(bytes);
    check_written(warp, i, places, bytes, Access::read);
    const s32* const slots = warp.kernel->extra.data() + i.first;
    // Transposes what it reads, which is for memory that other threads of the host do not write meanwhile.
    const bool quads = is_quads(i, places.mask) && places.space != Space::global;
    if (quads) load_quads(warp, slots, places);
    for (u32 k = 0; k < i.count && !quads; ++k) {
      const s32 slot = slots[k];
      const std::size_t offset = std::size_t{k} * i.width;
      if (i.width != i.value_bytes)
        load_extended(warp, i, slot, places, offset);
      else if (i.width == 4)
        load_element<u32>(warp, i, slot, places, offset);
      else if (i.width == 8)
        load_element<u64>(warp, i, slot, places, offset);
      else if (i.width == 2)
        load_element<u16>(warp, i, slot, places, offset);
      else
        load_element<Word128>(warp, i, slot, places, offset);
    }
    if (is_ordering(warp, i, places))
      for (int lane = 0; lane < kLanes; ++lane)
        if (has_lane(places.mask, lane)) acquire_through(warp, i, places, lane);
  });
}

/// Parameters are the same for all lanes where the address is constant.
void load_parameter(Warp& warp, const Instruction& i, Mask mask) {
  const auto& params = warp.worker->launch->params;
  if (i.immediate + static_cast<u64>(i.width) * i.count > params.size()) return load(warp, i, mask);
  const int shift = 64 - 8 * i.width;
  for (u32 k = 0; k < i.count; ++k) {
    const s32 slot = warp.kernel->extra[i.first + k];
    if (slot < 0) continue;
    u64 bits = 0;
    std::memcpy(&bits, params.data() + i.immediate + k * i.width, i.width);
    if (i.extends_sign) bits = static_cast<u64>(static_cast<s64>(bits << shift) >> shift);
    const auto fill = [&]<class T>() {
      Lanes<T> value;
      for (int lane = 0; lane < kLanes; ++lane) value[lane] = static_cast<T>(bits);
      write(warp, slot, value, mask);
    };
    if (i.value_bytes == 2)
      fill.operator()<u16>();
    else if (i.value_bytes == 4)
      fill.operator()<u32>();
    else
      fill.operator()<u64>();
  }
}

void store(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u64> address = addresses_of(warp, i, i.slot[0], i.immediate);
  const int bytes = i.width * i.count;
  locate(warp, i, mask, address, i.space, bytes, [&](const Places& places) {
    if (places.space == Space::param) {
      report(warp, i, FindingKind::wrong_space, __builtin_ctz(places.mask),
             [] { return std::string("a store to the kernel's parameters"); });
      return;
    }
    if (is_ordering(warp, i, places)) {
      const Knowledge released = released_by(warp, i, places.mask);
      for (int lane = 0; lane < kLanes; ++lane)
        if (has_lane(places.mask, lane)) release_through(warp, released, places, lane, true);
    }
    const Accessor by = accessor_of(warp, i);
    check_written(warp, i, places, bytes, Access::write);
    const StoredValues values(warp, i, warp.kernel->extra.data() + i.first, places.mask);
    RequestCheck check(by, places);
    if (check.write_apart(bytes, values.bytes.data())) return values.write(i, places, bytes);
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!has_lane(places.mask, lane)) continue;
      const std::byte* const value = values.bytes.data() + lane * bytes;
      // One lane after the other: the check sees what earlier lanes have stored.
      check.write(lane, bytes, value);
      if (places.space == Space::global)
        store_bytes(places.at[static_cast<std::size_t>(lane)], value, static_cast<std::size_t>(bytes), store_order(i));
      else
        std::memcpy(places.at[static_cast<std::size_t>(lane)], value, static_cast<std::size_t>(bytes));
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

/// Which order and scope an access has, and what changes nothing here: caching and eviction.
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

/// 90 of "sm_90a".
int target_number(std::string_view target) {
  int number = 0;
  for (const char c : target)
    if (c >= '0' && c <= '9') number = 10 * number + (c - '0');
  return number;
}

/// True if it is a parameter or a result of a call, which lies in local memory here.
bool take_access(Decoder& d, const Operand& address, const Operand& value, bool is_load) {
  const bool has_hint = std::find(d.modifiers().begin(), d.modifiers().end(), "L2::cache_hint") != d.modifiers().end();
  const bool is_of_entry = std::find(d.modifiers().begin(), d.modifiers().end(), "param::entry") != d.modifiers().end();
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
  // ptxas has the same two rules.
  if (d.out.width * count > 16 && target_number(d.module().target) < 100) d.fail("accesses of 256 bits need '.target sm_100' or higher");
  if (d.out.width * count > 16 && d.out.space != Space::global) d.fail("accesses of 256 bits need the space '.global'");
  d.address(0, address);
  const bool is_passed = d.out.space == Space::param && !is_of_entry && d.is_in_frame(address);
  if (is_passed) d.out.space = Space::local;
  // Compilers write "ld.b32 {%r1}, [...]" for a vector of one, and ptxas takes it.
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
  d.options<LoadOptions>() = {};
  d.out.execute = load;
  if (take_access(d, d.operand(1), d.operand(0), true)) {
    d.out.category = Category::load_param;
    return;
  }
  switch (d.out.space) {
    case Space::global: d.out.category = Category::load_global; break;
    case Space::shared: d.out.category = Category::load_shared; break;
    case Space::local: d.out.category = Category::load_local; break;
    case Space::constant: d.out.category = Category::load_const; break;
    case Space::param:
      d.out.category = Category::load_param;
      if (d.operand(1).parts[0].kind != OperandKind::reg && d.out.width <= 8) d.out.execute = load_parameter;
      break;
    case Space::generic: d.out.category = Category::load_generic; break;
  }
}

void decode_store(Decoder& d) {
  d.out.execute = store;
  if (take_access(d, d.operand(0), d.operand(1), false)) {
    d.out.category = Category::move;
    return;
  }
  switch (d.out.space) {
    case Space::global: d.out.category = Category::store_global; break;
    case Space::shared: d.out.category = Category::store_shared; break;
    case Space::local: d.out.category = Category::store_local; break;
    case Space::generic: d.out.category = Category::store_generic; break;
    default: d.fail(fmt::format("{} memory cannot be stored to", name_of(d.out.space)));
  }
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
  // The primary and the secondary priority.
  for (int k = 0; k < 2; ++k) take_order(d);
  if (d.take_type() != Type::b64) d.fail("a policy has 64 bits");
  d.expect_operands(1, 4);
  d.destination(0, d.operand(0), 8);
  d.out.execute = make_policy;
}

}  // namespace tilewright::rt::emulator
