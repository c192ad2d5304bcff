// Parses PTX text to a Module: grammar, scopes and names, but not the meaning of instructions.
#pragma once
#include <string>
#include <string_view>

#include "runtime/emulator/ptx/module.h"

namespace tilewright::rt::emulator {

/// Throws Error at `name`:line for invalid PTX: bad syntax, unknown directives, unknown names or names that are declared twice.
Module parse_module(std::string_view text, const std::string& name);

}  // namespace tilewright::rt::emulator
