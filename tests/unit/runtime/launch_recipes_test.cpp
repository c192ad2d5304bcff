// Parameters that the host computes at each launch, in launches and in graphs of launches: the arguments of the driver's calls, and a
// kernel that copies with tensor maps on the emulator and on GPUs that run sm_90a code.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "count_allocations.h"
#include "fake_device.h"
#include "runtime/devices.h"
#include "tilewright/device.h"

namespace tilewright::rt::cuda {
namespace {

using backend::CompiledKernel;
using Kind = backend::LaunchRecipe::Kind;

/// The text of the exception that f throws.
template <class F>
std::string failure_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return has(e.where().file, "launch_recipes_test.cpp") && e.where().line > 0 ? e.what() : std::string("wrong location: ") + e.what();
  }
  return "no error";
}

/// k(x, n): passes n / 4 and the user's programs along axis 1 behind its arguments, and launches n / 4 programs along axis 0.
CompiledKernel divided() {
  CompiledKernel k = ptx_kernel("divided", 2);
  k.params[1] = ir::Type(ir::Element::i32);
  k.launch.recipe.steps = {{Kind::parameter, 1}, {Kind::constant, 4}, {Kind::div, 0, 0, 1}, {Kind::grid, 1}, {Kind::div, 0, 1, 0}};
  k.launch.parameters = {backend::PackedParameter{8, {{0, 8, 2}}}, backend::PackedParameter{8, {{0, 4, 3}}}};
  k.launch.grid[0] = 2;
  return k;
}

TEST_CASE("launch_recipes: made parameters follow the arguments, and a launch allocates nothing") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  const auto kernel = device->load(divided(), Here::current());
  driver.parameter_count = 4;
  const auto launch = [&](std::uint64_t n, std::int32_t y) {
    const std::uint64_t arguments[] = {0x1000, n};
    const long before = allocations_so_far();
    device->launch(*kernel, {.grid = {1, y, 3}, .where = Here::current()}, arguments, device->default_stream());
    return allocations_so_far() - before;
  };
  launch(40, 2);
  CHECK(driver.parameters == std::vector<std::uint64_t>{0x1000, 40, 10, 2});
  const CUlaunchConfig& c = driver.launched;
  CHECK(std::array{c.gridDimX, c.gridDimY, c.gridDimZ} == std::array{10u, 2u, 3u});
  launch(100, 7);
  CHECK(driver.parameters == std::vector<std::uint64_t>{0x1000, 100, 25, 7});
  CHECK(driver.launched.gridDimX == 25);
  CHECK(launch(48, 1) == 0);
}

TEST_CASE("launch_recipes: arguments that have no launch are an error at the launch") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  const auto kernel = device->load(divided(), Here::current());
  const auto launch = [&](std::uint64_t n) {
    const std::uint64_t arguments[] = {0x1000, n};
    return failure_of([&] { device->launch(*kernel, {.where = Here::current()}, arguments, device->default_stream()); });
  };
  CHECK(has(launch(0), "launch: kernel 'divided': a division by 0"));
  CHECK(has(launch(3), "launch: kernel 'divided': 0 programs along axis 0; a launch has 1 to 2147483647"));
  CHECK(has(launch(0xffffffff - 7), "launch: kernel 'divided': -2 programs along axis 0; a launch has 1 to 2147483647"));
  CHECK(driver.count("cuLaunchKernelEx") == 0);
  CHECK(launch(4) == "no error");
}

