// Reports errors at an instruction, with its location in the source.
#pragma once
#include <string>

#include "runtime/emulator/state/diagnostics.h"

namespace tilewright::rt::emulator {

struct Instruction;
struct Warp;

/// Reports a diagnostic at an instruction; `text` is only called for the first of its kind there.
template <class Text>
void report(Warp& warp, const Instruction& instruction, DiagnosticKind kind, int lane, Text text);
void add_diagnostic(Warp& warp, const Instruction& instruction, DiagnosticKind kind, int lane, std::string text);
bool is_first_diagnostic(Warp& warp, const Instruction& instruction, DiagnosticKind kind);

template <class Text>
void report(Warp& warp, const Instruction& instruction, DiagnosticKind kind, int lane, Text text) {
  if (is_first_diagnostic(warp, instruction, kind)) add_diagnostic(warp, instruction, kind, lane, text());
}

/// Reports code that the PTX ISA forbids but every known GPU executes as intended: once a kernel and kind. The launch does not fail.
template <class Text>
void remark(Warp& warp, const Instruction& instruction, DiagnosticKind kind, int lane, Text text);
void add_remark(Warp& warp, const Instruction& instruction, DiagnosticKind kind, int lane, std::string text);
bool is_first_remark(Warp& warp, DiagnosticKind kind);

template <class Text>
void remark(Warp& warp, const Instruction& instruction, DiagnosticKind kind, int lane, Text text) {
  if (is_first_remark(warp, kind)) add_remark(warp, instruction, kind, lane, text());
}

/// "line 12 of kernel.cu" or "line 88 of the PTX": the location of another instruction in the same kernel.
std::string location_text(const Warp&, u32 instruction);

}  // namespace tilewright::rt::emulator
