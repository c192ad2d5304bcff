// Tensor maps that kernels make themselves (PTX ISA, "tensormap.replace" and "tensormap.cp_fenceproxy").
#include <fmt/format.h>

#include <cstring>

#include "runtime/emulator/async/bulk_operands.h"
#include "runtime/emulator/async/tensor_map.h"
#include "runtime/emulator/program/decoders.h"

namespace tilewright::rt::emulator {
namespace {

enum class Field : u32 {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  fill_mode,
};
struct ReplaceOptions {
  Field field = Field::global_address;
};

bool has_dimension(Field field) { return field >= Field::box_dim && field <= Field::element_stride; }

// Tensor maps are aligned to 64 bytes.
constexpr int kHalf = 64;

/// Calls f(request) for both halves of the lanes' maps; each half is checked as an access of this kind.
template <class F>
void locate_maps(Warp& warp, const Instruction& i, Mask mask, const Lanes<u64>& first, Space space, Access access, F f) {
  const Accessor by = accessor_of(warp, i);
  Lanes<u64> address = first;
  for (int half = 0; half < 2; ++half) {
    locate(warp, i, mask, address, space, kHalf, [&](const Request& request) {
      check_written(warp, i, request, kHalf, access);
      for (const int lane : lanes_of(request.mask)) {
        if (access != Access::write) check_read(by, request, lane, kHalf);
        if (access != Access::read) check_write(by, request, lane, kHalf, nullptr);
      }
      f(half, request);
    });
    for (u64& a : address.at) a += kHalf;
  }
}

void set_field(TensorMap& map, Field field, std::size_t dimension, u64 value) {
  switch (field) {
    case Field::global_address:
      map.address = value;
      map.magic = TensorMap::kMagic;  // a map that started as zeros now becomes one
      break;
    case Field::rank: map.rank_less_one = static_cast<u8>(std::min<u64>(value, 0xff)); break;
    case Field::box_dim: map.box[dimension] = static_cast<u16>(std::min<u64>(value, 0xffff)); break;
    case Field::global_dim: map.last[dimension] = static_cast<u32>(value) - 1; break;
    case Field::global_stride: map.strides[dimension] = value; break;
    case Field::element_stride: map.element_strides[dimension] = static_cast<u8>(std::min<u64>(value, 0xff)); break;
    case Field::elemtype: map.element = static_cast<TensorElement>(value); break;
    case Field::interleave_layout: map.interleave = static_cast<u8>(value); break;
    case Field::swizzle_mode: map.swizzle = static_cast<TensorSwizzle>(value); break;
    case Field::fill_mode: map.fills_nan = static_cast<u8>(value); break;
  }
}

void replace(Warp& warp, const Instruction& i, Mask mask) {
  const Field field = i.options<ReplaceOptions>().field;
  const Lanes<u64> address = addresses_of(warp, i, i.slot[0], i.immediate);
  locate_maps(warp, i, mask, address, i.space, Access::update, [&](int half, const Request& request) {
    if (half == 0) return;  // by now, the whole map is known to be accessible
    for (const int lane : lanes_of(request.mask)) {
      u64 value = 0;
      std::memcpy(&value, warp.registers + i.slot[1] + lane * i.value_bytes, i.value_bytes);
      u32 dimension = 0;
      if (i.slot[2] >= 0) std::memcpy(&dimension, warp.registers + i.slot[2] + lane * 4, 4);
      if (dimension > (field == Field::global_stride ? 3u : 4u)) {
        report(warp, i, DiagnosticKind::bad_operand, lane, [&] { return fmt::format("dimension {} of a tensor map", dimension); });
        continue;
      }
      TensorMap map;
      std::byte* start = request.at[lane] - kHalf;
      std::memcpy(&map, start, sizeof map);
      set_field(map, field, dimension, value);
      std::memcpy(start, &map, sizeof map);
    }
  });
}

/// Copies a map from shared to global memory, and releases it to other threads.
void copy_and_release(Warp& warp, const Instruction& i, Mask mask) {
  const int lane = __builtin_ctz(mask);  // all lanes have the same operands
  Lanes<u64> to{}, from{};
  to[lane] = bulk_address(warp, i, 0, lane);
  from[lane] = bulk_address(warp, i, 1, lane);
  std::array<std::byte, 128> map{};
  locate_maps(warp, i, kLaneBit[lane], from, Space::shared, Access::read,
              [&](int half, const Request& request) { std::memcpy(map.data() + half * kHalf, request.at[lane], kHalf); });
  locate_maps(warp, i, kLaneBit[lane], to, Space::global, Access::write,
              [&](int half, const Request& request) { std::memcpy(request.at[lane], map.data() + half * kHalf, kHalf); });
  if (warp.worker->launch->check) warp.released = release(warp, mask, i.whole_gpu);
}

void decode_copy(Decoder& d) {
  const auto [to, from] = take_bulk_spaces(d);
  if (to != BulkSpace::global || from != BulkSpace::block || !d.take("tensormap::generic") || !d.take("release"))
    d.fail("expected '.global.shared::cta.tensormap::generic.release'");
  const int scope = d.take_one({"cta", "cluster", "gpu", "sys"}, "a scope is missing");
  if (!d.take("sync") || !d.take("aligned")) d.fail("expected '.sync.aligned'");
  d.out.whole_gpu = scope > 0;
  d.out.is_aligned = true;
  d.out.kind = Kind::collective;
  d.expect_operands(3);
  take_bulk_address(d, d.operand(0), 0);
  take_bulk_address(d, d.operand(1), 1);
  if (d.constant(d.operand(2)) != 128) d.fail("a tensor map has 128 bytes");
  d.out.execute = copy_and_release;
}

}  // namespace

void decode_tensormap(Decoder& d) {
  d.out.category = Category::async_copy;
  if (d.take("cp_fenceproxy")) return decode_copy(d);
  if (!d.take("replace") || !d.take("tile")) d.fail("expected 'tensormap.replace.tile' or 'tensormap.cp_fenceproxy'");
  const int field = d.take_one({"global_address", "rank", "box_dim", "global_dim", "global_stride", "element_stride", "elemtype",
                                "interleave_layout", "swizzle_mode", "fill_mode"},
                               "a field is missing");
  const int space = d.take_one({"global", "shared::cta"});
  d.out.space = space < 0 ? Space::generic : space == 0 ? Space::global : Space::shared;
  const auto which = static_cast<Field>(field);
  d.options<ReplaceOptions>().field = which;
  const int bytes = which == Field::global_address || which == Field::global_stride ? 8 : 4;
  if (!d.take("b1024") || !d.take(bytes == 8 ? "b64" : "b32")) d.fail(fmt::format("expected '.b1024.b{}'", 8 * bytes));
  d.expect_operands(has_dimension(which) ? 3 : 2);
  d.address(0, d.operand(0));
  if (has_dimension(which)) d.source(2, d.operand(1), 4);
  d.source(1, d.operand(d.operands() - 1), bytes);
  d.out.value_bytes = static_cast<u8>(bytes);
  d.out.execute = replace;
}

}  // namespace tilewright::rt::emulator
