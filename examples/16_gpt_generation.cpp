// Generates tokens with a decoder like GPT's: several layers of attention and gated products, on random weights. The ideas: a whole model
// as formulas; one plan for the prompt, one for each token behind it, whose symbol `past` grows, and one that draws a token; and a cache of
// keys and values in memory that the program owns, of which a run reads the rows so far and writes the next ones right behind them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <random>

#include "example.h"

namespace tw = tilewright;

namespace {

struct Sizes {
  int layers, model, heads, groups, depth, hidden, vocabulary;  // groups: heads of keys and values
  int prompt, tokens;                                           // tokens: how many are generated
  int row() const { return groups * depth; }                    // elements of one position of one layer in the cache
  float scale() const { return 1 / std::sqrt(static_cast<float>(depth)); }
};

using Weights = std::map<std::string, std::vector<float>>;  // key: the name of the parameter

std::string in_layer(int layer, const char* what) { return "layer" + std::to_string(layer) + "." + what; }

// ---- the model as formulas ---------------------------------------------------------------------------------------------

/// The model for `length` tokens that stand behind `past` ones, whose keys and values the cache has; none at the beginning.
void decoder(tw::Graph& graph, const Sizes& s, const tw::Dim& length, const std::optional<tw::Dim>& past) {
  const tw::Dim total = past ? *past + length : length;
  auto embedding = graph.parameter<float>("embedding", {s.vocabulary, s.model});
  auto everywhere = tw::iota<int>(graph, {total}, 0);
  auto position = past ? tw::slice(everywhere, 0, *past, total) : everywhere;  // positions of the new tokens
  auto seen = tw::expand_dims(everywhere, 0) <= tw::expand_dims(position, 1);  // [length, total]
  auto each_head = tw::expand_dims(position, 1);
  const auto heads_first = [](auto t) { return tw::permute(t, {1, 2, 0, 3}); };  // [position, group, head, depth] -> heads outside
  const auto grouped = [&](auto t, const tw::Dim& rows, int heads) {
    return heads_first(tw::reshape(t, {rows, s.groups, heads, s.depth}));
  };

  auto x = tw::gather(embedding, graph.input<int>("tokens", {length}));
  for (int l = 0; l < s.layers; ++l) {
    const auto scales = [&](const char* name) { return graph.parameter<float>(in_layer(l, name), {s.model}); };
    const auto times = [&](auto t, const char* name, int rows, int columns) {
      return tw::matmul(t, graph.parameter<float>(in_layer(l, name), {rows, columns}));
    };
    auto n = tw::rms_norm(x, scales("norm1"));
    auto q = tw::rope(tw::reshape(times(n, "wq", s.model, s.heads * s.depth), {length, s.heads, s.depth}), each_head);
    auto k = tw::rope(tw::reshape(times(n, "wk", s.model, s.row()), {length, s.groups, s.depth}), each_head);
    auto v = tw::reshape(times(n, "wv", s.model, s.row()), {length, s.groups, s.depth});
    graph.output(in_layer(l, "new_keys"), k), graph.output(in_layer(l, "new_values"), v);
    if (past) {
      k = tw::concat({graph.input<float>(in_layer(l, "keys"), {*past, s.groups, s.depth}), k}, 0);
      v = tw::concat({graph.input<float>(in_layer(l, "values"), {*past, s.groups, s.depth}), v}, 0);
    }
    auto scores = tw::matmul(grouped(q, length, s.heads / s.groups), tw::transpose(grouped(k, total, 1))) * s.scale();
    auto weights = tw::softmax(tw::where(seen, scores, -tw::inf), -1);
    auto attended = tw::permute(tw::matmul(weights, grouped(v, total, 1)), {2, 0, 1, 3});
    x = x + times(tw::reshape(attended, {length, s.heads * s.depth}), "wo", s.heads * s.depth, s.model);
    auto m = tw::rms_norm(x, scales("norm2"));
    x = x + times(tw::silu(times(m, "wg", s.model, s.hidden)) * times(m, "wu", s.model, s.hidden), "wd", s.hidden, s.model);
  }
  graph.output("hidden", tw::slice(x, 0, length - 1, length));
}

/// The next token, from what the layers give for the latest one.
void head(tw::Graph& graph, const Sizes& s) {
  auto last = tw::rms_norm(graph.input<float>("hidden", {1, s.model}), graph.parameter<float>("norm", {s.model}));
  auto logits = tw::matmul(last, tw::transpose(graph.parameter<float>("embedding", {s.vocabulary, s.model})));
  graph.output("logits", logits);
  // The greatest of logits and noise of Gumbel's distribution is a draw from softmax(logits).
  graph.output("next", tw::argmax(logits + graph.input<float>("noise", {1, s.vocabulary}), -1));
}

/// A model on a device, with the memory of its cache.
class Generator {
 public:
  Generator(const tw::Device& device, const Sizes& s, const Weights& weights, const std::vector<float>& noise)
      : device_(device),
        s_(s),
        hidden_(device.allocate<float>(s.model)),
        noise_(device.upload(noise)),
        logits_(device.allocate<float>(noise.size())),
        token_(device.allocate<int>(1)) {
    for (const auto& [name, values] : weights) weights_.emplace(name, device.upload(values));
    for (int i = 0; i < 2 * s.layers; ++i) cache_.push_back(device.allocate<float>((s.prompt + s.tokens) * s.row()));
    tw::Graph prompt, step, last;
    decoder(prompt, s, prompt.dim("length"), std::nullopt);
    decoder(step, s, 1, step.dim("past"));
    head(last, s);
    prompt_ = prompt.compile(device), step_ = step.compile(device), head_ = last.compile(device);
  }

