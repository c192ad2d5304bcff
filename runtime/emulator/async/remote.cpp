// st.async and red.async: stores and reductions on the shared memory of a cluster's blocks that complete on an mbarrier there.
#include <fmt/format.h>

#include <cstring>

#include "runtime/emulator/async/bulk_operands.h"
#include "runtime/emulator/program/decoders.h"

namespace tilewright::rt::emulator {
namespace {

// Extra operands: the destination, an unused address and the mbarrier, two slots each, then the values.
constexpr u32 kValues = 6;

void store_async(Warp& warp, const Instruction& i, Mask mask) {
  const u64 bytes = u64{i.width} * i.count;
  for (const int lane : lanes_of(mask)) {
    const auto destinations = destinations_of(warp, i, lane, bytes, bytes, 0);
    if (destinations.empty()) continue;
    std::array<std::byte, 16> value;
    for (u32 k = 0; k < i.count; ++k)
      std::memcpy(value.data() + std::size_t{k} * i.width, warp.registers + warp.kernel->extra[i.first + kValues + k] + lane * i.width,
                  i.width);
    begin_value({warp, i, lane, {{{0, 0, static_cast<u32>(bytes)}}}, 0, 1, reduction_of(i)}, destinations.front(), value);
  }
}

/// [destination], values, [mbarrier]
void take_operands(Decoder& d) {
  d.out.category = Category::async_copy;
  d.out.execute = store_async;
  d.expect_operands(3);
  take_bulk_address(d, d.operand(0), 0);
  skip_bulk_address(d, 1);
  take_bulk_address(d, d.operand(2), 2);
  const Operand& value = d.operand(1);
  if (d.out.count == 1) return d.extra_source(value, d.out.width);
  if (value.kind != OperandKind::vector || value.parts.size() != d.out.count) d.fail(fmt::format("expected {} values", d.out.count));
  for (const Operand& part : value.parts) d.extra_source(part, d.out.width);
}

}  // namespace

void decode_store_async(Decoder& d) {
  d.take("weak");
  if (!d.take("shared::cluster") || !d.take("mbarrier::complete_tx::bytes"))
    d.fail("expected 'st.async.shared::cluster.mbarrier::complete_tx::bytes'");
  const int vector = d.take_one({"v2", "v4"});
  d.out.count = static_cast<u8>(vector < 0 ? 1 : 2 << vector);
  const Type type = d.take_type();
  d.out.width = static_cast<u8>(bytes_of(type));
  if (d.out.width < 4 || d.out.width * d.out.count > 16) d.fail("no instruction of this type");
  take_operands(d);
}

void decode_reduce_async(Decoder& d) {
  d.take("relaxed");
  d.take("cluster");
  if (!d.take("shared::cluster") || !d.take("mbarrier::complete_tx::bytes"))
    d.fail("expected 'red.async.shared::cluster.mbarrier::complete_tx::bytes'");
  const AtomicOp op = take_reduction(d);
  const Type type = d.take_type();
  const auto update = find_update(op, type);
  if (!update || bytes_of(type) < 4 || is_float(type)) d.fail("no instruction of this type");
  d.options<BulkOptions>().reduces = true;
  d.options<BulkOptions>().update = *update;
  d.out.count = 1;
  d.out.width = static_cast<u8>(bytes_of(type));
  take_operands(d);
}

}  // namespace tilewright::rt::emulator