TEST_CASE("launch_recipes: nodes of a graph have the parameters of their launch, and keep them if another has none") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  const auto kernel = device->load(divided(), Here::current());
  const auto sequence = device->create_sequence();
  driver.parameter_count = 4;
  const auto launch = [&](std::uint64_t first, std::uint64_t second) {
    driver.node_parameters.clear();
    std::vector<PreparedLaunch> launches;
    for (const std::uint64_t n : {first, second})
      launches.push_back({kernel.get(), {.grid = {1, 2, 3}, .where = Here::current()}, {0x1000, n}});
    return failure_of([&] { sequence->launch(launches, device->default_stream()); });
  };
  const auto words = [](std::uint64_t n) { return std::vector<std::uint64_t>{0x1000, n, n / 4, 2}; };
  using Nodes = std::vector<std::vector<std::uint64_t>>;
  CHECK(launch(40, 80) == "no error");
  CHECK(driver.node_parameters == Nodes{words(40), words(80)});
  CHECK(launch(40, 80) == "no error");
  CHECK(driver.node_parameters.empty());
  CHECK(launch(40, 84) == "no error");
  CHECK(driver.node_parameters == Nodes{words(84)});
  CHECK(has(launch(44, 0), "launch: kernel 'divided': a division by 0"));
  CHECK(driver.count("cuGraphLaunch") == 3);
  CHECK(launch(40, 84) == "no error");
  CHECK(driver.node_parameters == Nodes{words(40)});
  CHECK(driver.count("cuGraphLaunch") == 4);
}

/// A kernel whose parameter is a map of a [rows, columns] tensor with a pitch, all three arguments.
CompiledKernel mapped(ir::Element element, int swizzle_bytes = 0) {
  CompiledKernel k = ptx_kernel("mapped", 4);
  for (int i : {0, 1, 2, 3}) k.launch.recipe.steps.push_back({Kind::parameter, i});
  k.launch.parameters = {backend::TensorMapParameter{element, 0, {2, 1}, {3}, {64, 16}, swizzle_bytes}};
  return k;
}

TEST_CASE("launch_recipes: tensor maps have the element's type, and bytes where the driver counts bytes") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  const std::uint64_t arguments[] = {0x1000, 30, 100, 112};
  using E = ir::Element;
  for (const auto& [element, type, bytes] : {std::tuple{E::f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2},
                                             {E::bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2},
                                             {E::f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4},
                                             {E::f64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8},
                                             {E::i8, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},
                                             {E::u16, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2},
                                             {E::i32, CU_TENSOR_MAP_DATA_TYPE_INT32, 4},
                                             {E::u32, CU_TENSOR_MAP_DATA_TYPE_UINT32, 4},
                                             {E::i64, CU_TENSOR_MAP_DATA_TYPE_INT64, 8},
                                             {E::u64, CU_TENSOR_MAP_DATA_TYPE_UINT64, 8}}) {
    device->launch(*device->load(mapped(element), Here::current()), {.where = Here::current()}, arguments, device->default_stream());
    CHECK(driver.map.type == type);
    CHECK(driver.map.strides == std::vector<std::uint64_t>{std::uint64_t(112) * static_cast<std::uint64_t>(bytes)});
  }
  CHECK(driver.map.address == reinterpret_cast<void*>(0x1000));
  CHECK(driver.map.extents == std::vector<std::uint64_t>{100, 30});
  CHECK(driver.map.box == std::vector<std::uint32_t>{64, 16});
  CHECK(driver.map.steps == std::vector<std::uint32_t>{1, 1});
  for (const auto& [bytes, mode] : {std::pair{0, CU_TENSOR_MAP_SWIZZLE_NONE},
                                    {32, CU_TENSOR_MAP_SWIZZLE_32B},
                                    {64, CU_TENSOR_MAP_SWIZZLE_64B},
                                    {128, CU_TENSOR_MAP_SWIZZLE_128B}}) {
    device->launch(*device->load(mapped(E::f16, bytes), Here::current()), {.where = Here::current()}, arguments, device->default_stream());
    CHECK(driver.map.swizzle == mode);
  }
  driver.fail("cuTensorMapEncodeTiled", CUDA_ERROR_UNKNOWN);
  const auto kernel = device->load(mapped(E::f16), Here::current());
  const std::string text = failure_of([&] { device->launch(*kernel, {.where = Here::current()}, arguments, device->default_stream()); });
  CHECK_MESSAGE(has(text,
                    "cuTensorMapEncodeTiled: CUDA_ERROR_UNKNOWN (999: its description) on device 'cuda:0', of kernel 'mapped' for a "
                    "tensor of f16 at 0x1000 with extents [100, 30], strides of [224] bytes and a box of [64, 16]"),
                text);
}

