// Moves between registers, packing and unpacking of registers, and conversions of addresses between spaces.
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

template <class T>
T same(T x) {
  return x;
}

struct Wide {
  u64 low, high;
};

void move_predicate(Warp& warp, const Instruction& i, Mask mask) { write_mask(warp, i.slot[0], read_predicate(warp, i, 1), mask); }

/// Packs {a, b, ...} into one register; the first part is lowest.
template <class Whole, class Part>
void pack(Warp& warp, const Instruction& i, Mask mask) {
  Lanes<Whole> whole{};
  for (u32 k = 0; k < i.extras; ++k) {
    const Lanes<Part> part = read<Part>(warp, warp.kernel->extra[i.first + k]);
    for (int lane = 0; lane < kLanes; ++lane) whole[lane] |= static_cast<Whole>(part[lane]) << (8 * sizeof(Part) * k);
  }
  write(warp, i.slot[0], whole, mask);
}

template <class Whole, class Part>
void unpack(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<Whole> whole = read<Whole>(warp, i.slot[1]);
  for (u32 k = 0; k < i.extras; ++k) {
    const s32 slot = warp.kernel->extra[i.first + k];
    if (slot < 0) continue;
    Lanes<Part> part;
    for (int lane = 0; lane < kLanes; ++lane) part[lane] = static_cast<Part>(whole[lane] >> (8 * sizeof(Part) * k));
    write(warp, slot, part, mask);
  }
}

// Packs b128, which has two words in each lane.
void pack_128(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u64> low = read<u64>(warp, warp.kernel->extra[i.first]), high = read<u64>(warp, warp.kernel->extra[i.first + 1]);
  Lanes<Wide> whole;
  for (int lane = 0; lane < kLanes; ++lane) whole[lane] = {low[lane], high[lane]};
  write(warp, i.slot[0], whole, mask);
}
void unpack_128(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<Wide> whole = read<Wide>(warp, i.slot[1]);
  Lanes<u64> low, high;
  for (int lane = 0; lane < kLanes; ++lane) low[lane] = whole[lane].low, high[lane] = whole[lane].high;
  write(warp, warp.kernel->extra[i.first], low, mask);
  write(warp, warp.kernel->extra[i.first + 1], high, mask);
}

template <bool Pack>
Handler choose_split(Decoder& d, int whole, int part) {
  if (whole == 4 && part == 2) return Pack ? pack<u32, u16> : unpack<u32, u16>;
  if (whole == 8 && part == 2) return Pack ? pack<u64, u16> : unpack<u64, u16>;
  if (whole == 8 && part == 4) return Pack ? pack<u64, u32> : unpack<u64, u32>;
  if (whole == 16 && part == 8) return Pack ? pack_128 : unpack_128;
  d.fail("no such split of a register: expected 2 halves or 4 quarters");
}

/// A clock that counts the worker's warp instructions: it advances while the kernel runs.
template <class T>
void read_clock(Warp& warp, const Instruction& i, Mask mask) {
  Lanes<T> now;
  for (int lane = 0; lane < kLanes; ++lane) now[lane] = static_cast<T>(warp.worker->spent + i.index + 1);
  write(warp, i.slot[0], now, mask);
}

bool take_clock(Decoder& d, std::string_view name, int bytes) {
  if (name != "%clock" && name != "%clock_hi" && name != "%clock64" && name != "%globaltimer" && name != "%globaltimer_lo") return false;
  d.out.execute = bytes == 8 ? read_clock<u64> : read_clock<u32>;
  d.destination(0, d.operand(0), bytes);
  return true;
}

void decode_split(Decoder& d, int whole) {
  const bool packs = d.operand(1).kind == OperandKind::vector;
  const std::vector<Operand>& parts = d.operand(packs ? 1 : 0).parts;
  const int part = whole / static_cast<int>(parts.size());
  if (part * static_cast<int>(parts.size()) != whole) d.fail("the parts do not fill the register");
  d.out.execute = packs ? choose_split<true>(d, whole, part) : choose_split<false>(d, whole, part);
  for (const Operand& operand : parts) packs ? d.extra_source(operand, part) : d.extra_destination(operand, part);
  if (packs)
    d.destination(0, d.operand(0), whole);
  else
    d.source(1, d.operand(1), whole);
}

