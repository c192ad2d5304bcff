// Inline PTX: one or several instructions on one line; the constraints follow from the LLVM types of the operands.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <span>
#include <string>
#include <vector>

namespace tilewright::backend::nvptx {

using llvm::Value;

/// What LLVM must know about inline PTX besides its operands.
struct AsmEffects {
  bool side_effects = false;  // it is not removed, and stays in order with other instructions that have effects
  bool memory = false;        // reads or writes memory: loads and stores do not move across it
  bool convergent = false;    // all lanes execute it together: it is not copied into branches
};
inline constexpr AsmEffects kPure{};
inline constexpr AsmEffects kOrdered{true, false, false};
inline constexpr AsmEffects kMemory{true, true, false};
inline constexpr AsmEffects kCollective{true, true, true};

/// `text` with $0, $1, ... for the outputs, then the inputs. The first `tied` inputs start out in the registers of the outputs of the
/// same number, and are not counted by $. Types: i1 (a predicate), i16, i32, i64, float, double.
std::vector<Value*> inline_ptx(llvm::IRBuilder<>&, const std::string& text, std::span<llvm::Type* const> outputs,
                               std::span<Value* const> inputs, AsmEffects, std::size_t tied = 0);
/// Inline PTX with one output.
Value* inline_ptx(llvm::IRBuilder<>&, const std::string& text, llvm::Type* output, std::initializer_list<Value*> inputs,
                  AsmEffects = kPure);
/// Inline PTX without outputs.
void inline_ptx(llvm::IRBuilder<>&, const std::string& text, std::initializer_list<Value*> inputs, AsmEffects);
/// "$0", or "{$0, $1, ...}" for several: the first operands as a vector.
std::string operand_vector(std::size_t count);

}  // namespace tilewright::backend::nvptx
