// Writes results as JSON.
#include <fmt/format.h>

#include <cmath>

#include "frontend/cli/bench/report/results.h"
#include "frontend/cli/output/json_value.h"

namespace tilewright::cli::bench {

namespace {

std::string times_json(const Times& t) {
  return json_object({{"median_ms", json_number(t.median)},
                      {"lower_quartile_ms", json_number(t.lower)},
                      {"upper_quartile_ms", json_number(t.upper)},
                      {"rounds", json_number(t.rounds)},
                      {"launches_a_round", json_number(t.launches)}});
}

std::string contestant_json(const CaseResult& c, const Contestant& p) {
  JsonMembers members{{"name", json_string(p.name)}};
  if (p.checked) members.emplace_back("relative_error", json_number(p.error));
  if (!p.failure.empty()) members.emplace_back("failure", json_string(p.failure));
  if (p.measured()) {
    members.emplace_back("times", times_json(p.times));
    if (c.ours().measured()) members.emplace_back("time_over_ours", json_number(p.times.median / c.ours().times.median));
    if (c.flops > 0) members.emplace_back("gflop_s", json_number(c.flops / (p.times.median * 1e6)));
    members.emplace_back("gb_s", json_number(c.bytes / (p.times.median * 1e6)));
    if (c.roofline_ms() > 0) members.emplace_back("share_of_roofline", json_number(c.roofline_ms() / p.times.median));
  }
  return json_object(members);
}

std::string counted_json(const Counted& n) {
  std::vector<std::string> estimates;
  for (const Counted::Estimate& e : n.estimates)
    estimates.push_back(
        json_object({{"gpu", json_string(e.gpu)}, {"microseconds", json_number(e.microseconds)}, {"bound", json_string(e.bound)}}));
  const auto count = [](std::uint64_t x) { return std::to_string(x); };
  return json_object({{"programs", count(n.programs)},
                      {"instructions", count(n.instructions)},
                      {"sectors", count(n.sectors)},
                      {"least_sectors", count(n.least_sectors)},
                      {"wavefronts", count(n.wavefronts)},
                      {"least_wavefronts", count(n.least_wavefronts)},
                      {"matrix_products", count(n.matrix_products)},
                      {"estimates", json_array(estimates)}});
}

std::string gpu_json(const GpuState& g) {
  JsonMembers members;
  const auto add = [&](const char* name, const auto& value) {
    if (value) members.emplace_back(name, json_number(static_cast<double>(*value)));
  };
  add("sm_mhz", g.sm_mhz);
  add("memory_mhz", g.memory_mhz);
  add("watts", g.watts);
  add("celsius", g.celsius);
  add("throttled", g.throttled);
  return json_object(members);
}

std::string tuned_json(const Tuned& t) {
  return json_object({{"kernel", json_string(t.kernel)},
                      {"chosen", configuration_json(t.chosen)},
                      {"microseconds", json_number(t.microseconds)},
                      {"model", configuration_json(t.model)},
                      {"candidates", json_number(static_cast<double>(t.candidates))},
                      {"measured", json_number(static_cast<double>(t.measured))}});
}

std::string case_json(const CaseResult& c) {
  std::vector<std::string> contestants;
  for (const Contestant& p : c.contestants) contestants.push_back("\n        " + contestant_json(c, p));
  JsonMembers members{{"kernel", json_string(c.kernel)},
                      {"shape", json_string(c.shape)},
                      {"type", json_string(c.type)},
                      {"flops", json_number(c.flops)},
                      {"bytes", json_number(c.bytes)}};
  if (!c.data.empty()) members.emplace_back("data", json_string(c.data));
  if (c.copy_ms > 0) members.emplace_back("copy_ms", json_number(c.copy_ms));
  if (c.peak_gflops > 0) members.emplace_back("peak_gflops", json_number(c.peak_gflops));
  if (c.counted) members.emplace_back("counted", counted_json(*c.counted));
  if (c.gpu) members.emplace_back("gpu", gpu_json(*c.gpu));
  if (c.tuned) {
    std::vector<std::string> searches;
    for (const Tuned& t : *c.tuned) searches.push_back(tuned_json(t));
    members.emplace_back("tuned", json_array(searches));
  }
  members.emplace_back("contestants", json_array(contestants));
  return json_object(members);
}

}  // namespace

std::string json_text(const Results& r) {
  JsonMembers facts, members;
  for (const auto& [what, value] : r.facts) facts.emplace_back(what, json_string(value));
  std::vector<std::string> peers, cases;
  for (const PeerVersion& p : r.peers)
    peers.push_back(json_object({{"name", json_string(p.name)},
                                 {p.absence.empty() ? "version" : "absence", json_string(p.absence.empty() ? p.version : p.absence)}}));
  for (const CaseResult& c : r.cases) cases.push_back("\n    " + case_json(c));
  members = {{"program", json_string("tilewright bench")},
             {"version", json_string(r.version)},
             {"commit", json_string(r.commit)},
             {"date", json_string(r.date)},
             {"machine", json_object(facts)},
             {"caches", json_string(r.cold ? "cold" : "warm")},
             {"data", json_string(r.data)},
             {"interrupted", r.interrupted ? "true" : "false"},
             {"peers", json_array(peers)},
             {"cases", json_array(cases)}};
  std::string out = "{";
  for (const auto& [name, value] : members) out += fmt::format("{}\n  {}: {}", out.size() > 1 ? "," : "", json_string(name), value);
  return out + "\n}\n";
}

}  // namespace tilewright::cli::bench