  /// The tokens behind the prompt.
  std::vector<int> generate(const std::vector<int>& prompt) {
    std::vector<int> tokens;
    tw::Buffer<int> given = device_.upload(prompt);
    for (int i = 0; i < s_.tokens; ++i) {
      std::vector<tw::RunArgument> arguments{{"tokens", i == 0 ? given : token_}, {"hidden", hidden_}};
      for (int l = 0; l < s_.layers; ++l) add_cache(arguments, l, i == 0 ? 0 : s_.prompt + i - 1);
      if (i <= 1)  // a plan keeps the parameters of its first run
        for (auto& [name, weight] : weights_)
          if (name != "norm") arguments.emplace_back(name, weight);
      (i == 0 ? prompt_ : step_).run(arguments);

      const int row = i * s_.vocabulary;
      head_.run({{"hidden", hidden_},
                 {"noise", noise_ + row},
                 {"norm", weights_.at("norm")},
                 {"embedding", weights_.at("embedding")},
                 {"logits", logits_ + row},
                 {"next", token_}});
      tokens.push_back(token_.download()[0]);
    }
    return tokens;
  }

  /// The logits of each step of the latest generate().
  std::vector<float> logits() const { return logits_.download(); }
  const tw::Plan& prompt_plan() const { return prompt_; }
  const tw::Plan& step_plan() const { return step_; }
  const tw::Plan& head_plan() const { return head_; }

 private:
  /// The rows that there are, and room for the next ones right behind them.
  void add_cache(std::vector<tw::RunArgument>& arguments, int layer, int past) {
    tw::Buffer<float>&keys = cache_[2 * layer], &values = cache_[2 * layer + 1];
    if (past > 0) {
      arguments.emplace_back(in_layer(layer, "keys"), tw::view(keys, {past, s_.groups, s_.depth}));
      arguments.emplace_back(in_layer(layer, "values"), tw::view(values, {past, s_.groups, s_.depth}));
    }
    arguments.emplace_back(in_layer(layer, "new_keys"), keys + past * s_.row());
    arguments.emplace_back(in_layer(layer, "new_values"), values + past * s_.row());
  }

  tw::Device device_;
  Sizes s_;
  std::map<std::string, tw::Buffer<float>> weights_;
  std::vector<tw::Buffer<float>> cache_;  // keys and values of each layer
  tw::Buffer<float> hidden_, noise_, logits_;
  tw::Buffer<int> token_;  // the latest one
  tw::Plan prompt_, step_, head_;
};

// ---- the same in plain C++ ---------------------------------------------------------------------------------------------

template <class Real>
class PlainDecoder {
 public:
  using Row = std::vector<Real>;
  PlainDecoder(const Sizes& s, const Weights& weights) : s_(s), weights_(weights), keys_(s.layers), values_(s.layers) {}

