// Tensor copies on the emulator against boxes copied element by element, and the driver's rules for tensor maps.
// tests/ptx/emulator/tensor.ptx has the cases whose result is a report or a few values.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/emulator/driver/emulated_driver.h"
#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

using namespace cuda;

/// A tensor of u16 and a box of it; the first dimension runs fastest.
struct Tensor {
  std::vector<u64> extents;
  std::vector<u64> strides;  // bytes, of all dimensions but the first
  std::vector<u32> box;
  std::vector<u32> steps;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT16;

  Tensor(std::vector<u64> e, std::vector<u32> b) : extents(std::move(e)), box(std::move(b)), steps(extents.size(), 1) {
    u64 stride = 2;
    for (std::size_t d = 0; d + 1 < extents.size(); ++d) strides.push_back(stride = (stride * extents[d] + 15) / 16 * 16);
  }
  u64 bytes() const { return strides.empty() ? extents[0] * 2 : strides.back() * extents.back(); }
  u32 length(std::size_t d) const { return d == 0 ? box[0] : (box[d] + steps[d] - 1) / steps[d]; }
  u64 box_bytes() const {
    u64 bytes = 2;
    for (std::size_t d = 0; d < box.size(); ++d) bytes *= length(d);
    return bytes;
  }
  /// Calls f(byte of the box, byte of the tensor or -1 if that is outside).
  template <class F>
  void each(const std::vector<s32>& at, F f) const {
    for (u64 k = 0; k < box_bytes() / 2; ++k) {
      u64 rest = k;
      s64 address = 0;
      bool is_inside = true;
      for (std::size_t d = 0; d < box.size(); ++d) {
        const s64 x = at[d] + static_cast<s64>(rest % length(d) * steps[d]);
        rest /= length(d);
        is_inside &= x >= 0 && x < static_cast<s64>(extents[d]);
        address += x * (d == 0 ? 2 : static_cast<s64>(strides[d - 1]));
      }
      u64 place = 2 * k;
      const u64 span = swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : u64{16} << static_cast<int>(swizzle);
      // Rows of 128 bytes are made of chunks of 16, and row r has its chunks exchanged by r modulo their number.
      if (span != 0) place ^= (place / 128 % (span / 16)) * 16;
      f(place, is_inside ? address : -1);
    }
  }
};

CUresult encode(CUtensorMap& map, const Tensor& tensor, u64 address, CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE) {
  return emulated_driver().cuTensorMapEncodeTiled(&map, tensor.type, static_cast<u32>(tensor.extents.size()),
                                                  reinterpret_cast<void*>(address), tensor.extents.data(), tensor.strides.data(),
                                                  tensor.box.data(), tensor.steps.data(), interleave, tensor.swizzle,
                                                  CU_TENSOR_MAP_L2_PROMOTION_L2_128B, tensor.fill);
}

/// The error's text of the last encode().
std::string why() {
  const char* text = nullptr;
  emulated_driver().cuGetErrorString(CUDA_ERROR_INVALID_VALUE, &text);
  return text;
}

const std::string kStart = R"(
  .shared .align 8 .b64 bar;
  .shared .align 1024 .b8 tile[32768];
  mov.u32 %r30, bar;
  mov.u32 %r31, tile;
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p1, %r0, 0;
  mov.b64 %d29, map;
  cvta.param.u64 %d29, %d29;
  ld.param.u64 %d30, [out];
  @%p1 mbarrier.init.shared::cta.b64 [%r30], 1;
  bar.sync 0;
)";
const char* const kParams = ".param .align 64 .b8 map[128], .param .u64 out";

std::string coordinates_text(const std::vector<s32>& at) {
  std::string text;
  for (s32 x : at) text += (text.empty() ? "" : ", ") + std::to_string(x);
  return text;
}

/// Copies the box's bytes between shared memory at %r31 and global memory at %d30, 16 a thread and turn.
std::string copy_loop(u64 bytes, bool to_global) {
  return fmt::format(R"(
    mov.u32 %r1, %r0;
    COPY:
    shl.b32 %r2, %r1, 4;
    setp.ge.u32 %p3, %r2, {};
    @%p3 bra COPIED;
    cvt.u64.u32 %d1, %r2;
    add.u64 %d1, %d1, %d30;
    add.u32 %r2, %r2, %r31;
    ld.{}.v4.u32 {{%r3, %r4, %r5, %r6}}, [{}];
    st.{}.v4.u32 [{}], {{%r3, %r4, %r5, %r6}};
    add.u32 %r1, %r1, 64;
    bra COPY;
    COPIED:
  )",
                     bytes, to_global ? "shared" : "global", to_global ? "%r2" : "%d1", to_global ? "global" : "shared",
                     to_global ? "%d1" : "%r2");
}

