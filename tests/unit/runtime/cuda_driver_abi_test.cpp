// The declarations of the driver table against cuda.h, if it is installed: values, layouts, symbols, parameter by parameter.
#include <doctest/doctest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>
#define TW_HAS_CUDA_H 1
#elif __has_include("/usr/local/cuda/include/cuda.h")
#include "/usr/local/cuda/include/cuda.h"
#define TW_HAS_CUDA_H 1
#endif

#ifdef TW_HAS_CUDA_H

#include <string_view>
#include <type_traits>

#include "runtime/cuda/driver_types.h"

namespace ours = tilewright::rt::cuda;

namespace {

// The kind of each argument of a call: an integer of some size, a float, or an address.
template <class A, class B>
constexpr bool kSameClass =
    sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> && std::is_floating_point_v<A> == std::is_floating_point_v<B>;
template <class A, class B>
struct SameCall : std::false_type {};
template <class R, class... A, class S, class... B>
  requires(sizeof...(A) == sizeof...(B))
struct SameCall<R(A...), S(B...)> : std::bool_constant<kSameClass<R, S> && (kSameClass<A, B> && ...)> {
  // A pointer to one of our structs stands where theirs does, with the same size behind it.
  template <class P, class Q>
  static constexpr bool pointee() {
    using X = std::remove_pointer_t<P>;
    using Y = std::remove_pointer_t<Q>;
    if constexpr (!std::is_pointer_v<P> || std::is_void_v<X> || std::is_void_v<Y> || std::is_function_v<X>)
      return true;
    else if constexpr (requires {
                         sizeof(X);
                         sizeof(Y);
                       })
      return sizeof(X) == sizeof(Y);
    else
      return true;
  }
  static_assert((pointee<A, B>() && ...));
};

#define TW_SAME(name) static_assert(static_cast<long>(ours::name) == static_cast<long>(::name), #name)
TW_SAME(CUDA_ERROR_INVALID_VALUE);
TW_SAME(CUDA_ERROR_OUT_OF_MEMORY);
TW_SAME(CUDA_ERROR_NOT_INITIALIZED);
TW_SAME(CUDA_ERROR_DEINITIALIZED);
TW_SAME(CUDA_ERROR_STUB_LIBRARY);
TW_SAME(CUDA_ERROR_DEVICE_UNAVAILABLE);
TW_SAME(CUDA_ERROR_NO_DEVICE);
TW_SAME(CUDA_ERROR_INVALID_DEVICE);
TW_SAME(CUDA_ERROR_INVALID_IMAGE);
TW_SAME(CUDA_ERROR_INVALID_CONTEXT);
TW_SAME(CUDA_ERROR_NO_BINARY_FOR_GPU);
TW_SAME(CUDA_ERROR_ECC_UNCORRECTABLE);
TW_SAME(CUDA_ERROR_INVALID_PTX);
TW_SAME(CUDA_ERROR_NVLINK_UNCORRECTABLE);
TW_SAME(CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
TW_SAME(CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
TW_SAME(CUDA_ERROR_INVALID_HANDLE);
TW_SAME(CUDA_ERROR_ILLEGAL_STATE);
TW_SAME(CUDA_ERROR_NOT_FOUND);
TW_SAME(CUDA_ERROR_NOT_READY);
TW_SAME(CUDA_ERROR_ILLEGAL_ADDRESS);
TW_SAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
TW_SAME(CUDA_ERROR_LAUNCH_TIMEOUT);
TW_SAME(CUDA_ERROR_CONTEXT_IS_DESTROYED);
TW_SAME(CUDA_ERROR_ASSERT);
TW_SAME(CUDA_ERROR_HARDWARE_STACK_ERROR);
TW_SAME(CUDA_ERROR_ILLEGAL_INSTRUCTION);
TW_SAME(CUDA_ERROR_MISALIGNED_ADDRESS);
TW_SAME(CUDA_ERROR_INVALID_ADDRESS_SPACE);
TW_SAME(CUDA_ERROR_INVALID_PC);
TW_SAME(CUDA_ERROR_LAUNCH_FAILED);
TW_SAME(CUDA_ERROR_NOT_PERMITTED);
TW_SAME(CUDA_ERROR_NOT_SUPPORTED);
TW_SAME(CUDA_ERROR_SYSTEM_NOT_READY);
TW_SAME(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
TW_SAME(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
TW_SAME(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
TW_SAME(CUDA_ERROR_UNKNOWN);
TW_SAME(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
TW_SAME(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
TW_SAME(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
TW_SAME(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
TW_SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
TW_SAME(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
TW_SAME(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
TW_SAME(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
TW_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
TW_SAME(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
TW_SAME(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
TW_SAME(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
TW_SAME(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
TW_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
TW_SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
TW_SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
TW_SAME(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
TW_SAME(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
TW_SAME(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
TW_SAME(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
TW_SAME(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
TW_SAME(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
TW_SAME(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
TW_SAME(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
TW_SAME(CU_FUNC_ATTRIBUTE_NUM_REGS);
TW_SAME(CU_FUNC_ATTRIBUTE_PTX_VERSION);
TW_SAME(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
TW_SAME(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
TW_SAME(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
TW_SAME(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
TW_SAME(CU_JIT_MAX_REGISTERS);
TW_SAME(CU_JIT_INFO_LOG_BUFFER);
TW_SAME(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
TW_SAME(CU_JIT_ERROR_LOG_BUFFER);
TW_SAME(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
TW_SAME(CU_JIT_OPTIMIZATION_LEVEL);
TW_SAME(CU_JIT_LOG_VERBOSE);
TW_SAME(CU_JIT_GENERATE_LINE_INFO);
TW_SAME(CU_POINTER_ATTRIBUTE_CONTEXT);
TW_SAME(CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
TW_SAME(CU_POINTER_ATTRIBUTE_IS_MANAGED);
TW_SAME(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
TW_SAME(CU_MEMORYTYPE_HOST);
TW_SAME(CU_MEMORYTYPE_DEVICE);
TW_SAME(CU_STREAM_DEFAULT);
TW_SAME(CU_STREAM_NON_BLOCKING);
TW_SAME(CU_EVENT_DEFAULT);
TW_SAME(CU_EVENT_BLOCKING_SYNC);
TW_SAME(CU_EVENT_DISABLE_TIMING);
TW_SAME(CU_STREAM_CAPTURE_MODE_GLOBAL);
TW_SAME(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
TW_SAME(CU_STREAM_CAPTURE_MODE_RELAXED);
TW_SAME(CU_STREAM_CAPTURE_STATUS_NONE);
TW_SAME(CU_STREAM_CAPTURE_STATUS_ACTIVE);
TW_SAME(CU_STREAM_CAPTURE_STATUS_INVALIDATED);
TW_SAME(CU_MEM_LOCATION_TYPE_DEVICE);
TW_SAME(CU_MEM_ALLOCATION_TYPE_PINNED);
TW_SAME(CU_MEM_HANDLE_TYPE_NONE);
TW_SAME(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
TW_SAME(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
TW_SAME(CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
TW_SAME(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
TW_SAME(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
TW_SAME(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
TW_SAME(CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
TW_SAME(CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
TW_SAME(CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
TW_SAME(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
TW_SAME(CU_TENSOR_MAP_INTERLEAVE_NONE);
TW_SAME(CU_TENSOR_MAP_SWIZZLE_128B);
TW_SAME(CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
TW_SAME(CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
#undef TW_SAME

#define TW_SAME_FIELD(type, field) static_assert(offsetof(ours::type, field) == offsetof(::type, field), #type "::" #field)
static_assert(sizeof(ours::CUlaunchConfig) == sizeof(::CUlaunchConfig));
TW_SAME_FIELD(CUlaunchConfig, gridDimX);
TW_SAME_FIELD(CUlaunchConfig, blockDimX);
TW_SAME_FIELD(CUlaunchConfig, sharedMemBytes);
TW_SAME_FIELD(CUlaunchConfig, hStream);
TW_SAME_FIELD(CUlaunchConfig, attrs);
TW_SAME_FIELD(CUlaunchConfig, numAttrs);
static_assert(sizeof(ours::CUlaunchAttribute) == sizeof(::CUlaunchAttribute));
TW_SAME_FIELD(CUlaunchAttribute, value);
static_assert(sizeof(ours::CUDA_KERNEL_NODE_PARAMS) == sizeof(::CUDA_KERNEL_NODE_PARAMS));
TW_SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, blockDimX);
TW_SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
TW_SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, kernelParams);
TW_SAME_FIELD(CUDA_KERNEL_NODE_PARAMS, ctx);
static_assert(sizeof(ours::CUmemPoolProps) == sizeof(::CUmemPoolProps));
TW_SAME_FIELD(CUmemPoolProps, location);
TW_SAME_FIELD(CUmemPoolProps, maxSize);
static_assert(sizeof(ours::CUuuid) == sizeof(::CUuuid) && sizeof(ours::CUtensorMap) == sizeof(::CUtensorMap));
static_assert(alignof(ours::CUtensorMap) >= alignof(::CUtensorMap));
#undef TW_SAME_FIELD

}  // namespace

#define TW_TEXT_OF(name) #name
#define TW_TEXT(name) TW_TEXT_OF(name)

namespace tilewright::rt::cuda {
namespace {

// Behind cuda.h each name of the table is a macro that stands for the symbol, so both the declaration and the symbol can be compared.
void compare_functions() {
#define TW_CUDA_FUNCTION(name, symbol, parameters)                                                       \
  static_assert(SameCall<CUresult parameters, std::remove_pointer_t<decltype(&::name)>>::value, symbol); \
  /* CUDA 12.8 gave this one a second version; the first is in every driver. */                          \
  if (std::string_view(symbol) != "cuEventElapsedTime") CHECK(std::string_view(TW_TEXT(name)) == symbol);
#include "runtime/cuda/driver_functions.def"
}

}  // namespace
}  // namespace tilewright::rt::cuda

TEST_CASE("cuda_driver: the table's declarations are those of cuda.h") { tilewright::rt::cuda::compare_functions(); }

#else

TEST_CASE("cuda_driver: not compared with cuda.h, which was not found here" * doctest::skip()) {}

#endif
