// Computes parameters by the plan of a kernel; the driver encodes tensor maps.
#include "runtime/cuda/launch_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <new>

#include "tileir/diagnostics.h"

namespace tilewright::rt::cuda {

namespace {

using backend::HostParameter;
using backend::TensorMapParameter;

/// Floats of 8 bits are copied as bytes: the driver has no such type, and elements outside of a tensor are 0 in either type.
CUtensorMapDataType data_type(ir::Element e) {
  switch (e) {
    case ir::Element::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case ir::Element::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case ir::Element::f32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case ir::Element::f64: return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case ir::Element::i32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case ir::Element::i64: return CU_TENSOR_MAP_DATA_TYPE_INT64;
    default: break;
  }
  switch (ir::bytes(e)) {
    case 1: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case 2: return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case 4: return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    default: return CU_TENSOR_MAP_DATA_TYPE_UINT64;
  }
}

CUtensorMapSwizzle swizzle_mode(int bytes) {
  return bytes == 0 ? CU_TENSOR_MAP_SWIZZLE_NONE : static_cast<CUtensorMapSwizzle>(std::countr_zero(static_cast<unsigned>(bytes)) - 4);
}

/// Drivers up to CUDA 13.1 set a bit in maps of tensors below 128 KiB that makes copies wrong; CUTLASS and Triton clear it too.
constexpr std::uint64_t kSmallTensorBytes = 128 << 10;
constexpr std::uint64_t kWrongBit = std::uint64_t{1} << 21;  // in the second word
constexpr int kFirstRightDriver = 13020;

TensorMapCache::Key key_of(const TensorMapParameter& m, std::span<const std::int64_t> numbers) {
  TensorMapCache::Key key{numbers[static_cast<std::size_t>(m.address)]};
  std::size_t at = 1;
  for (const auto* steps : {&m.extents, &m.strides})
    for (const int step : *steps) key[at++] = numbers[static_cast<std::size_t>(step)];
  return key;
}

void encode(const CudaKernel& kernel, const TensorMapParameter& m, std::span<const std::int64_t> numbers, CUtensorMap& map,
            const Here& where) {
  constexpr std::size_t kMostAxes = 5;
  const auto number = [&](int step) { return static_cast<std::uint64_t>(numbers[static_cast<std::size_t>(step)]); };
  const auto element_bytes = static_cast<std::uint64_t>(ir::bytes(m.element));
  const std::size_t rank = m.extents.size();
  std::array<std::uint64_t, kMostAxes> extents{}, strides{};
  std::array<std::uint32_t, kMostAxes> box{}, steps{};
  std::uint64_t last = element_bytes;  // bytes from the first element to the end of the last one
  for (std::size_t i = 0; i < rank; ++i) {
    extents[i] = number(m.extents[i]);
    box[i] = static_cast<std::uint32_t>(m.box[i]);
    steps[i] = 1;
    if (i > 0) strides[i - 1] = number(m.strides[i - 1]) * element_bytes;
    last += (extents[i] - 1) * (i == 0 ? element_bytes : strides[i - 1]);
  }
  Context& context = kernel.context;
  const std::uint64_t address = number(m.address);
  const CUresult status = context.driver().cuTensorMapEncodeTiled(
      &map, data_type(m.element), static_cast<std::uint32_t>(rank), reinterpret_cast<void*>(address), extents.data(), strides.data(),
      box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_mode(m.swizzle_bytes), CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    context.fail(status, "cuTensorMapEncodeTiled", where,
                 fmt::format(", of kernel '{}' for a tensor of {} at {:#x} with extents [{}], strides of [{}] bytes and a box of [{}]",
                             kernel.name, ir::text(m.element), address, fmt::join(std::span(extents).first(rank), ", "),
                             fmt::join(std::span(strides).first(rank - 1), ", "), fmt::join(m.box, ", ")));
  if (last < kSmallTensorBytes && kernel.driver_version < kFirstRightDriver) map.opaque[1] &= ~kWrongBit;
}

/// A known map, or a new one, which is kept.
void make_map(const CudaKernel& kernel, std::size_t parameter, std::span<const std::int64_t> numbers, CUtensorMap& map, const Here& where) {
  const auto& m = std::get<TensorMapParameter>(kernel.plan.parameters[parameter]);
  const TensorMapCache::Key key = key_of(m, numbers);
  if (kernel.maps.find(parameter, key, map)) return;
  encode(kernel, m, numbers, map, where);
  kernel.maps.keep(parameter, key, map);
}

}  // namespace

LaunchParameters::LaunchParameters(const CudaKernel& kernel, std::span<const std::uint64_t> arguments, const LaunchConfig& config)
    : grid_(config.grid) {
  TW_CHECK(arguments.size() == kernel.parameters.size(), "a launch passes one word a parameter");
  for (const std::uint64_t& word : arguments) pointers_[count_++] = const_cast<std::uint64_t*>(&word);
  if (!kernel.plan.is_empty()) make(kernel, arguments, config.where);
}

void LaunchParameters::set_programs(std::size_t axis, int step, std::span<const std::int64_t> numbers) {
  if (step == -1) return;
  const std::int64_t programs = numbers[static_cast<std::size_t>(step)];
  if (programs < 1 || programs > kMostPrograms[axis])
    throw backend::RecipeError{fmt::format("{} programs along axis {}; a launch has 1 to {}", programs, axis, kMostPrograms[axis])};
  grid_[axis] = static_cast<std::int32_t>(programs);
}

void LaunchParameters::make(const CudaKernel& kernel, std::span<const std::uint64_t> arguments, const Here& where) {
  const backend::LaunchPlan& plan = kernel.plan;
  std::array<std::int64_t, backend::kMostRecipeSteps> numbers;
  try {
    backend::evaluate(plan.recipe, kernel.parameters, arguments, grid_, numbers);
    backend::check_positive(plan, numbers);
    for (std::size_t axis = 0; axis < 3; ++axis) set_programs(axis, plan.grid[axis], numbers);
  } catch (const backend::RecipeError& e) {
    throw Error(detail::location_of(where), fmt::format("launch: kernel '{}': {}", kernel.name, e.text));
  }
  std::size_t at = 0;
  for (const HostParameter& p : plan.parameters) {
    const auto alignment = static_cast<std::size_t>(backend::parameter_alignment(p));
    at = (at + alignment - 1) / alignment * alignment;
    const std::span bytes(made_ + at, static_cast<std::size_t>(backend::parameter_bytes(p)));
    if (const auto* packed = std::get_if<backend::PackedParameter>(&p))
      backend::pack(*packed, numbers, bytes);
    else
      make_map(kernel, static_cast<std::size_t>(&p - plan.parameters.data()), numbers, *new (bytes.data()) CUtensorMap, where);
    pointers_[count_++] = bytes.data();
    at += bytes.size();
  }
}

}  // namespace tilewright::rt::cuda
