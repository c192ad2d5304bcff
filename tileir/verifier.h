// The verifier: lists every problem of a function, not only the first one.
#pragma once
#include <vector>

#include "tileir/ir.h"

namespace tilewright::ir {

struct Problem {
  Location where;
  OpId op;  // none for the function as a whole
  std::string message;
  std::vector<Note> notes;
};

/// Empty if the function is well formed: operands dominate their uses, types obey the table's rules, regions have the arguments and
/// terminators that their op requires, attributes are known and complete, use lists and links are consistent.
std::vector<Problem> verify(const Function&);

/// Throws Error for the first problem, with the others as notes; does nothing if there is none.
void verify_or_throw(const Function&);

}  // namespace tilewright::ir
