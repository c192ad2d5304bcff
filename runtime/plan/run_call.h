// A call of Plan::run, for messages with the user's line.
#pragma once
#include <string>
#include <vector>

#include "tilewright/error.h"
#include "tilewright/here.h"

namespace tilewright::detail {

struct RunCall {
  const Here& at;
  [[noreturn]] void fail(const std::string& message, const std::vector<Note>& notes = {}) const {
    throw Error(location_of(at), "run: " + message, notes);
  }
};

}  // namespace tilewright::detail
