// The functions of libcublasLt that products need, loaded at run time. Types and numbers copy cublasLt.h, which the build does not need.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace tilewright::cli::bench {

using CublasLtHandle = void*;
using CublasLtDescriptor = void*;  // handle of a product, a layout or a preference
using CudaStream = void*;

struct CublasLtAlgorithm {
  std::uint64_t data[8];
};
struct CublasLtHeuristic {
  CublasLtAlgorithm algorithm;
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

enum CublasLtNumber : int {
  // cudaDataType
  kCudaF32 = 0,
  kCudaF64 = 1,
  kCudaF16 = 2,
  kCudaI8 = 3,
  kCudaI32 = 10,
  kCudaBf16 = 14,
  // cublasComputeType_t
  kComputeF32 = 68,
  kComputeF64 = 70,
  kComputeI32 = 72,
  kComputeF32ByTf32 = 77,
  // cublasLtMatmulPreferenceAttributes_t
  kMaxWorkspaceBytes = 1,
};

/// All pointers of a table in use are set.
struct CublasLt {
  int (*create)(CublasLtHandle*) = nullptr;
  int (*destroy)(CublasLtHandle) = nullptr;
  std::size_t (*version)() = nullptr;
  int (*product_create)(CublasLtDescriptor*, int compute_type, int scale_type) = nullptr;
  int (*product_destroy)(CublasLtDescriptor) = nullptr;
  int (*layout_create)(CublasLtDescriptor*, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) = nullptr;
  int (*layout_destroy)(CublasLtDescriptor) = nullptr;
  int (*preference_create)(CublasLtDescriptor*) = nullptr;
  int (*preference_set)(CublasLtDescriptor, int attribute, const void* value, std::size_t bytes) = nullptr;
  int (*preference_destroy)(CublasLtDescriptor) = nullptr;
  int (*find_algorithms)(CublasLtHandle, CublasLtDescriptor product, CublasLtDescriptor a, CublasLtDescriptor b, CublasLtDescriptor c,
                         CublasLtDescriptor d, CublasLtDescriptor preference, int most, CublasLtHeuristic*, int* found) = nullptr;
  int (*multiply)(CublasLtHandle, CublasLtDescriptor product, const void* alpha, const void* a, CublasLtDescriptor a_layout, const void* b,
                  CublasLtDescriptor b_layout, const void* beta, const void* c, CublasLtDescriptor c_layout, void* d,
                  CublasLtDescriptor d_layout, const CublasLtAlgorithm*, void* workspace, std::size_t workspace_bytes,
                  CudaStream) = nullptr;
};

/// Loads the newest libcublasLt of this machine. Throws Unavailable.
CublasLt load_cublas_lt();

/// Formats a version: 120205 gives "12.2.5".
std::string cublas_version_text(std::size_t version);

}  // namespace tilewright::cli::bench