TEST_CASE("launch_recipes: the driver encodes a map once for the same numbers, and the oldest of some maps is forgotten") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  const auto kernel = device->load(mapped(ir::Element::f16), Here::current());
  const auto launch = [&](std::uint64_t address, std::uint64_t rows) {
    const std::uint64_t arguments[] = {address, rows, 100, 112};
    device->launch(*kernel, {.where = Here::current()}, arguments, device->default_stream());
    return driver.count("cuTensorMapEncodeTiled");
  };
  CHECK(launch(0x1000, 30) == 1);
  CHECK(launch(0x1000, 30) == 1);
  CHECK(launch(0x1000, 31) == 2);
  CHECK(launch(0x2000, 30) == 3);
  CHECK(launch(0x1000, 30) == 3);
  CHECK(launch(0x3000, 30) == 4);
  CHECK(launch(0x4000, 30) == 5);
  CHECK(launch(0x2000, 30) == 5);
  CHECK(launch(0x1000, 30) == 6);
}

TEST_CASE("launch_recipes: a number that must be positive is looked at in each launch") {
  FakeDriver driver;
  const auto device = open_fake(driver);
  CompiledKernel k = divided();
  k.launch.positive = {0};
  const auto kernel = device->load(k, Here::current());
  const auto launch = [&](std::int32_t n) {
    const std::uint64_t arguments[] = {0x1000, static_cast<std::uint32_t>(n)};
    return failure_of([&] { device->launch(*kernel, {.where = Here::current()}, arguments, device->default_stream()); });
  };
  CHECK(launch(4) == "no error");
  for (const int n : {-1, -3})
    CHECK(has(launch(n), fmt::format("launch: kernel 'divided': a program may divide a position in a tensor by {}; by bulk copies it can "
                                     "only be divided by positive numbers",
                                     n)));
}

TEST_CASE("launch_recipes: the bit that drivers before CUDA 13.2 set in maps of small tensors is cleared") {
  // Rows of 128 columns of 4 bytes: 256 rows have 128 KiB.
  for (const auto& [version, rows, is_cleared] :
       {std::tuple{13010, 255, true}, {13010, 256, false}, {12080, 255, true}, {13020, 255, false}}) {
    FakeDriver driver;
    driver.driver_version = version;
    const auto device = open_fake(driver);
    driver.parameter_count = 5;
    CUtensorMap map{};
    driver.look = [&](void** parameters) { map = *static_cast<CUtensorMap*>(parameters[4]); };
    const std::uint64_t arguments[] = {0x1000, static_cast<std::uint64_t>(rows), 128, 128};
    device->launch(*device->load(mapped(ir::Element::f32), Here::current()), {.where = Here::current()}, arguments,
                   device->default_stream());
    CAPTURE(version);
    CAPTURE(rows);
    for (std::size_t i = 0; i < 16; ++i) CHECK(map.opaque[i] == (i == 1 && is_cleared ? ~(std::uint64_t{1} << 21) : ~std::uint64_t{0}));
  }
}

// add(from, to, width, height): a program copies a row of boxes of 32 by 32 by way of shared memory, and adds the number in the second
// half of `block`. How many boxes a row has stands in its second word.
constexpr const char* kAdd = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry add(.param .u64 from, .param .u64 to, .param .u32 width, .param .u32 height, .param .align 64 .b8 in[128],
                    .param .align 64 .b8 out[128], .param .align 8 .b8 block[16]) .reqntid 32, 1, 1
{
  .reg .pred %p<8>;
  .reg .b32 %r<16>;
  .reg .f32 %f<4>;
  .reg .b64 %d<4>;
  .shared .align 128 .b8 tile[4096];
  .shared .align 8 .b64 full;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, full;
  mov.u32 %r2, tile;
  mov.b64 %d0, in;
  cvta.param.u64 %d0, %d0;
  mov.b64 %d1, out;
  cvta.param.u64 %d1, %d1;
  ld.param.u32 %r3, [block+4];
  ld.param.u64 %d2, [block+8];
  cvt.rn.f32.s64 %f0, %d2;
  mov.u32 %r4, %ctaid.x;
  shl.b32 %r4, %r4, 5;
  shl.b32 %r5, %r0, 2;
  add.u32 %r5, %r5, %r2;
  setp.eq.u32 %p0, %r0, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%r1], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  bar.sync 0;
  mov.u32 %r6, 0;
  mov.u32 %r7, 0;
