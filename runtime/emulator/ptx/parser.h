// Reads PTX text into a Module: grammar, scopes and names, but no meaning of any instruction.
#pragma once
#include <string>
#include <string_view>

#include "runtime/emulator/ptx/module.h"

namespace tilewright::rt::emulator {

/// Throws Error at `name`:line for what is no PTX: bad syntax, unknown directives, unknown or doubly declared names.
Module parse_module(std::string_view text, const std::string& name);

}  // namespace tilewright::rt::emulator
