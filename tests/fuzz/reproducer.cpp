// The files of a failing program, and the command that runs them.
#include "tests/fuzz/reproducer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "frontend/cli/files/npy.h"
#include "tileir/text/literal.h"

namespace tilewright::fuzz {

namespace {

void write(const std::filesystem::path& path, const std::string& contents) {
  std::ofstream out(path, std::ios::binary);
  if (!(out << contents)) throw std::runtime_error("cannot write " + path.string());
}

/// The buffer that a parameter points to.
const Argument& buffer_of(const Program& p, const Argument& a) { return a.alias >= 0 ? p.arguments[static_cast<std::size_t>(a.alias)] : a; }

}  // namespace

std::string write_reproducer(const Program& p, const Blame& blame, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::string name = fmt::format("{}.tile", p.seed);
  std::string command = fmt::format("tilewright reduce {}", name);
  command += blame.passes.empty() ? " --run --device " + blame.target : " --passes=" + blame.passes;
  if (!blame.passes.empty() && !blame.target.empty()) command += " --target " + blame.target;
  if (blame.passes.empty() && blame.warps != 4) command += fmt::format(" --warps {}", blame.warps);
  command += " --no-contract";
  if (blame.exact) command += " --tolerance 0";
  command += fmt::format(" --grid {},{},{}", p.grid[0], p.grid[1], p.grid[2]);
  for (std::size_t i = 0; i < p.arguments.size(); ++i) {
    const std::string& param = p.function.params[i].name;
    const ir::Type t = p.function.type(p.function.arg(p.function.body(), static_cast<int>(i)));
    const Argument& a = buffer_of(p, p.arguments[i]);
    if (!a.is_buffer) {
      command += fmt::format(" --arg {}={}:{}", param, ir::text(t), ir::literal(t, a.word));
      continue;
    }
    const std::int64_t n = static_cast<std::int64_t>(a.bytes.size()) / ir::bytes(a.element);
    if (std::all_of(a.bytes.begin(), a.bytes.end(), [](std::byte b) { return b == std::byte{0}; })) {
      command += fmt::format(" --arg {}=zeros:{}:{}", param, ir::text(a.element), n);
      continue;
    }
    const std::string file = fmt::format("{}.{}.npy", p.seed, param);
    write(std::filesystem::path(folder) / file, cli::write_npy(a.element, std::array{n}, a.bytes));
    command += fmt::format(" --arg {}={}", param, file);
  }
  std::string difference = blame.difference;
  for (std::size_t at = 0; (at = difference.find('\n', at)) != std::string::npos; at += 4) difference.replace(at, 1, "\n// ");
  write(std::filesystem::path(folder) / name, fmt::format("// {}\n// {}\n{}", difference, command, text(p)));
  return command;
}

}  // namespace tilewright::fuzz
