// Inputs for each kernel: small, with sizes that are not multiples of a tile.
#include "tests/mutants/ptx_launches.h"

#include <concepts>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "runtime/emulator/async/tensor_map.h"
#include "runtime/emulator/simd/small_float.h"

namespace tilewright::test {
namespace {

using namespace rt::emulator;

/// The bytes of a parameter; it uses as many as its size.
struct Argument {
  template <std::integral T>
  Argument(T value) : Argument(static_cast<u64>(value), sizeof value) {}
  Argument(const TensorMap& map) : Argument(map, sizeof map) {}

  std::array<std::byte, 128> bytes{};

 private:
  template <class T>
  Argument(const T& value, std::size_t size) {
    std::memcpy(bytes.data(), &value, size);
  }
};

class Maker {
 public:
  Maker(Memory& memory, std::vector<std::string>& reports) : memory_(memory), reports_(reports) {}

  void open(const std::string& file) {
    std::ifstream in(TW_PTX_FILES "/" + file);
    loaded_ = LoadedModule::load(std::string(std::istreambuf_iterator<char>(in), {}), file);
  }

  template <class T>
  u64 upload(const std::vector<T>& values) {
    const u64 address = memory_.allocate(values.size() * sizeof(T));
    memory_.write(address, values.data(), values.size() * sizeof(T));
    return address;
  }
  u64 floats(std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = draw_(random_);
    return upload(values);
  }
  u64 halves(std::size_t count) {
    std::vector<u16> values(count);
    for (u16& value : values) value = f32_to_f16(draw_(random_));
    return upload(values);
  }
  template <class T>
  u64 integers(std::size_t count, u32 below) {
    std::vector<T> values(count);
    for (T& value : values) value = static_cast<T>(random_() % below);
    return upload(values);
  }
  /// The map of a row-major f32 matrix, in boxes of 32 by 32.
  TensorMap map_of(u64 address, u32 width, u32 height) {
    TensorMap map;
    map.address = address;
    map.strides[0] = u64{width} * 4;
    map.last = {width - 1, height - 1};
    map.box = {32, 32};
    map.element_strides = {1, 1, 1, 1, 1};
    map.rank_less_one = 1;
    map.element = TensorElement::f32;
    return map;
  }
  /// The map of an f16 matrix, in boxes of 64 columns whose rows are swizzled.
  TensorMap half_map_of(u64 address, u32 width, u32 height, u16 rows) {
    TensorMap map = map_of(address, width, height);
    map.strides[0] = u64{width} * 2;
    map.box = {64, rows};
    map.element = TensorElement::f16;
    map.swizzle = TensorSwizzle::bytes128;
    return map;
  }
  u64 zeros(std::size_t words) { return upload(std::vector<u32>(words)); }

  void launch(const std::string& kernel, std::array<u32, 3> grid, std::array<u32, 3> block, const std::vector<Argument>& arguments,
              u64 dynamic_shared = 0) {
    const Kernel& k = *loaded_->kernel(kernel);
    std::vector<std::byte> params(k.parameter_bytes);
    for (std::size_t i = 0; i < k.parameters.size(); ++i)
      std::memcpy(params.data() + k.parameters[i].offset, arguments.at(i).bytes.data(), k.parameters[i].bytes);
    LaunchParams launch_params;
    launch_params.grid = grid;
    launch_params.block = block;
    launch_params.dynamic_shared_bytes = dynamic_shared;
    launch_params.params = params;
    if (subjects.empty() || subjects.back()->kernel() != kernel) subjects.push_back(std::make_unique<Subject>(*loaded_, kernel));
    launch_params.target = subjects.back()->module().target;
    for (const std::string& report : subjects.back()->add({*loaded_, k.name, memory_, launch_params})) reports_.push_back(report);
  }

  std::vector<std::unique_ptr<Subject>> subjects;