  /// The logits behind a token at the next position; none if they are not wanted.
  Row step(int token, bool with_logits) {
    const std::vector<float>& embedding = weights_.at("embedding");
    Row x(s_.model);
    for (int c = 0; c < s_.model; ++c) x[c] = embedding[token * s_.model + c];
    for (int l = 0; l < s_.layers; ++l) {
      const Row n = rms_norm(x, in_layer(l, "norm1"));
      Row q = product(n, in_layer(l, "wq")), k = product(n, in_layer(l, "wk")), v = product(n, in_layer(l, "wv"));
      rope(q), rope(k);
      keys_[l].insert(keys_[l].end(), k.begin(), k.end()), values_[l].insert(values_[l].end(), v.begin(), v.end());
      add(x, product(attention(q, keys_[l], values_[l]), in_layer(l, "wo")));
      const Row m = rms_norm(x, in_layer(l, "norm2")), up = product(m, in_layer(l, "wu"));
      Row gate = product(m, in_layer(l, "wg"));
      for (int c = 0; c < s_.hidden; ++c) gate[c] = gate[c] / (1 + std::exp(-gate[c])) * up[c];
      add(x, product(gate, in_layer(l, "wd")));
    }
    ++position_;
    if (!with_logits) return {};
    const Row last = rms_norm(x, "norm");
    Row logits(s_.vocabulary);
    example::parallel(s_.vocabulary, 64, [&](int begin, int end) {
      for (int t = begin; t < end; ++t)
        for (int c = 0; c < s_.model; ++c) logits[t] += last[c] * Real(embedding[t * s_.model + c]);
    });
    return logits;
  }

 private:
  Row rms_norm(const Row& x, const std::string& name) const {
    Real squares = 0;
    for (Real value : x) squares += value * value;
    Row y = x;
    for (int c = 0; c < s_.model; ++c) y[c] *= Real(weights_.at(name)[c]) / std::sqrt(squares / s_.model + Real(1e-6));
    return y;
  }
  Row product(const Row& x, const std::string& name) const {
    const std::vector<float>& w = weights_.at(name);
    const int columns = static_cast<int>(w.size() / x.size());
    Row y(columns);
    example::parallel(columns, 64, [&](int begin, int end) {
      for (std::size_t i = 0; i < x.size(); ++i)
        for (int j = begin; j < end; ++j) y[j] += x[i] * Real(w[i * columns + j]);
    });
    return y;
  }
  void rope(Row& x) const {
    for (std::size_t head = 0; head < x.size(); head += s_.depth)
      for (int i = 0; i < s_.depth / 2; ++i) {
        const double angle = position_ * std::pow(10000.0, -2.0 * i / s_.depth);
        Real &a = x[head + i], &b = x[head + i + s_.depth / 2];
        const Real turned = a * Real(std::cos(angle)) - b * Real(std::sin(angle));
        b = b * Real(std::cos(angle)) + a * Real(std::sin(angle)), a = turned;
      }
  }
  Row attention(const Row& q, const Row& keys, const Row& values) const {
    Row out(q.size());
    const int rows = position_ + 1;
    for (int h = 0; h < s_.heads; ++h) {
      const int group = h / (s_.heads / s_.groups) * s_.depth;
      Row p(rows);
      for (int j = 0; j < rows; ++j)
        for (int c = 0; c < s_.depth; ++c) p[j] += q[h * s_.depth + c] * keys[j * s_.row() + group + c] * Real(s_.scale());
      const Real biggest = *std::max_element(p.begin(), p.end());
      Real total = 0;
      for (Real& value : p) total += value = std::exp(value - biggest);
      for (int j = 0; j < rows; ++j)
        for (int c = 0; c < s_.depth; ++c) out[h * s_.depth + c] += p[j] / total * values[j * s_.row() + group + c];
    }
    return out;
  }
  static void add(Row& x, const Row& y) {
    for (std::size_t c = 0; c < x.size(); ++c) x[c] += y[c];
  }

