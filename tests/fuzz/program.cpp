// Memory of executions, and programs as text.
#include "tests/fuzz/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tileir/text/printer.h"

namespace tilewright::fuzz {

namespace {
constexpr std::size_t kGuard = 128, kAlignment = 64;
constexpr std::byte kGuardByte{0xa5};
}  // namespace

Memory::Memory(const Program& p) : blocks_(p.arguments.size()) {
  for (std::size_t i = 0; i < p.arguments.size(); ++i) {
    const Argument& a = p.arguments[i];
    if (!a.is_buffer) {
      words_.push_back(a.word);
      continue;
    }
    if (a.alias >= 0) {
      words_.push_back(words_[a.alias] + static_cast<std::uint64_t>(a.alias_shift * bytes(a.element)));
      continue;
    }
    Block& b = blocks_[i];
    b.storage.assign(kAlignment + 2 * kGuard + static_cast<std::size_t>(a.misalignment) * bytes(a.element) + a.bytes.size(), kGuardByte);
    const auto start = reinterpret_cast<std::uint64_t>(b.storage.data()) + kGuard;
    const std::uint64_t aligned =
        (start + kAlignment - 1) / kAlignment * kAlignment + static_cast<std::uint64_t>(a.misalignment) * bytes(a.element);
    b.begin = kGuard + (aligned - start);
    b.size = a.bytes.size();
    std::copy(a.bytes.begin(), a.bytes.end(), b.storage.begin() + static_cast<std::ptrdiff_t>(b.begin));
    words_.push_back(aligned);
  }
}

std::vector<std::byte> Memory::contents(int i) const {
  const Block& b = blocks_[i];
  const auto first = b.storage.begin() + static_cast<std::ptrdiff_t>(b.begin);
  return {first, first + static_cast<std::ptrdiff_t>(b.size)};
}

std::vector<std::pair<std::uint64_t, std::size_t>> Memory::buffers() const {
  std::vector<std::pair<std::uint64_t, std::size_t>> all;
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    if (!blocks_[i].storage.empty()) all.emplace_back(words_[i], blocks_[i].size);
  return all;
}

bool Memory::inside(std::uint64_t address, int bytes) const {
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    if (!blocks_[i].storage.empty() && address >= words_[i] && address + bytes <= words_[i] + blocks_[i].size) return true;
  return false;
}

int Memory::broken_guard() const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& b = blocks_[i];
    for (std::size_t k = 0; k < b.storage.size(); ++k)
      if ((k < b.begin || k >= b.begin + b.size) && b.storage[k] != kGuardByte) return static_cast<int>(i);
  }
  return -1;
}

std::string text(const Program& p) {
  std::string s = fmt::format("// seed {}, grid {}x{}x{}\n", p.seed, p.grid[0], p.grid[1], p.grid[2]);
  for (std::size_t i = 0; i < p.arguments.size(); ++i) {
    const Argument& a = p.arguments[i];
    const std::string& name = p.function.params[i].name;
    if (!a.is_buffer)
      s += fmt::format("// {} = {:#x}\n", name, a.word);
    else if (a.alias >= 0)
      s += fmt::format("// {} = {} + {} elements\n", name, p.function.params[a.alias].name, a.alias_shift);
    else
      s += fmt::format("// {}: {} elements of {}, {} past a 64-byte boundary\n", name, a.bytes.size() / bytes(a.element),
                       ir::text(a.element), a.misalignment);
  }
  return s + ir::print(p.function);
}

}  // namespace tilewright::fuzz
