// The loop over the cases. Each case prints its output as soon as it is measured.
#include "frontend/cli/bench/runs/library_run.h"

#include <fmt/format.h>
#include <algorithm>
#include <optional>
#include <set>

#include "frontend/cli/bench/peers/peers.h"
#include "frontend/cli/bench/report/output.h"
#include "frontend/cli/bench/report/progress.h"
#include "frontend/cli/bench/rows/cases.h"
#include "frontend/cli/bench/runs/temporary_folder.h"
#include "frontend/cli/execution/emulator_launches.h"
#include "frontend/cli/files/errors.h"

namespace tilewright::cli::bench {

namespace {

DeviceKind kind_of(const Device& d) { return is_emulator(d) ? DeviceKind::emulator : is_gpu(d) ? DeviceKind::gpu : DeviceKind::cpu; }

struct OpenPeer {
  std::string name;
  std::unique_ptr<Peer> peer;
};

bool can_have(const PeerKind& kind, DeviceKind device) {
  return device == DeviceKind::cpu ? kind.on_cpu : device == DeviceKind::gpu && kind.on_gpu;
}

std::vector<const PeerKind*> chosen_peers(const std::string& text, DeviceKind device) {
  std::vector<const PeerKind*> chosen;
  const auto add = [&](const PeerKind& kind) {
    if (std::find(chosen.begin(), chosen.end(), &kind) == chosen.end()) chosen.push_back(&kind);
  };
  if (text.empty()) return chosen;
  for (const std::string& name : split_list(text, "--vs"))
    if (name == "all") {
      for (const PeerKind& kind : peer_kinds())
        if (can_have(kind, device)) add(kind);
    } else {
      add(find_peer(name));
    }
  return chosen;
}

/// Opens the peers; a missing peer gets a note.
std::vector<OpenPeer> open_peers(const std::vector<const PeerKind*>& kinds, const Setting& setting, const PeerOptions& options,
                                 std::vector<PeerVersion>& versions) {
  const DeviceKind device = kind_of(setting.device);
  std::vector<OpenPeer> peers;
  for (const PeerKind* kind : kinds) {
    const std::string name(kind->name);
    try {
      if (device == DeviceKind::emulator) throw Unavailable("nothing is timed on an emulator");
      if (!can_have(*kind, device)) throw Unavailable(kind->on_gpu ? "it needs a GPU" : "it runs on the cpu only");
      std::unique_ptr<Peer> peer = kind->open(setting, options);
      versions.push_back({name, peer->version(), ""});
      peers.push_back({name, std::move(peer)});
    } catch (const Unavailable& e) {
      versions.push_back({name, "", e.what()});
    }
  }
  return peers;
}

/// The measurement of one command line.
class Run {
 public:
  using Peaks = std::vector<std::pair<std::string, Peak>>;

  Run(const BenchOptions& options, const Setting& setting, std::vector<OpenPeer>& peers, const Peaks& peaks, std::size_t cases)
      : options_(options), setting_(setting), peers_(peers), peaks_(peaks), progress_(cases) {
    if (options.measuring.cold && !is_emulator(setting.device)) flush_.emplace(setting.device);
    if (is_gpu(setting.device)) nvml_.emplace(setting.device);
  }

  /// A failure becomes the failure of our contestant in the result. A case that the user interrupts is incomplete.
  CaseResult measure_case(const CaseName& name, std::size_t index) {
    CaseResult r;
    r.kernel = name.row->name, r.data = name.row->data, r.shape = text(name.shape), r.type = std::string(ir::text(name.type));
    const std::string what = fmt::format("{} {} {}", r.kernel, r.shape, r.type);
    progress_.show(index, 0, what + ": checking");
    try {
      Case c{name.row, name.shape, name.type, name.row->problems.make(name.shape, name.type)};
      prepare_inputs(setting_, c.problem);
      if (c.problem.bytes == 0)
        for (const Tensor& t : c.problem.tensors) c.problem.bytes += static_cast<double>(t.bytes.size());
      r.flops = c.problem.flops, r.bytes = c.problem.bytes;
      if (options_.tune) tune_case(c, r, index, what);
      if (is_emulator(setting_.device))
        count(c, r);
      else
        time(c, r, index, what);
    } catch (const Interrupted&) {
    } catch (const std::bad_alloc&) {
      r.contestants = {{"tilewright", {}, false, 0, "out of memory"}};
    } catch (const std::exception& failed) {
      r.contestants = {{"tilewright", {}, false, 0, failed.what()}};
    }
    progress_.clear();
    return r;
  }

 private:
  struct Interrupted {};

  void tune_case(const Case& c, CaseResult& r, std::size_t index, const std::string& what) {
    r.tuned = tune(setting_, c, [&](double share, const std::string& step) {
      if (Interruption::flag()) throw Interrupted();
      progress_.show(index, share / 2, fmt::format("{}: {}", what, step));
    });
  }

  void count(const Case& c, CaseResult& r) {
    std::vector<Entrant> ours(1);
    ours[0].name = "tilewright";
    ours[0].contender = our_kernel(setting_, c);
    take_counted(setting_.device.name());
    check_results(c, setting_, ours);
    r.counted = take_counted(setting_.device.name());
    r.contestants.push_back({ours[0].name, {}, ours[0].checked, ours[0].error, ours[0].failure});
  }