TILE:
  setp.ge.u32 %p1, %r6, %r3;
  @%p1 bra DONE;
  shl.b32 %r8, %r6, 5;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 4096;
  @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%d0, {%r8, %r4}], [%r1];
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], %r7;
  @!%p2 bra FULL;
  mov.u32 %r9, 0;
ROW:
  shl.b32 %r10, %r9, 7;
  add.u32 %r10, %r10, %r5;
  ld.shared.f32 %f1, [%r10];
  add.f32 %f1, %f1, %f0;
  st.shared.f32 [%r10], %f1;
  add.u32 %r9, %r9, 1;
  setp.lt.u32 %p3, %r9, 32;
  @%p3 bra ROW;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d1, {%r8, %r4}], [%r2];
  @%p0 cp.async.bulk.commit_group;
  @%p0 cp.async.bulk.wait_group 0;
  bar.sync 0;
  add.u32 %r6, %r6, 1;
  xor.b32 %r7, %r7, 1;
  bra TILE;
DONE:
  ret;
}
)";

CompiledKernel add() {
  CompiledKernel k;
  k.name = k.entry = "add";
  k.target = "sm_90a";
  k.format = CompiledKernel::Format::ptx;
  const auto bytes = std::as_bytes(std::span(kAdd, std::char_traits<char>::length(kAdd)));
  k.image.assign(bytes.begin(), bytes.end());
  k.params = {ir::Type::pointer(ir::Element::f32, true), ir::Type::pointer(ir::Element::f32, false), ir::Type(ir::Element::i32),
              ir::Type(ir::Element::i32)};
  k.resources.num_warps = 1;
  auto& steps = k.launch.recipe.steps;
  for (int i : {0, 1, 2, 3}) steps.push_back({Kind::parameter, i});
  steps.push_back({Kind::constant, 31});
  steps.push_back({Kind::add, 0, 2, 4});
  steps.push_back({Kind::constant, 5});
  steps.push_back({Kind::shr, 0, 5, 6});  // 7: boxes of a row
  steps.push_back({Kind::add, 0, 3, 4});
  steps.push_back({Kind::shr, 0, 8, 6});  // 9: rows of boxes
  steps.push_back({Kind::sub, 0, 2, 3});  // 10: what is added
  const auto map = [](int address) { return backend::TensorMapParameter{ir::Element::f32, address, {2, 3}, {2}, {32, 32}}; };
  k.launch.parameters = {map(0), map(1), backend::PackedParameter{16, {{4, 4, 7}, {8, 8, 10}}}};
  k.launch.grid[0] = 9;
  return k;
}

/// Emulated or not, devices that run code for sm_90a.
std::vector<tilewright::Device> devices() {
  std::vector<tilewright::Device> out{tilewright::Device::open("emulator:sm_90a")};
  for (const DeviceInfo& info : rt::list_devices()) {
    if (!info.usable || !info.name.starts_with("cuda:")) continue;
    tilewright::Device device = tilewright::Device::open(info.name);
    if (device.handle()->target() == "sm_90a") out.push_back(device);
  }
  return out;
}

/// A tensor of width * height numbers, on a device.
struct Matrix {
  int width, height;
  tilewright::Buffer<float> buffer;
  Matrix(const tilewright::Device& device, int w, int h, float first)
      : width(w), height(h), buffer(device.upload([&] {
          std::vector<float> v(static_cast<std::size_t>(w * h));
          for (std::size_t i = 0; i < v.size(); ++i) v[i] = first + static_cast<float>(i % 1013);
          return v;
        }())) {}
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(buffer.data()); }
};

