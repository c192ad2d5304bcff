// Parses the arguments of a kernel on a command line: NAME=VALUE.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/cli/files/files.h"
#include "tileir/ir.h"

namespace tilewright::cli {

/// The argument for one parameter: a scalar's bits, or the contents of a buffer.
struct Argument {
  std::string name;
  ir::Type type;
  std::uint64_t word = 0;                // a scalar's bits
  std::vector<std::int64_t> shape = {};  // of a buffer
  std::int64_t elements = 0;
  std::vector<std::byte> bytes = {};  // empty: all zeros
  bool is_buffer() const { return type.is_pointer(); }
};

/// Splits "NAME=VALUE". Throws UsageError, naming `option`, if there is no '='.
std::pair<std::string, std::string> split_assignment(const std::string& text, const char* option);

/// The index of a parameter by name, or by position if no parameter has this name. Throws UsageError that suggests a name.
int find_parameter(const ir::Function&, const std::string& name);

/// A parameter of a kernel or an input of a graph, which receives a VALUE.
struct Receiver {
  std::string name;
  ir::Type type;                  // a pointer type means a buffer
  std::string text;               // "parameter 'n' of 'add' is i32", for messages
  std::int64_t divisible_by = 1;  // divides a scalar, or the address of a buffer
  bool positive = false;          // a scalar is from 1 to 2^31 - 1
  /// The values that fit: "f32:NUMBER".
  std::string expected() const;
};

/// Parses a VALUE: FILE.npy, zeros:TYPE:N or TYPE:NUMBER. Throws UsageError if it does not fit the receiver, Failure if the file is
/// malformed.
Argument parse_value(const Receiver&, const std::string& value, Files&);

/// One argument for each parameter, from NAME=VALUE words. Throws UsageError if one is missing or given twice.
std::vector<Argument> parse_arguments(const ir::Function&, std::span<const std::string> words, Files&);

/// "X[,Y[,Z]]": 1 to 3 positive extents. Throws UsageError.
std::vector<std::int64_t> parse_grid(const std::string&);

}  // namespace tilewright::cli