std::vector<u16> counted(std::size_t count, u16 first) {
  std::vector<u16> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<u16>(first + i * 7);
  return values;
}

void check_load(const Tensor& tensor, const std::vector<s32>& at, AsyncOrder order) {
  CAPTURE(coordinates_text(at));
  CAPTURE(tensor.extents.size());
  CAPTURE(static_cast<int>(tensor.swizzle));
  const u64 bytes = tensor.box_bytes();
  Bench bench(hopper_module_of(
      kParams,
      kStart +
          fmt::format("@%p1 prefetch.tensormap [%d29];\n@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r30], {};\n"
                      "@%p1 cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r31], [%d29, {{{}}}], "
                      "[%r30];\nW: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r30], 0;\n@!%p2 bra W;\n",
                      bytes, tensor.extents.size(), coordinates_text(at)) +
          copy_loop(bytes, true)));
  bench.launch_params.async_order = order;
  const std::vector<u16> values = counted(tensor.bytes() / 2, 1);
  Array<u16> in(bench.memory, values), out(bench.memory, bytes / 2, 9);
  CUtensorMap map;
  REQUIRE(encode(map, tensor, in.address()) == CUDA_SUCCESS);
  Params params;
  bench.run("k", {1, 1, 1}, {64, 1, 1}, params.add(map).add(out.address()));
  CHECK(bench.found() == "");
  const auto result = out.values();
  const u16 outside = tensor.fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE ? 0 : 0x7fff;
  bool is_right = true;
  tensor.each(at, [&](u64 place, s64 address) {
    is_right &= result[place / 2] == (address < 0 ? outside : values[static_cast<std::size_t>(address) / 2]);
  });
  CHECK(is_right);
}

void check_store(const Tensor& tensor, const std::vector<s32>& at, AsyncOrder order, bool adds) {
  CAPTURE(coordinates_text(at));
  const u64 bytes = tensor.box_bytes();
  const std::string opcode = adds ? "cp.reduce.async.bulk.tensor.{}d.global.shared::cta.add.tile.bulk_group"
                                  : "cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group";
  Bench bench(hopper_module_of(
      kParams,
      kStart + copy_loop(bytes, false) + "fence.proxy.async.shared::cta;\nbar.sync 0;\n@%p1 " +
          fmt::format(fmt::runtime(opcode), tensor.extents.size()) +
          fmt::format(" [%d29, {{{}}}], [%r31];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n", coordinates_text(at))));
  bench.launch_params.async_order = order;
  const std::vector<u16> before = counted(tensor.bytes() / 2, 3), values = counted(bytes / 2, 1000);
  Array<u16> target(bench.memory, before), source(bench.memory, values);
  CUtensorMap map;
  REQUIRE(encode(map, tensor, target.address()) == CUDA_SUCCESS);
  Params params;
  bench.run("k", {1, 1, 1}, {64, 1, 1}, params.add(map).add(source.address()));
  CHECK(bench.found() == "");
  std::vector<u16> expected = before;
  tensor.each(at, [&](u64 place, s64 address) {
    if (address >= 0) expected[static_cast<std::size_t>(address) / 2] = values[place / 2];
  });
  CHECK(target.values() == expected);
}

}  // namespace

TEST_CASE("emulator tensor copies: boxes of one to five dimensions, whole and over every edge") {
  const Tensor one({100}, {64}), two({40, 30}, {32, 8}), three({24, 10, 5}, {16, 4, 3}), four({16, 6, 5, 4}, {8, 4, 2, 3}),
      five({16, 5, 4, 3, 3}, {8, 3, 2, 2, 2});
  for (const AsyncOrder order : kAsyncOrders) {
    for (const s32 x : {0, 8, -3, 70, 200}) check_load(one, {x}, order);
    for (const auto& at : {std::vector<s32>{0, 0}, {5, 20}, {-4, -2}, {30, 27}, {100, 0}, {0, 40}}) check_load(two, at, order);
    for (const auto& at : {std::vector<s32>{0, 0, 0}, {10, 8, 3}, {-1, -1, -1}}) check_load(three, at, order);
    for (const auto& at : {std::vector<s32>{0, 0, 0, 0}, {10, 4, 4, 2}, {-1, -1, -1, -2}}) check_load(four, at, order);
    for (const auto& at : {std::vector<s32>{0, 0, 0, 0, 0}, {10, 4, 3, 2, 2}, {-1, -1, -1, -1, -1}}) check_load(five, at, order);
  }
}

