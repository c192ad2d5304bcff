// Says everything that is wrong with a function, not just the first thing.
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

/// Empty if the function is well formed: operands dominate their uses, types follow the table's rules, regions have the
/// arguments and terminators that their op asks for, attributes are known and complete, use lists and links are consistent.
std::vector<Problem> verify(const Function&);

/// Throws Error for the first problem, the others as notes, if there is any.
void verify_or_throw(const Function&);

}  // namespace tilewright::ir