  std::vector<Entrant> entrants_of(const Case& c) {
    std::vector<Entrant> entrants(1);
    entrants[0].name = "tilewright";
    entrants[0].contender = our_kernel(setting_, c);
    for (OpenPeer& p : peers_) {
      Entrant e;
      e.name = p.name;
      try {
        e.contender = p.peer->prepare(c);
      } catch (const std::exception& failed) {
        e.failure = failed.what();
      }
      entrants.push_back(std::move(e));
    }
    return entrants;
  }

  void time(const Case& c, CaseResult& r, std::size_t index, const std::string& what) {
    std::vector<Entrant> entrants = entrants_of(c);
    check_results(c, setting_, entrants);
    auto copy = std::find_if(entrants.begin(), entrants.end(), [](const Entrant& e) { return e.name == "memcpy"; });
    const bool copy_is_hidden = copy == entrants.end();
    if (copy_is_hidden) {
      Entrant e;
      e.name = "memcpy";
      e.contender = copy_of(setting_, c.problem.bytes);
      entrants.push_back(std::move(e));
    }
    for (const auto& [type, peak] : peaks_)
      if (type == r.type && c.problem.flops > 0) r.peak_gflops = peak.gflops;
    if (entrants[0].contender)
      measure(entrants, options_.measuring, flush_ ? &*flush_ : nullptr, Interruption::flag(), [&](int round) {
        if (nvml_ && nvml_->is_open()) r.gpu = nvml_->state();  // the launches of the previous round have just ended
        progress_.show(index, static_cast<double>(round) / options_.measuring.rounds, fmt::format("{}: round {}", what, round + 1));
      });
    for (const Entrant& e : entrants) {
      if (e.name == "memcpy") r.copy_ms = e.times.median;
      if (e.name == "memcpy" && copy_is_hidden) continue;
      r.contestants.push_back({e.name, e.times, e.checked, e.error, e.failure});
    }
  }

  const BenchOptions& options_;
  const Setting& setting_;
  std::vector<OpenPeer>& peers_;
  const Peaks& peaks_;
  Progress progress_;
  std::optional<CacheFlush> flush_;
  std::optional<Nvml> nvml_;
};

/// Prints a note for each peer that was excluded; the same reason only once.
void report_failures(const CaseResult& r, std::set<std::string>& told, Output& output) {
  for (std::size_t i = 1; i < r.contestants.size(); ++i) {
    const Contestant& p = r.contestants[i];
    if (p.failure.empty() || !told.insert(p.name + p.failure).second) continue;
    output.note(fmt::format("{}: left out of {} {} {}: {}", p.name, r.kernel, r.shape, r.type, p.failure));
  }
}

}  // namespace

void bench_library(const std::vector<std::string>& kernels, const BenchOptions& options, Files& files) {
  const Device device = open_measured_device(options.device);
  const std::vector<CaseName> cases = parse_cases(kernels, options.shapes, options.types, kind_of(device));
  const std::vector<const PeerKind*> kinds = chosen_peers(options.peers, kind_of(device));
  Output output(options.json, options.plot);
  const EmulatorLaunches launches(device.name(), {});
  std::optional<Interruption> interruption;
  if (!is_emulator(device)) interruption.emplace();

  const TemporaryFolder folder;
  Setting setting{device, {}, folder.path()};
  if (options.ieee) setting.options.precision = Precision::ieee;
  Results results = started_results(device, options.measuring);
  std::vector<OpenPeer> peers = open_peers(kinds, setting, {options.python}, results.peers);
  std::vector<std::string> columns;
  for (const OpenPeer& p : peers) columns.push_back(p.name);
  std::vector<std::pair<std::string, std::string>> names;
  for (const CaseName& c : cases) names.emplace_back(c.row->name, text(c.shape));
  const Table table(columns, is_emulator(device), names);
  for (const CaseName& c : cases) {
    const std::string type(ir::text(c.type));
    const auto known = std::find_if(results.peaks.begin(), results.peaks.end(), [&](const auto& p) { return p.first == type; });
    if (known == results.peaks.end()) results.peaks.emplace_back(type, peak_of(device, c.type, options.ieee));
  }
  output.print(heading_text(results) + "\n" + table.header());

  Run run(options, setting, peers, results.peaks, cases.size());
  std::set<std::string> told;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < cases.size() && !Interruption::flag(); ++i) {
    CaseResult r = run.measure_case(cases[i], i);
    if (Interruption::flag()) break;  // an interrupted case has too few rounds to be fair
    output.print(table.row(r) + tuned_text(r));
    report_failures(r, told, output);
    wrong += !r.ours().failure.empty();
    results.cases.push_back(std::move(r));
  }
  results.interrupted = Interruption::flag();
  if (results.interrupted) output.note(fmt::format("interrupted: {} of {} cases are done", results.cases.size(), cases.size()));
  output.write(results, files);
  if (wrong > 0) throw Failure(fmt::format("{} of {} cases failed", wrong, cases.size()));
}

}  // namespace tilewright::cli::bench
