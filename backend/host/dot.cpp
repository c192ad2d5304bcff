// acc += a b on buffers: loops over register tiles of the accumulator.
#include <llvm/IR/IntrinsicsX86.h>

#include "backend/host/steps.h"
#include "backend/lowering/elementwise.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

namespace {

/// The instruction that multiplies integers of 16 bits and adds the products of neighbours, on whole registers (vpmaddwd). LLVM makes one
/// of it and of the addition to the accumulator (vpdpwssd) where the processor has that.
llvm::Intrinsic::ID pair_products(int vector_bits) {
  if (vector_bits >= 512) return llvm::Intrinsic::x86_avx512_pmaddw_d_512;
  return vector_bits >= 256 ? llvm::Intrinsic::x86_avx2_pmadd_wd : llvm::Intrinsic::x86_sse2_pmadd_wd;
}

/// Elements 0, lanes, 1, lanes + 1, ... of two vectors beside each other.
Value* interleave(llvm::IRBuilder<>& b, Value* even, Value* odd, std::int64_t lanes) {
  std::vector<int> from;
  for (std::int64_t i = 0; i < lanes; ++i) from.push_back(static_cast<int>(i)), from.push_back(static_cast<int>(lanes + i));
  return b.CreateShuffleVector(even, odd, from);
}

}  // namespace

/// For each element the products are added in order of k, fused for floats, as in the interpreter.
void emit_dot(Emitter& e, OpId id) {
  const Function& f = e.f();
  llvm::IRBuilder<>& b = e.b();
  const auto& op = f.op(id);
  const Type a = f.type(op.operands[0]);
  const Type c = f.type(op.results[0]);
  const int r = c.rank();
  const std::int64_t batches = r == 3 ? c.extent(0) : 1;
  const std::int64_t M = c.extent(r - 2);
  const std::int64_t N = c.extent(r - 1);
  const std::int64_t K = a.extent(a.rank() - 1);
  llvm::Type* in = register_type(e.context(), a);
  llvm::Type* out = register_type(e.context(), c);
  const int in_bytes = a.element_bytes();
  const int out_bytes = c.element_bytes();
  // 8 x 2 accumulators of 16 to 32 registers: more rows cost address arithmetic, more columns spill (measured on Zen 4, 2026-11).
  const auto lanes = std::min<std::int64_t>(N, e.target().vector_bits / (8 * out_bytes));
  const std::int64_t columns = std::min<std::int64_t>(N / lanes, 2);
  const std::int64_t rows = std::min<std::int64_t>(M, e.target().vector_bits >= 512 ? 8 : 4);
  auto vector = [&](llvm::Type* t) -> llvm::Type* {
    return lanes > 1 ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes))) : t;
  };
  const llvm::Align wide(std::min<std::int64_t>(64, lanes * out_bytes));
  const llvm::Align narrow(std::min<std::int64_t>(64, lanes * in_bytes));
  Value* base[3] = {e.operand_buffer(id, 0), e.operand_buffer(id, 1), e.buffer_of(op.results[0])};
  const bool floating = c.is_float();
  const bool grows = in != out;  // int8 into int32
  // Two steps of k at once: the sums of two products of int8 are exact, and integers may be added in any order.
  const bool in_pairs = grows && K >= 2 && lanes == e.target().lanes();
  llvm::Type* half = b.getInt16Ty();

  e.loop(batches, 1, [&](Value* batch) {
    Value* A = b.CreateInBoundsGEP(in, base[0], b.CreateMul(batch, e.i64(M * K)));
    Value* B = b.CreateInBoundsGEP(in, base[1], b.CreateMul(batch, e.i64(K * N)));
    Value* C = b.CreateInBoundsGEP(out, base[2], b.CreateMul(batch, e.i64(M * N)));
    e.loop(N, lanes * columns, [&](Value* n) {
      e.loop(M, rows, [&](Value* m) {
        Value* c0 = b.CreateInBoundsGEP(out, C, b.CreateAdd(b.CreateMul(m, e.i64(N)), n));
        Value* a0 = b.CreateInBoundsGEP(in, A, b.CreateMul(m, e.i64(K)));
        Value* b0 = b.CreateInBoundsGEP(in, B, n);
        Values acc;
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            acc.push_back(b.CreateAlignedLoad(vector(out), b.CreateInBoundsGEP(out, c0, e.i64(i * N + j * lanes)), wide));
        acc = e.loop(e.i64(0), e.i64(K), e.i64(in_pairs ? 2 : 1), acc, false, [&](Value* k, const Values& carried) {
          Values next = carried;
          Values right;
          Value* bk = b.CreateInBoundsGEP(in, b0, b.CreateMul(k, e.i64(N)));
          const auto row_of_b = [&](std::int64_t step, std::int64_t j) {
            return b.CreateAlignedLoad(vector(in), b.CreateInBoundsGEP(in, bk, e.i64(step * N + j * lanes)), narrow);
          };
          for (std::int64_t j = 0; j < columns; ++j) {
            Value* x = row_of_b(0, j);
            if (in_pairs)
              x = interleave(b, b.CreateSExt(x, vector(half)), b.CreateSExt(row_of_b(1, j), vector(half)), lanes);
            else if (grows)
              x = b.CreateSExt(x, vector(out));
            right.push_back(x);
          }
          Value* ak = b.CreateInBoundsGEP(in, a0, k);
          for (std::int64_t i = 0; i < rows; ++i) {
            Value* from = b.CreateInBoundsGEP(in, ak, e.i64(i * K));
            Value* x = nullptr;
            if (in_pairs) {
              Value* pair = b.CreateAlignedLoad(llvm::FixedVectorType::get(in, 2), from, llvm::Align(2));
              x = b.CreateBitCast(b.CreateSExt(pair, llvm::FixedVectorType::get(half, 2)), out);
            } else {
              x = b.CreateLoad(in, from);
              if (grows) x = b.CreateSExt(x, out);
            }
            if (lanes > 1) x = b.CreateVectorSplat(static_cast<unsigned>(lanes), x);
            for (std::int64_t j = 0; j < columns; ++j) {
              Value* y = right[static_cast<std::size_t>(j)];
              Value*& sum = next[static_cast<std::size_t>(i * columns + j)];
              const Type types[3] = {c, c, c};
              Value* const operands[3] = {x, y, sum};
              if (floating)
                sum = lower_elementwise(b, e.target(), OpKind::fma_, types, c, operands);
              else if (in_pairs)
                sum = b.CreateAdd(sum, b.CreateIntrinsic(pair_products(e.target().vector_bits), {}, {b.CreateBitCast(x, y->getType()), y}));
              else
                sum = b.CreateAdd(sum, b.CreateMul(x, y));
            }
          }
          return next;
        });
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            b.CreateAlignedStore(acc[static_cast<std::size_t>(i * columns + j)], b.CreateInBoundsGEP(out, c0, e.i64(i * N + j * lanes)),
                                 wide);
      });
    });
  });
}

}  // namespace tilewright::backend::host
