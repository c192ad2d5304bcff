// tilewright rules: derives the rules of the graph search and prints them, or their proofs.
#include <fmt/format.h>

#include "frontend/cli/commands/command.h"
#include "passes/search/generate/rule_file.h"
#include "tileir/text/suggestion.h"

namespace tilewright::cli {

namespace {

using namespace passes::search;

constexpr int kMostOps = 4;

struct Options {
  int ops = 3;
  bool proofs = false;
  std::string proof;
};

void execute(const Options& o, Session& session) {
  if (o.ops < 1 || o.ops > kMostOps) throw UsageError(fmt::format("--ops is {}; it must be 1 to {}", o.ops, kMostOps));
  const DerivedRules derived = derive_rules(o.ops);
  if (!o.proofs && o.proof.empty()) return session.files.write("-", rule_file(derived));
  std::string out;
  std::vector<std::string> names;
  for (const ProvedRule& r : derived.rules) {
    names.push_back(r.rule.name);
    if (o.proof.empty() || o.proof == r.rule.name) out += rule_proof(derived, r);
  }
  for (const ProvedMerge& m : derived.merges) {
    names.push_back(m.merge.name);
    if (o.proof.empty() || o.proof == m.merge.name) out += merge_proof(derived, m);
  }
  if (out.empty()) throw UsageError(fmt::format("--proof: there is no rule '{}'{}", o.proof, ir::suggestion(o.proof, names)));
  session.files.write("-", out);
}

}  // namespace

void add_rules(CLI::App& root, Session& session) {
  const auto o = std::make_shared<Options>();
  CLI::App* c = add_command(root, session, "rules", "The rules of the graph search: found, tested and proved anew",
                            "Examples: the rules of graphs of up to three ops; the laws that prove one of them\n"
                            "  tilewright rules --ops 3\n"
                            "  tilewright rules --proof cat_of_factor",
                            o, execute);
  c->add_option("--ops", o->ops, "Equations of up to N ops a side; default: 3 (4 takes a minute and 2 GB)")->type_name("N");
  c->add_flag("--proofs", o->proofs, "Each rule with its proof from the laws");
  c->add_option("--proof", o->proof, "One rule with its proof")->type_name("NAME");
}

}  // namespace tilewright::cli
