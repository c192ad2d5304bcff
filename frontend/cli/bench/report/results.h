// The results of `tilewright bench`, which the table, the JSON file and the chart show.
#pragma once
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "frontend/cli/bench/measuring/counting.h"
#include "frontend/cli/bench/measuring/machine.h"
#include "frontend/cli/bench/measuring/measurement.h"
#include "frontend/cli/bench/measuring/nvml.h"
#include "frontend/cli/bench/measuring/tuning.h"

namespace tilewright::cli::bench {

struct Contestant {
  std::string name;
  Times times;  // zero rounds: it was not measured
  bool checked = false;
  double error = 0;
  std::string failure;  // why it was not measured

  bool measured() const { return times.rounds > 0; }
};

/// The result of one case.
struct CaseResult {
  std::string kernel, shape, type;
  std::string data;  // random data that differs from that of other cases
  double flops = 0, bytes = 0;
  std::vector<Contestant> contestants;  // this library first, then the peers in their order
  double copy_ms = 0;                   // time to copy as many bytes, in the same rounds; 0: not measured
  double peak_gflops = 0;
  std::optional<Counted> counted;
  std::optional<GpuState> gpu;              // read after the last round but one
  std::optional<std::vector<Tuned>> tuned;  // with --tune

  const Contestant& ours() const { return contestants.front(); }
  /// The roofline's time: the copy, or the operations at the peak, whichever takes longer; 0 if neither is known.
  double roofline_ms() const;
};

struct PeerVersion {
  std::string name, version, absence;  // absence: why the peer is missing
};

struct Results {
  std::string version, commit, date;
  Facts facts;
  std::string data = fmt::format("{}, but where --list says otherwise; results are checked against double precision first", kUsualData);
  std::vector<PeerVersion> peers;
  bool cold = false;
  int rounds = 0;
  bool interrupted = false;
  std::vector<std::pair<std::string, Peak>> peaks;  // by element type
  std::vector<CaseResult> cases;
};

/// "0.1234 ms", "12.3 us" in a width that suits tables.
std::string time_text(double ms);
/// "512 GFLOP/s" or "43.1 GB/s", depending on what bounds the kernel.
std::string rate_text(const CaseResult&, double ms);
/// "68 %", "0.31 %".
std::string percent(double share);
/// "1.25x", "0.04x".
std::string ratio_text(double ratio);

/// The lines above the table.
std::string heading_text(const Results&);

/// Prints the table row by row.
class Table {
 public:
  /// Has columns for these peers; `counts`: columns for an emulator's counters.
  Table(std::vector<std::string> peers, bool counts, const std::vector<std::pair<std::string, std::string>>& kernels_and_shapes);
  std::string header() const;
  std::string row(const CaseResult&) const;

 private:
  std::string counted_row(const CaseResult&) const;
  std::vector<std::string> peers_;
  bool counts_;
  std::size_t kernel_width_, shape_width_;
};

/// The lines below the row of a tuned case; empty for other cases.
std::string tuned_text(const CaseResult&);

/// All results, as a JSON object.
std::string json_text(const Results&);

/// A chart of the shares of the roofline, and of the peers' times, as SVG.
std::string chart_svg(const Results&);

}  // namespace tilewright::cli::bench
