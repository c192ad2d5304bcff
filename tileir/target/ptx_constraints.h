// The register constraints of inline_ptx, "=f,f,r": the register class of each operand.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "tileir/type.h"

namespace tilewright::ir {

/// The register class of a value of this element type in inline PTX: r, l, h, f or d; 0 if it has none.
char register_class(const Type&);

/// The error in PTX and constraints for these types; empty if there is none. One output, "=" and its class, then a class for each input: r
/// for 32-bit integers, l for 64-bit integers and pointers, h for all types of 16 bits, f for f32, d for f64. In the PTX $0 is the output,
/// $1 the first input, and $$ a dollar sign.
std::string wrong_with_inline_ptx(std::string_view ptx, std::string_view constraints, const Type& result, std::span<const Type> inputs);

}  // namespace tilewright::ir