TEST_CASE("emulator tensor copies: every swizzle, element strides and NaN outside") {
  for (const auto& [swizzle, row] :
       {std::pair{CU_TENSOR_MAP_SWIZZLE_32B, 16u}, {CU_TENSOR_MAP_SWIZZLE_64B, 32u}, {CU_TENSOR_MAP_SWIZZLE_128B, 64u}}) {
    Tensor tensor({100, 40}, {row, 32});
    tensor.swizzle = swizzle;
    check_load(tensor, {0, 0}, AsyncOrder::lazy);
    check_load(tensor, {90, 20}, AsyncOrder::lazy);
    check_load(tensor, {-7, -3}, AsyncOrder::lazy);
    check_store(tensor, {16, 3}, AsyncOrder::lazy, false);
    check_store(tensor, {95, 30}, AsyncOrder::lazy, false);
  }
  Tensor strided({40, 30, 9}, {32, 8, 6});
  strided.steps = {1, 2, 4};
  check_load(strided, {3, 1, 2}, AsyncOrder::lazy);
  check_load(strided, {20, 26, 7}, AsyncOrder::eager);
  Tensor floats({40, 30}, {32, 8});
  floats.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  floats.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  check_load(floats, {25, 25}, AsyncOrder::lazy);
}

TEST_CASE("emulator tensor copies: stores leave out what lies outside") {
  for (const AsyncOrder order : kAsyncOrders) {
    check_store(Tensor({100}, {64}), {50}, order, false);
    for (const auto& at : {std::vector<s32>{0, 0}, {5, 20}, {-4, -2}, {30, 27}}) check_store(Tensor({40, 30}, {32, 8}), at, order, false);
    check_store(Tensor({16, 5, 4, 3, 3}, {8, 3, 2, 2, 2}), {10, 4, 3, 2, 2}, order, false);
  }
}

TEST_CASE("emulator tensor maps: the driver's rules") {
  CUtensorMap map;
  const Tensor good({64, 64}, {64, 16});
  CHECK(encode(map, good, 4096) == CUDA_SUCCESS);
  const auto refused = [&](auto change, const std::string& text, u64 address = 4096) {
    Tensor tensor = good;
    change(tensor);
    CHECK(encode(map, tensor, address) == CUDA_ERROR_INVALID_VALUE);
    CHECK(contains(why(), text));
  };
  const auto nothing = [](Tensor&) {};
  refused(nothing, "the address 0x1008 of the tensor: expected a multiple of 16", 4104);
  refused([](Tensor& t) { t.extents[1] = 0; }, "an extent of 0 in dimension 1: expected 1 to 2^32");
  refused([](Tensor& t) { t.strides[0] = 136; }, "a stride of 136 bytes in dimension 1: expected a multiple of 16 below 2^40");
  refused([](Tensor& t) { t.strides[0] = u64{1} << 40; }, "below 2^40");
  refused([](Tensor& t) { t.box[1] = 257; }, "257 elements of the box in dimension 1: expected 1 to 256");
  refused([](Tensor& t) { t.box[0] = 0; }, "0 elements of the box");
  refused([](Tensor& t) { t.box[0] = 12; }, "a row of the box of 24 bytes: expected a multiple of 16");
  refused([](Tensor& t) { t.steps[1] = 9; }, "an element stride of 9 in dimension 1: expected 1 to 8");
  refused([](Tensor& t) { t.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; },
          "a row of the box of 128 bytes: expected at most the 64 of the swizzle");
  refused([](Tensor& t) { t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA; },
          "NaN as what lies outside of a tensor of integers");
  refused([](Tensor& t) { t.type = static_cast<CUtensorMapDataType>(11); }, "not supported");
  CHECK(encode(map, good, 4096, static_cast<CUtensorMapInterleave>(1)) == CUDA_ERROR_INVALID_VALUE);
  CHECK(contains(why(), "interleaved tensors are not supported"));
}

}  // namespace tilewright::rt::emulator
