// acc += a b on buffers: loops over register tiles of the accumulator.
#include "backend/host/lowering.h"
#include "backend/lowering/elementwise.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::backend::host {

using ir::Type;

/// For each element the products are added in order of k, fused for floats: what ir::interpret does.
void HostLowering::emit_dot(OpId id) {
  const auto& op = f_.op(id);
  const Type a = f_.type(op.operands[0]), c = f_.type(op.results[0]);
  const int r = c.rank();
  const std::int64_t batches = r == 3 ? c.extent(0) : 1, M = c.extent(r - 2), N = c.extent(r - 1), K = a.extent(a.rank() - 1);
  llvm::Type *in = register_type(c_, a), *out = register_type(c_, c);
  const int in_bytes = a.element_bytes(), out_bytes = c.element_bytes();
  // 8 x 2 accumulators of 16 to 32 registers: more rows cost address arithmetic, more columns spill (measured on Zen 4, 2026-11).
  const auto lanes = std::min<std::int64_t>(N, target_.vector_bits / (8 * out_bytes));
  const std::int64_t columns = std::min<std::int64_t>(N / lanes, 2), rows = std::min<std::int64_t>(M, target_.vector_bits >= 512 ? 8 : 4);
  auto vector = [&](llvm::Type* t) -> llvm::Type* {
    return lanes > 1 ? static_cast<llvm::Type*>(llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes))) : t;
  };
  const llvm::Align wide(std::min<std::int64_t>(64, lanes * out_bytes)), narrow(std::min<std::int64_t>(64, lanes * in_bytes));
  Value* base[3] = {buffer(plan_.operand_class(id, 0)), buffer(plan_.operand_class(id, 1)), buffer(plan_.class_of(op.results[0]))};
  const bool floating = c.is_float();
  const bool grows = in != out;  // int8 into int32

  emit_loop(i64(0), i64(batches), i64(1), {}, false, [&](Value* batch, const Values&) {
    Value* A = b_.CreateInBoundsGEP(in, base[0], b_.CreateMul(batch, i64(M * K)));
    Value* B = b_.CreateInBoundsGEP(in, base[1], b_.CreateMul(batch, i64(K * N)));
    Value* C = b_.CreateInBoundsGEP(out, base[2], b_.CreateMul(batch, i64(M * N)));
    emit_loop(i64(0), i64(N), i64(lanes * columns), {}, false, [&](Value* n, const Values&) {
      emit_loop(i64(0), i64(M), i64(rows), {}, false, [&](Value* m, const Values&) {
        Value* c0 = b_.CreateInBoundsGEP(out, C, b_.CreateAdd(b_.CreateMul(m, i64(N)), n));
        Value* a0 = b_.CreateInBoundsGEP(in, A, b_.CreateMul(m, i64(K)));
        Value* b0 = b_.CreateInBoundsGEP(in, B, n);
        Values acc;
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            acc.push_back(b_.CreateAlignedLoad(vector(out), b_.CreateInBoundsGEP(out, c0, i64(i * N + j * lanes)), wide));
        acc = emit_loop(i64(0), i64(K), i64(1), acc, false, [&](Value* k, const Values& carried) {
          Values next = carried, right;
          Value* bk = b_.CreateInBoundsGEP(in, b0, b_.CreateMul(k, i64(N)));
          for (std::int64_t j = 0; j < columns; ++j) {
            Value* x = b_.CreateAlignedLoad(vector(in), b_.CreateInBoundsGEP(in, bk, i64(j * lanes)), narrow);
            right.push_back(grows ? b_.CreateSExt(x, vector(out)) : x);
          }
          Value* ak = b_.CreateInBoundsGEP(in, a0, k);
          for (std::int64_t i = 0; i < rows; ++i) {
            Value* x = b_.CreateLoad(in, b_.CreateInBoundsGEP(in, ak, i64(i * K)));
            if (grows) x = b_.CreateSExt(x, out);
            if (lanes > 1) x = b_.CreateVectorSplat(static_cast<unsigned>(lanes), x);
            for (std::int64_t j = 0; j < columns; ++j) {
              Value*& sum = next[static_cast<std::size_t>(i * columns + j)];
              const Type types[3] = {c, c, c};
              Value* const operands[3] = {x, right[static_cast<std::size_t>(j)], sum};
              sum = floating ? lower_elementwise(b_, target_, ir::OpKind::fma_, types, c, operands)
                             : b_.CreateAdd(sum, b_.CreateMul(operands[0], operands[1]));
            }
          }
          return next;
        });
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j)
            b_.CreateAlignedStore(acc[static_cast<std::size_t>(i * columns + j)], b_.CreateInBoundsGEP(out, c0, i64(i * N + j * lanes)),
                                  wide);
        return Values{};
      });
      return Values{};
    });
    return Values{};
  });
}

}  // namespace tilewright::backend::host