PreparedLaunch launch_of(const Executable& kernel, const Matrix& from, const Matrix& to) {
  const auto word = [](int n) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(n)); };
  return {&kernel, {.where = Here::current()}, {from.address(), to.address(), word(from.width), word(from.height)}};
}

/// Whether `to` is what `times` launches make of `from`.
bool is_sum(const Matrix& from, const Matrix& to, int times = 1) {
  const std::vector<float> x = from.buffer.download(), y = to.buffer.download();
  const float added = static_cast<float>(times * (from.width - from.height));
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](float a, float b) { return a + added == b; });
}

TEST_CASE("launch_recipes: a kernel copies by the tensor maps of its launch, in every size") {
  for (const tilewright::Device& device : devices()) {
    CAPTURE(device.name());
    const auto kernel = device.handle()->load(add(), Here::current());
    for (const auto& [width, height] : {std::pair{32, 32}, {64, 96}, {100, 50}, {4, 1}, {132, 300}}) {
      CAPTURE(width);
      const Matrix from(device, width, height, 3), to(device, width, height, -1);
      const PreparedLaunch l = launch_of(*kernel, from, to);
      device.handle()->launch(*kernel, l.config, l.arguments, device.handle()->default_stream());
      CHECK(is_sum(from, to));
    }
  }
}

TEST_CASE("launch_recipes: launches of one graph get maps of their arguments, as these change") {
  for (const tilewright::Device& device : devices()) {
    CAPTURE(device.name());
    rt::Device& raw = *device.handle();
    const auto kernel = raw.load(add(), Here::current());
    const auto sequence = raw.create_sequence();
    REQUIRE(sequence);
    const auto twice = [&](const Matrix& from, const Matrix& between, const Matrix& to) {
      const PreparedLaunch launches[] = {launch_of(*kernel, from, between), launch_of(*kernel, between, to)};
      return failure_of([&] { sequence->launch(launches, raw.default_stream()); });
    };
    const auto check = [&](int width, int height) {
      CAPTURE(width);
      const Matrix from(device, width, height, 7), between(device, width, height, -1), to(device, width, height, -2);
      CHECK(twice(from, between, to) == "no error");
      CHECK(is_sum(from, to, 2));
    };
    check(64, 32);
    check(64, 32);
    check(100, 50);
    check(36, 129);
    // The graph keeps its launches if another sequence is refused, here because its second launch has no programs.
    const Matrix from(device, 40, 8, 1), between(device, 40, 8, 0), to(device, 40, 8, 0), none(device, 40, 8, 0);
    CHECK(twice(from, between, to) == "no error");
    const PreparedLaunch good = launch_of(*kernel, from, none);
    PreparedLaunch bad = launch_of(*kernel, between, to);
    bad.arguments[3] = 0;
    CHECK(has(failure_of([&] { sequence->launch(std::array{good, bad}, raw.default_stream()); }), "launch: kernel 'add': 0 programs"));
    CHECK(none.buffer.download() == Matrix(device, 40, 8, 0).buffer.download());
    CHECK(twice(from, between, to) == "no error");
    CHECK(is_sum(from, to, 2));
  }
}

TEST_CASE("launch_recipes: a tensor that the driver takes no map of is refused at the launch, and the device goes on") {
  for (const tilewright::Device& device : devices()) {
    CAPTURE(device.name());
    rt::Device& raw = *device.handle();
    const auto kernel = raw.load(add(), Here::current());
    const Matrix from(device, 36, 9, 3), to(device, 36, 9, -1);
    PreparedLaunch l = launch_of(*kernel, from, to);
    const auto launch = [&] { return failure_of([&] { raw.launch(*kernel, l.config, l.arguments, raw.default_stream()); }); };
    l.arguments[0] += 4;
    const std::string text = launch();
    CHECK_MESSAGE(has(text, "cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE"), text);
    CHECK_MESSAGE(has(text, "of kernel 'add' for a tensor of f32 at"), text);
    l.arguments[0] -= 4;
    CHECK(launch() == "no error");
    CHECK(is_sum(from, to));
  }
}

}  // namespace
}  // namespace tilewright::rt::cuda
