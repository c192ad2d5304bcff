// Reads and writes whole files that a command line names; '-' is standard input or output.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "tileir/graph/graph.h"
#include "tileir/ir.h"

namespace tilewright::cli {

class Files {
 public:
  /// The contents of a file. Throws UsageError if it cannot be read, or if standard input was already read.
  std::string read(const std::string& path);
  /// Throws UsageError if the file cannot be created or standard output is already in use, Failure if writing fails.
  void write(const std::string& path, std::string_view contents);

  /// The verified kernels of a .tile file. Its text is kept for messages.
  ir::Module read_tile(const std::string& path);
  /// A verified textual graph that has an output. Its text is kept for messages.
  graph::Graph read_graph(const std::string& path);
  /// The text of such a file, found by its name in messages; empty if there is none.
  std::string_view source(const std::string& name) const;

 private:
  bool stdin_taken_ = false, stdout_taken_ = false;
  std::map<std::string, std::string> sources_;
};

/// The kernel with that name, or the only kernel if the name is empty. Throws UsageError that lists the kernels.
const ir::Function& choose_kernel(const ir::Module&, const std::string& name);

}  // namespace tilewright::cli
