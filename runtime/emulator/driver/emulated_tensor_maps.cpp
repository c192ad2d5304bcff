// Tensor maps of the emulated driver, which rejects the same maps as the CUDA driver and gives the reason.
#include <fmt/format.h>

#include <cstring>

#include "runtime/emulator/async/tensor_map.h"
#include "runtime/emulator/driver/emulated_objects.h"

namespace tilewright::rt::emulator {

using namespace cuda;

namespace {

/// The driver numbers the types differently than PTX does.
TensorElement element_of(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return TensorElement::f64;
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return TensorElement::bf16;
    default: return type > CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ? TensorElement::f32_ftz : static_cast<TensorElement>(type);
  }
}

CUresult refuse(const std::string& why) {
  EmulatedDriverState::instance().explain(CUDA_ERROR_INVALID_VALUE, "a tensor map: " + why);
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult encode(CUtensorMap* result, CUtensorMapDataType type, std::uint32_t rank, void* address, const std::uint64_t* extents,
                const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* element_strides,
                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                CUtensorMapFloatOOBfill fill) {
  if (result == nullptr || reinterpret_cast<std::uintptr_t>(result) % 64 != 0) return refuse("its own address has to be a multiple of 64");
  if (rank < 1 || rank > 5) return refuse(fmt::format("a rank of {}: expected 1 to 5", rank));
  if (promotion < CU_TENSOR_MAP_L2_PROMOTION_NONE || promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
    return refuse("an unknown L2 promotion");
  TensorMap map;
  map.address = reinterpret_cast<u64>(address);
  map.rank_less_one = static_cast<u8>(rank - 1);
  map.element = element_of(type);
  map.interleave = static_cast<u8>(interleave);
  map.swizzle = static_cast<TensorSwizzle>(swizzle);
  map.fills_nan = static_cast<u8>(fill);
  for (std::size_t d = 0; d < rank; ++d) {
    if (extents[d] == 0 || extents[d] > u64{1} << 32)
      return refuse(fmt::format("an extent of {} in dimension {}: expected 1 to 2^32", extents[d], d));
    map.last[d] = static_cast<u32>(extents[d] - 1);
    map.box[d] = static_cast<u16>(std::min<u32>(box[d], 0xffff));
    map.element_strides[d] = static_cast<u8>(std::min<u32>(element_strides[d], 0xff));
    if (d > 0) map.strides[d - 1] = strides[d - 1];
  }
  if (const std::string fault = fault_of(map); !fault.empty()) return refuse(fault);
  std::memset(result, 0, sizeof *result);
  std::memcpy(result, &map, sizeof map);
  return CUDA_SUCCESS;
}

}  // namespace

void fill_tensor_maps(Driver& table) { table.cuTensorMapEncodeTiled = encode; }

}  // namespace tilewright::rt::emulator
