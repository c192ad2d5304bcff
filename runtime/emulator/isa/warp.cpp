// Operations across the lanes of a warp. The scheduler brings the lanes of the member mask together before it runs them.
#include <type_traits>

#include "runtime/emulator/memory/undefined_values.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/launch_state.h"
#include "runtime/emulator/state/register_file.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {
namespace {

enum ShuffleMode : u32 { kUp, kDown, kButterfly, kIndex };

/// The lanes whose source lane does not execute the shuffle or is not in the member mask.
Mask lanes_without_source(const Warp& warp, const Instruction& i, Mask mask, const Lanes<s32>& from) {
  const Lanes<u32> members = read<u32>(warp, i.members);
  Mask common = mask;
  for (int lane = 0; lane < kLanes; ++lane) common &= members[lane];
  if (common == kAllLanes) return 0;
  Mask absent = 0;
  for (const int lane : lanes_of(mask))
    if (from[lane] != lane && !has_lane(mask & members[lane], from[lane])) absent |= kLaneBit[lane];
  return absent;
}

// c contains the last lane that may be read (bits 0 to 4) and a mask of the lane number's bits that select the segment (bits 8 to 12).
template <ShuffleMode kMode>
void shuffle(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<u32> value = read<u32>(warp, i.slot[2]);
  const auto b = read_in_place<u32>(warp, i.slot[3]), c = read_in_place<u32>(warp, i.slot[4]);
  Lanes<s32> from;
  Lanes<Mask> good;
  for (int lane = 0; lane < kLanes; ++lane) {
    const s32 offset = static_cast<s32>(b[lane] & 31), clamp = static_cast<s32>(c[lane] & 31),
              segment = static_cast<s32>((c[lane] >> 8) & 31);
    const s32 lowest = lane & segment, last = lowest | (clamp & ~segment);
    const s32 other = kMode == kUp          ? lane - offset
                      : kMode == kDown      ? lane + offset
                      : kMode == kButterfly ? lane ^ offset
                                            : lowest | (offset & ~segment);
    const bool is_good = kMode == kUp ? other >= last : other <= last;
    from[lane] = is_good ? other : lane;
    good[lane] = is_good ? kLaneBit[lane] : 0;
  }
  Lanes<u32> result;
  Mask in_range = 0;
  for (int lane = 0; lane < kLanes; ++lane) in_range |= good[lane];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = value[from[lane] & 31];
  write(warp, i.slot[0], result, mask);
  write_mask(warp, i.slot[1], in_range, mask);
  if (!warp.worker->launch->check) return;
  const Mask absent = lanes_without_source(warp, i, mask, from);
  if (absent != 0 || warp.undefined.any()) follow_shuffle(warp, i, mask, from.at, absent);
}

/// Calls f(members, group) for the lanes of `mask` that name the same member mask.
template <class F>
void for_groups(const Warp& warp, const Instruction& i, Mask mask, F f) {
  const Lanes<u32> members = read<u32>(warp, i.members);
  for (Mask left = mask; left != 0;) {
    const Mask named = members[__builtin_ctz(left)];
    Mask group = 0;
    for (const int lane : lanes_of(left))
      if (members[lane] == named) group |= kLaneBit[lane];
    f(named, group);
    left &= ~group;
  }
}

enum class VoteMode : u8 { all, any, uniform, ballot };
struct VoteOptions {
  VoteMode mode = VoteMode::all;
};
struct MatchOptions {
  bool all = false;
};

/// Gives each lane the same word.
Lanes<u32> in_all_lanes(u32 word) {
  Lanes<u32> words;
  for (u32& each : words.at) each = word;
  return words;
}

void vote(Warp& warp, const Instruction& i, Mask mask) {
  const Mask holds = read_predicate(warp, i, 1);
  const VoteMode mode = i.options<VoteOptions>().mode;
  for_groups(warp, i, mask, [&](Mask, Mask group) {
    const Mask votes = holds & group;
    if (mode == VoteMode::ballot) return write(warp, i.slot[0], in_all_lanes(votes), group);
    const bool all = votes == group, any = votes != 0;
    const bool result = mode == VoteMode::all ? all : mode == VoteMode::any ? any : all || !any;
    write_mask(warp, i.slot[0], result ? kAllLanes : 0, group);
  });
}

template <class T>
void match(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<T> value = read<T>(warp, i.slot[2]);
  for_groups(warp, i, mask, [&](Mask, Mask group) {
    Lanes<u32> same{};
    for (int lane = 0; lane < kLanes; ++lane)
      for (int other = 0; other < kLanes; ++other)
        if (has_lane(group, other) && value[lane] == value[other]) same[lane] |= kLaneBit[other];
    if (i.options<MatchOptions>().all) {
      const bool all = same[__builtin_ctz(group)] == group;
      same = in_all_lanes(all ? group : 0);
      write_mask(warp, i.slot[1], all ? kAllLanes : 0, group);
    }
    write(warp, i.slot[0], same, group);
  });
}

template <class T>
struct Reduce {
  static T add(T a, T b) { return static_cast<T>(static_cast<u32>(a) + static_cast<u32>(b)); }
  static T min(T a, T b) { return b < a ? b : a; }
  static T max(T a, T b) { return a < b ? b : a; }
  static T bit_and(T a, T b) { return a & b; }
  static T bit_or(T a, T b) { return a | b; }
  static T bit_xor(T a, T b) { return a ^ b; }
};

template <class T, T (*F)(T, T)>
void redux(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<T> value = read<T>(warp, i.slot[1]);
  for_groups(warp, i, mask, [&](Mask, Mask group) {
    T sum = value[__builtin_ctz(group)];
    for (int lane = __builtin_ctz(group) + 1; lane < kLanes; ++lane)
      if (has_lane(group, lane)) sum = F(sum, value[lane]);
    write(warp, i.slot[0], in_all_lanes(static_cast<u32>(sum)), group);
  });
}

void activemask(Warp& warp, const Instruction& i, Mask mask) { write(warp, i.slot[0], in_all_lanes(mask), mask); }

/// elect: the leader is the lowest lane of the members.
void elect(Warp& warp, const Instruction& i, Mask mask) {
  for_groups(warp, i, mask, [&](Mask, Mask group) {
    const int leader = __builtin_ctz(group);
    write(warp, i.slot[0], in_all_lanes(static_cast<u32>(leader)), group);
    write_mask(warp, i.slot[1], Mask{1} << leader, group);
  });
}

/// Puts the results "d|p" into slots 0 and 1, or d alone into slot 0.
void take_result(Decoder& d, const Operand& result, int bytes) {
  if (result.kind == OperandKind::pair) {
    d.destination(0, result.parts[0], bytes);
    d.destination(1, result.parts[1], 0);
  } else {
    d.destination(0, result, bytes);
  }
}

void begin(Decoder& d, std::size_t operands) {
  d.out.category = Category::warp;
  d.out.kind = Kind::collective;
  if (!d.take("sync")) d.fail("'.sync' is missing");
  d.expect_operands(operands);
}

/// In the order in which decode_redux() numbers the operations.
template <class T>
constexpr Handler kRedux[] = {redux<T, Reduce<T>::add>,     redux<T, Reduce<T>::min>,    redux<T, Reduce<T>::max>,
                              redux<T, Reduce<T>::bit_and>, redux<T, Reduce<T>::bit_or>, redux<T, Reduce<T>::bit_xor>};

}  // namespace

