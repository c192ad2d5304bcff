// A random program with its grid and arguments, and the memory of one execution.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tileir/ir.h"

namespace tilewright::fuzz {

/// The argument for one parameter: a word or a buffer.
struct Argument {
  bool is_buffer = false;
  std::uint64_t word = 0;         // a scalar's bits
  ir::Element element{};          // a buffer's
  std::vector<std::byte> bytes;   // a buffer's contents before the launch
  std::int64_t misalignment = 0;  // elements between a 64-byte boundary and the buffer's start
  int alias = -1;                 // the parameter whose buffer this one points to as well; then `bytes` is empty
  std::int64_t alias_shift = 0;   // elements between that buffer's start and where this one points
};

struct Program {
  ir::Function function;
  std::vector<Argument> arguments;  // one a parameter
  std::array<std::int32_t, 3> grid{1, 1, 1};
  std::uint64_t seed = 0;
};

/// The buffers of a program between guard zones, as one execution sees and changes them.
class Memory {
 public:
  explicit Memory(const Program&);
  Memory(const Memory&) = delete;  // the words point into it
  Memory& operator=(const Memory&) = delete;
  /// One word a parameter.
  const std::vector<std::uint64_t>& words() const { return words_; }
  /// The present contents of the buffer of parameter i.
  std::vector<std::byte> contents(int i) const;
  /// Where each buffer is, and its bytes.
  std::vector<std::pair<std::uint64_t, std::size_t>> buffers() const;
  /// Whether [address, address + bytes) lies within one buffer.
  bool inside(std::uint64_t address, int bytes) const;
  /// The parameter whose guard zone was written to, or -1.
  int broken_guard() const;

 private:
  struct Block {
    std::vector<std::byte> storage;
    std::size_t begin = 0, size = 0;  // the buffer within the storage
  };
  std::vector<Block> blocks_;  // one a parameter; empty for scalars and aliases
  std::vector<std::uint64_t> words_;
};

/// A .tile file: the function under comments that say how it was launched.
std::string text(const Program&);

}  // namespace tilewright::fuzz