struct WindowOptions {
  u64 begin = 0;               // start of the space's window in generic addresses; negated for the reverse conversion
  bool is_of_cluster = false;  // the space is .shared::cluster
};

// Generic addresses of global memory are plain addresses; each other space has a window.
u64 window_of(Decoder& d, Space space) {
  switch (space) {
    case Space::shared: return kSharedWindow;
    case Space::local: return kLocalWindow;
    case Space::param: return kParamWindow;
    case Space::global:
    case Space::constant: return 0;
    default: d.fail("a space is missing");
  }
}

template <class T>
void add_window(Warp& warp, const Instruction& i, Mask mask) {
  Lanes<T> address = read<T>(warp, i.slot[1]);
  for (int lane = 0; lane < kLanes; ++lane) address[lane] += static_cast<T>(i.options<WindowOptions>().begin);
  write(warp, i.slot[0], address, mask);
}

Space take_space(Decoder& d) {
  const int space = d.take_one({"global", "shared", "shared::cta", "local", "const", "param", "param::entry", "shared::cluster"});
  constexpr Space kSpaces[] = {Space::global,   Space::shared, Space::shared, Space::local,
                               Space::constant, Space::param,  Space::param,  Space::shared};
  if (space < 0) d.fail("a space is missing");
  d.options<WindowOptions>().is_of_cluster = space == 7;
  return kSpaces[space];
}

void isspacep(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u64> address = read<u64>(warp, i.slot[1]);
  const auto [begin, is_of_cluster] = i.options<WindowOptions>();
  Mask inside = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool windowed = address[lane] >= kSharedWindow && address[lane] < kParamWindow + kWindowBytes;
    bool is = begin == 0 ? !windowed : address[lane] - begin < kWindowBytes;
    // The block's own shared memory is part of the cluster's shared memory.
    if (begin == kSharedWindow && !is_of_cluster) is &= address[lane] - begin < kRankUnit;
    inside |= static_cast<Mask>(is) << lane;
  }
  write_mask(warp, i.slot[0], inside, mask);
}

}  // namespace

void decode_move(Decoder& d) {
  d.out.category = Category::move;
  const Type type = d.take_type();
  d.expect_operands(2);
  const int bytes = bytes_of(type);
  if (d.operand(0).kind == OperandKind::vector || d.operand(1).kind == OperandKind::vector) return decode_split(d, bytes);
  if (d.operand(1).kind == OperandKind::special && take_clock(d, d.operand(1).name, bytes)) return;
  d.destination(0, d.operand(0), bytes);
  d.source(1, d.operand(1), bytes, type);
  switch (bytes) {
    case 0: d.out.execute = move_predicate; break;
    case 2: d.out.execute = elementwise<same<u16>>(); break;
    case 4: d.out.execute = elementwise<same<u32>>(); break;
    case 8: d.out.execute = elementwise<same<u64>>(); break;
    case 16: d.out.execute = elementwise<same<Wide>>(); break;
    default: d.fail("no instruction of this type");
  }
}

void decode_cvta(Decoder& d) {
  d.out.category = Category::move;
  const bool from_generic = d.take("to");
  const Space space = take_space(d);
  const Type type = d.take_type();
  const int bytes = bytes_of(type);
  if (bytes != 8 && bytes != 4) d.fail("an address has 32 or 64 bits");
  const u64 window = window_of(d, space);
  d.options<WindowOptions>().begin = from_generic ? 0 - window : window;
  d.take_operands(bytes, {bytes});
  d.out.execute = bytes == 8 ? add_window<u64> : add_window<u32>;
}

void decode_isspacep(Decoder& d) {
  d.out.category = Category::compare;
  const Space space = take_space(d);
  if (space == Space::constant) d.fail("constant memory is not told apart from global memory");
  d.options<WindowOptions>().begin = window_of(d, space);
  d.take_operands(0, {8});
  d.out.execute = isspacep;
}

}  // namespace tilewright::rt::emulator