 private:
  Memory& memory_;
  std::vector<std::string>& reports_;
  std::shared_ptr<LoadedModule> loaded_;
  std::mt19937 random_{1};
  std::normal_distribution<float> draw_;
};

}  // namespace

std::vector<std::unique_ptr<Subject>> ptx_subjects(Memory& memory, std::vector<std::string>& reports) {
  Maker make(memory, reports);
  make.open("tensor_matmul.ptx");
  make.launch("tensor_matmul", {1, 2, 1}, {128, 1, 1},
              {make.halves(256 * 160), make.halves(160 * 128), make.floats(256 * 128), 256, 128, 160});
  make.launch("tensor_matmul", {1, 1, 1}, {128, 1, 1},
              {make.halves(128 * 32), make.halves(32 * 128), make.floats(128 * 128), 128, 128, 32});

  make.launch("tensor_matmul", {1, 1, 1}, {128, 1, 1}, {make.halves(1), make.halves(1), make.floats(128 * 128), 128, 128, 0});

  make.open("block_kernels.ptx");
  for (const u32 n : {1000u, 128u}) make.launch("vector_add", {8, 1, 1}, {128, 1, 1}, {make.floats(n), make.floats(n), make.zeros(n), n});
  for (const u32 n : {1000u, 70u}) make.launch("block_sum", {3, 1, 1}, {256, 1, 1}, {make.floats(n), make.zeros(1), n});
  make.launch("tiled_matmul", {2, 2, 1}, {16, 16, 1}, {make.floats(1024), make.floats(1024), make.zeros(1024), 32});
  make.launch("tiled_matmul", {1, 1, 1}, {16, 16, 1}, {make.floats(1), make.floats(1), make.zeros(16), 0});
  make.launch("scan", {1, 1, 1}, {1, 1, 1}, {make.integers<u32>(1, 100), make.zeros(1), 1}, 4);
  make.launch("scan", {1, 1, 1}, {256, 1, 1}, {make.integers<u32>(200, 100), make.zeros(200), 200}, 1024);
  for (const u32 n : {5000u, 70u}) make.launch("histogram", {4, 1, 1}, {128, 1, 1}, {make.integers<u8>(n, 251), make.zeros(256), n});
  make.launch("histogram", {1, 1, 1}, {288, 1, 1}, {make.integers<u8>(300, 251), make.zeros(256), 300});
  // Loops over blocks and warps that take several at a time.
  for (const auto& [blocks, threads] : {std::pair{5u, 256u}, {1u, 32u}, {2u, 64u}, {4u, 160u}})
    make.launch("last_block_sum", {blocks, 1, 1}, {threads, 1, 1}, {make.floats(1000), make.zeros(16), make.zeros(1), 1000});
  for (const u32 blocks : {20u, 1u, 2u, 5u})
    make.launch("grid_barrier", {blocks, 1, 1}, {32, 1, 1}, {make.zeros(1), make.zeros(20), make.zeros(20)});

  make.open("grid_waits.ptx");
  make.launch("look_back", {12, 1, 1}, {1, 1, 1}, {make.integers<u32>(12, 100), make.zeros(12), make.zeros(12), make.zeros(12)});
  make.launch("locked_sums", {12, 1, 1}, {1, 1, 1}, {make.zeros(2), make.zeros(1)});

  make.open("hopper_pipeline.ptx");
  for (const u32 tiles : {9u, 1u}) {  // each stage of three is used three times, or one of them once
    const u32 width = 32 * tiles, height = 64;
    const TensorMap in = make.map_of(make.floats(width * height), width, height),
                    out = make.map_of(make.zeros(width * height), width, height);
    make.launch("pipeline", {height / 32, 1, 1}, {96, 1, 1}, {in, out, tiles});
  }
  make.open("hopper_multicast.ptx");
  make.launch("multicast", {2, 1, 1}, {64, 1, 1}, {make.integers<u32>(64 * 7, 1000), make.zeros(64), 7u});

  make.open("wgmma_matmul.ptx");
  for (const u32 depth : {576u, 64u}) {  // each stage of three is used three times, or one of them once
    const TensorMap a = make.half_map_of(make.halves(128 * depth), depth, 128, 128),
                    b = make.half_map_of(make.halves(depth * 128), 128, depth, 64);
    make.launch("wgmma_matmul", {1, 1, 1}, {288, 1, 1}, {a, b, make.zeros(128 * 128), 128u, depth}, 3 * 32768);
  }
  return std::move(make.subjects);
}

}  // namespace tilewright::test