void decode_shuffle(Decoder& d) {
  begin(d, 5);
  const int mode = d.take_one({"up", "down", "bfly", "idx"}, "a mode is missing");
  d.expect_type(Type::b32);
  take_result(d, d.operand(0), 4);
  for (int k = 2; k < 5; ++k) d.source(k, d.operand(static_cast<std::size_t>(k) - 1), 4);
  d.members(d.operand(4));
  constexpr Handler kShuffles[] = {shuffle<kUp>, shuffle<kDown>, shuffle<kButterfly>, shuffle<kIndex>};
  d.out.execute = kShuffles[mode];
}

void decode_vote(Decoder& d) {
  begin(d, 3);
  const int mode = d.take_one({"all", "any", "uni", "ballot"});
  const Type type = d.take_type();
  if (mode < 0 || type != (mode == 3 ? Type::b32 : Type::pred)) d.fail("expected '.all.pred', '.any.pred', '.uni.pred' or '.ballot.b32'");
  d.options<VoteOptions>().mode = static_cast<VoteMode>(mode);
  d.destination(0, d.operand(0), mode == 3 ? 4 : 0);
  d.source(1, d.operand(1), 0);
  d.members(d.operand(2));
  d.out.execute = vote;
}

void decode_match(Decoder& d) {
  begin(d, 3);
  const int mode = d.take_one({"all", "any"});
  const Type type = d.take_type();
  if (mode < 0 || (type != Type::b32 && type != Type::b64)) d.fail("expected '.all' or '.any' of b32 or b64");
  d.options<MatchOptions>().all = mode == 0;
  take_result(d, d.operand(0), 4);
  d.source(2, d.operand(1), bytes_of(type));
  d.members(d.operand(2));
  d.out.execute = type == Type::b32 ? match<u32> : match<u64>;
}

void decode_redux(Decoder& d) {
  begin(d, 3);
  const int op = d.take_one({"add", "min", "max", "and", "or", "xor"});
  const Type type = d.take_type();
  const bool bitwise = op >= 3;
  if (op < 0 || (bitwise ? type != Type::b32 : type != Type::u32 && type != Type::s32)) d.fail("no instruction of this type");
  d.destination(0, d.operand(0), 4);
  d.source(1, d.operand(1), 4);
  d.members(d.operand(2));
  d.out.execute = type == Type::s32 ? kRedux<s32>[op] : kRedux<u32>[op];
}

void decode_activemask(Decoder& d) {
  d.out.category = Category::warp;
  d.expect_type(Type::b32);
  d.expect_operands(1);
  d.destination(0, d.operand(0), 4);
  d.out.execute = activemask;
}

void decode_elect(Decoder& d) {
  begin(d, 2);
  take_result(d, d.operand(0), 4);
  d.members(d.operand(1));
  d.out.execute = elect;
}

}  // namespace tilewright::rt::emulator
