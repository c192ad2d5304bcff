// Bulk tensor copies (PTX ISA, "cp.async.bulk.tensor"): boxes of tensors that a tensor map describes.
#include <fmt/format.h>

#include <cstring>

#include "runtime/emulator/async/bulk_operands.h"
#include "runtime/emulator/async/tensor_map.h"
#include "runtime/emulator/memory/global_ranges.h"
#include "runtime/emulator/program/decoders.h"

namespace tilewright::rt::emulator {
namespace {

// Extra operands: the addresses of the shared memory, the map and the mbarrier; then coordinates and a multicast's mask.
constexpr int kCoordinates = 6;
constexpr u64 kAlignment = 128;

/// The map at a generic address. A thread must not be able to write there: ptxas accepts such an address, but the engine does not.
std::optional<TensorMap> map_at(Warp& warp, const Instruction& i, int lane, u64 address) {
  TensorMap map;
  const auto& params = warp.worker->launch->params;
  if (address % 64 != 0) {
    report(warp, i, DiagnosticKind::misaligned, lane,
           [&] { return fmt::format("a tensor map at 0x{:x}: expected a multiple of 64", address); });
    return std::nullopt;
  }
  if (address >= kParamWindow && address - kParamWindow < kWindowBytes && address - kParamWindow + 128 <= params.size()) {
    std::memcpy(&map, params.data() + (address - kParamWindow), sizeof map);
  } else if (address >= kSharedWindow && address < kParamWindow + kWindowBytes) {
    report(warp, i, DiagnosticKind::wrong_space, lane, [&] {
      return fmt::format("a tensor map at 0x{:x}, in memory of the thread or block: expected one in .param, .const or .global memory",
                         address);
    });
    return std::nullopt;
  } else {
    const Range* range = global_range(*warp.worker, address);
    if (range == nullptr || range->end() - address < 128) {
      report(warp, i, DiagnosticKind::out_of_bounds, lane, [&] { return describe_global(*warp.worker, address, 128); });
      return std::nullopt;
    }
    // What threads have written there is visible only after a proxy fence. No clock records that the engine has read it, so the read has
    // epoch 0, which every clock includes.
    if (warp.worker->launch->check && range->cells != nullptr) {
      static const AcquireClocks kNothing;
      const auto acquired = warp.async.maps.find(address);
      Accessor by = engine_of(warp, i, *warp.block, bulk_read_agent(warp.index), 0);
      by.tensor_map = acquired != warp.async.maps.end() ? &acquired->second : &kNothing;
      check_global_read(by, lane, *range, address, 128);
    }
    std::memcpy(&map, reinterpret_cast<const void*>(address), sizeof map);
  }
  const std::string fault = fault_of(map);
  if (!fault.empty()) {
    report(warp, i, DiagnosticKind::bad_operand, lane, [&] { return "the tensor map: " + fault; });
    return std::nullopt;
  }
  if (static_cast<u32>(map.rank()) != i.count) {
    report(warp, i, DiagnosticKind::bad_operand, lane,
           [&] { return fmt::format("a tensor map of {} dimensions for a copy of {}", map.rank(), i.count); });
    return std::nullopt;
  }
  return map;
}

std::array<s32, 5> coordinates_of(const Warp& warp, const Instruction& i, int lane) {
  std::array<s32, 5> coordinates{};
  for (int d = 0; d < i.count; ++d) coordinates[d] = static_cast<s32>(bulk_value(warp, i, kCoordinates + d, lane));
  return coordinates;
}

void load(Warp& warp, const Instruction& i, Mask mask) {
  for (const int lane : lanes_of(mask)) {
    const auto map = map_at(warp, i, lane, bulk_address(warp, i, 1, lane));
    if (!map) continue;
    const auto destinations = destinations_of(warp, i, lane, box_bytes(*map), kAlignment, kCoordinates + i.count);
    if (destinations.empty()) continue;
    begin_load({warp, i, lane, box_pieces(*map, coordinates_of(warp, i, lane), destinations.front().to.offset), fill_of(*map),
                bytes_of(map->element)},
               destinations);
  }
}

std::optional<Type> type_of(TensorElement element) {
  switch (element) {
    case TensorElement::u32: return Type::u32;
    case TensorElement::s32: return Type::s32;
    case TensorElement::u64: return Type::u64;
    case TensorElement::s64: return Type::s64;
    case TensorElement::f16: return Type::f16;
    case TensorElement::bf16: return Type::bf16;
    case TensorElement::f32: return Type::f32;
    case TensorElement::f64: return Type::f64;
    default: return std::nullopt;
  }
}

/// The reduction's operation on elements of the map; none, with a diagnostic, if there is no such operation.
std::optional<Reduction> reduction_on(Warp& warp, const Instruction& i, int lane, const TensorMap& map) {
  const AtomicOp op = i.options<BulkOptions>().op;
  auto type = type_of(map.element);
  // Bitwise operations do not depend on the elements' type.
  const bool is_bitwise = op == AtomicOp::bit_and || op == AtomicOp::bit_or || op == AtomicOp::bit_xor;
  if (type && is_bitwise && bytes_of(*type) >= 4) type = bytes_of(*type) == 4 ? Type::b32 : Type::b64;
  const auto update = type ? find_update(op, *type) : std::nullopt;
  if (update) return Reduction{in_global_memory(*update), bytes_of(*type)};
  report(warp, i, DiagnosticKind::bad_operand, lane, [] { return std::string("a reduction that elements of the tensor map do not have"); });
  return std::nullopt;
}

void store(Warp& warp, const Instruction& i, Mask mask) {
  for (const int lane : lanes_of(mask)) {
    const auto map = map_at(warp, i, lane, bulk_address(warp, i, 1, lane));
    if (!map) continue;
    const auto from = shared_location(warp, i, lane, bulk_address(warp, i, 0, lane), false, box_bytes(*map), kAlignment);
    if (!from) continue;
    BulkCopy copy{warp, i, lane, box_pieces(*map, coordinates_of(warp, i, lane), from->offset)};
    const bool reduces = i.options<BulkOptions>().reduces;
    if (reduces) copy.reduction = reduction_on(warp, i, lane, *map);
    if (!reduces || copy.reduction) begin_store(std::move(copy));
  }
}

/// Only checks its operands.
void prefetch(Warp& warp, const Instruction& i, Mask mask) {
  for (const int lane : lanes_of(mask)) map_at(warp, i, lane, bulk_address(warp, i, 1, lane));
}

/// Decodes the map and the coordinates, "[map, {x, y}]".
void take_box(Decoder& d, const Operand& operand) {
  take_bulk_address(d, operand, 1);
  if (operand.parts.size() != 2 || operand.parts[1].kind != OperandKind::vector || operand.parts[1].parts.size() != d.out.count)
    d.fail(fmt::format("expected {} coordinates beside the tensor map", d.out.count));
}
void take_coordinates(Decoder& d, const Operand& operand) {
  for (const Operand& coordinate : operand.parts[1].parts) d.extra_source(coordinate, 4);
}

void take_dimensions(Decoder& d) {
  const int dimensions = d.take_one({"1d", "2d", "3d", "4d", "5d"}, "the dimensions are missing");
  d.out.count = static_cast<u8>(dimensions + 1);
  d.take("tile");
}

void decode_copy(Decoder& d, bool reduces) {
  take_dimensions(d);
  const auto [is_load, is_move, is_store, has_hint] = take_bulk_form(d, reduces);
  if (is_move) d.fail("no copy between these spaces");
  BulkOptions& options = d.options<BulkOptions>();
  if (reduces) options.op = take_reduction(d);
  if (is_store) {
    // Neighbouring boxes of the tensor may share a word.
    d.out.space = Space::global;
    d.out.width = 2;
  }
  d.expect_operands(std::size_t{2} + is_load + options.is_multicast + has_hint);
  const Operand& box = d.operand(is_load ? 1 : 0);
  take_bulk_address(d, d.operand(is_load ? 0 : 1), 0);
  take_box(d, box);
  is_load ? take_bulk_address(d, d.operand(2), 2) : skip_bulk_address(d, 2);
  take_coordinates(d, box);
  if (options.is_multicast) d.extra_source(d.operand(3), 2);
  d.out.execute = is_load ? load : store;
}

}  // namespace

void decode_tensor_copy(Decoder& d) { decode_copy(d, false); }
void decode_tensor_reduce(Decoder& d) { decode_copy(d, true); }

void decode_tensor_prefetch(Decoder& d) {
  d.out.category = Category::async_copy;
  take_dimensions(d);
  const bool has_hint = d.take("L2::cache_hint");
  if (!d.take("L2") || !d.take("global")) d.fail("expected '.prefetch.tensor' and '.L2.global'");
  d.expect_operands(has_hint ? 2 : 1);
  skip_bulk_address(d, 0);
  take_box(d, d.operand(0));
  skip_bulk_address(d, 2);
  take_coordinates(d, d.operand(0));
  d.out.execute = prefetch;
}

}  // namespace tilewright::rt::emulator