  const Sizes& s_;
  const Weights& weights_;
  std::vector<Row> keys_, values_;
  int position_ = 0;
};

/// The logits of every step, if the steps choose these tokens.
template <class Real>
std::vector<Real> plain_logits(const Sizes& s, const Weights& weights, const std::vector<int>& prompt, const std::vector<int>& tokens) {
  PlainDecoder<Real> decoder(s, weights);
  std::vector<Real> all;
  for (int i = 0; i < s.prompt + s.tokens - 1; ++i) {
    const auto logits = decoder.step(i < s.prompt ? prompt[i] : tokens[i - s.prompt], i >= s.prompt - 1);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

// ------------------------------------------------------------------------------------------------------------------------

Weights random_weights(const Sizes& s) {
  Weights weights;
  unsigned seed = 0;
  const auto add = [&](const std::string& name, int rows, int columns, float scale) {
    weights[name] = example::normal(std::size_t(rows) * columns, ++seed, scale);
  };
  const auto matrix = [&](const std::string& name, int rows, int columns) { add(name, rows, columns, 1 / std::sqrt(float(rows))); };
  add("embedding", s.vocabulary, s.model, 0.2f), add("norm", 1, s.model, 1);
  for (int l = 0; l < s.layers; ++l) {
    add(in_layer(l, "norm1"), 1, s.model, 1), add(in_layer(l, "norm2"), 1, s.model, 1);
    matrix(in_layer(l, "wq"), s.model, s.heads * s.depth), matrix(in_layer(l, "wo"), s.heads * s.depth, s.model);
    matrix(in_layer(l, "wk"), s.model, s.row()), matrix(in_layer(l, "wv"), s.model, s.row());
    matrix(in_layer(l, "wg"), s.model, s.hidden), matrix(in_layer(l, "wu"), s.model, s.hidden),
        matrix(in_layer(l, "wd"), s.hidden, s.model);
  }
  return weights;
}

/// -log(-log(u)) of uniform numbers u.
std::vector<float> gumbel(std::size_t count) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(1e-6f, 1 - 1e-6f);
  std::vector<float> noise(count);
  for (float& value : noise) value = -std::log(-std::log(uniform(random)));
  return noise;
}

/// Whether each token is the greatest of logits and noise, as far as the tolerance of the logits tells them apart.
bool are_drawn(const Sizes& s, const std::vector<int>& tokens, const std::vector<double>& logits, const std::vector<float>& noise) {
  for (int i = 0; i < s.tokens; ++i) {
    const std::size_t row = std::size_t(i) * s.vocabulary;
    double greatest = -HUGE_VAL;
    for (int t = 0; t < s.vocabulary; ++t) greatest = std::max(greatest, logits[row + t] + noise[row + t]);
    if (tokens[i] < 0 || tokens[i] >= s.vocabulary || logits[row + tokens[i]] + noise[row + tokens[i]] < greatest - 0.05) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const example::Options options(argc, argv);
  const Sizes s = options.quick ? Sizes{2, 32, 4, 2, 16, 48, 128, 5, 4} : Sizes{4, 256, 8, 2, 32, 640, 2048, 48, 64};
  const Weights weights = random_weights(s);
  const std::vector<float> noise = gumbel(std::size_t(s.tokens) * s.vocabulary);
  std::vector<int> prompt(s.prompt);
  for (int i = 0; i < s.prompt; ++i) prompt[i] = i * 37 % s.vocabulary;

  tw::Device device = options.open();
  Generator generator(device, s, weights, noise);
  if (options.plan) {
    for (const tw::Plan* plan : {&generator.prompt_plan(), &generator.step_plan(), &generator.head_plan()})
      std::printf("%s\n", plan->explain().c_str());
    return 0;
  }
  const std::vector<int> tokens = generator.generate(prompt);
  std::printf("%zu kernels for the prompt, %zu for each token behind it, %zu to draw one\ntokens:",
              generator.prompt_plan().kernels().size(), generator.step_plan().kernels().size(), generator.head_plan().kernels().size());
  for (int token : tokens) std::printf(" %d", token);
  std::printf("\n");

  const std::vector<double> want = plain_logits<double>(s, weights, prompt, tokens);
  if (!are_drawn(s, tokens, want, noise) || generator.generate(prompt) != tokens) {
    std::printf("WRONG: the tokens do not follow from the logits, or are others in a second run\n");
    return 1;
  }

  const double each_layer = s.model * (2.0 * s.heads * s.depth + 2.0 * s.row() + 3.0 * s.hidden);
  std::vector<float> plain(want.size());
  return example::report(options, device,
                         {.kernel = "GPT generation",
                          .size = std::to_string(s.layers) + " layers of " + std::to_string(s.model) + ", " + std::to_string(s.prompt) +
                                  "+" + std::to_string(s.tokens),
                          .flops = 2 * ((s.prompt + s.tokens - 1) * s.layers * each_layer + 1.0 * s.tokens * s.model * s.vocabulary),
                          .tolerance = 5e-3,  // a device that multiplies in tf32 reaches this
                          .tile = [&] { (void)generator.generate(prompt); },
                          .plain = [&] { plain = plain_logits<float>(s, weights, prompt, tokens); },
                          .tile_result = [&] { return generator.logits(); },
                          .plain_result = [&] { return plain; },
                          .want = want});
}
