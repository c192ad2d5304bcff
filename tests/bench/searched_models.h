// The models by which searches of graphs are compared, as the papers about TASO and Tensat build them: NasRNN, BERT without softmax, NasNet-A.
// Images have channels last here.
#pragma once
#include <tilewright/tilewright.h>

#include <string>
#include <vector>

namespace bench {

class SearchedModel {
 public:
  using Tensor = tilewright::Tensor<float>;
  using Shape = std::vector<tilewright::Dim>;

  explicit SearchedModel(tilewright::Graph& g) : graph_(g) {}

  /// Steps of a cell that was found by search: eight sums of two products each.
  void nas_rnn(int steps, std::int64_t width = 512) {
    Tensor h = tilewright::relu(input({1, width}));
    for (int i = 0; i < steps; ++i) h = cell_of_nas_rnn(h, input({1, width}), width);
    graph_.output("h", h);
  }

  /// Linear layers, and the scores and values of 16 heads of 64.
  void bert(int layers) {
    Tensor x = tilewright::relu(input({64, 1024}));
    for (int i = 0; i < layers; ++i) {
      const auto heads = [&] { return tilewright::permute(tilewright::reshape(product(x, 1024), {64, 16, 64}), {1, 0, 2}); };
      const Tensor q = heads(), k = heads(), v = heads();
      graph_.output("attended" + std::to_string(i), tilewright::matmul(tilewright::matmul(q, tilewright::transpose(k)), v));
      x = product(x, 1024);
    }
    graph_.output("x", x);
  }

  /// Three times five normal cells and one that halves the image.
  void nasnet_a(int normal_cells = 5, int reductions = 3, std::int64_t size = 224) {
    Tensor image = tilewright::relu(convolution(input({1, size, size, 3}), 7, 2, 64));
    image = tilewright::max_pool(image, 3, {.stride = 2, .pad = 1});
    std::int64_t channels = 128;
    for (int i = 0; i < reductions; ++i) {
      Tensor before = image, now = image;
      for (int j = 0; j < normal_cells; ++j) {
        const Tensor next = normal_cell(before, now, channels);
        before = now, now = next;
      }
      channels *= 2;
      image = reduction_cell(before, now, channels);
    }
    graph_.output("image", image);
  }

 private:
  Tensor input(const Shape& shape) { return graph_.input<float>("x" + std::to_string(count_++), shape); }
  Tensor parameter(const Shape& shape) { return graph_.parameter<float>("w" + std::to_string(count_++), shape); }
  static std::int64_t last(const Tensor& t) { return t.shape().back().value(); }
  Tensor product(const Tensor& x, std::int64_t columns) { return tilewright::matmul(x, parameter({last(x), columns})); }

  Tensor cell_of_nas_rnn(const Tensor& h, const Tensor& x, std::int64_t width) {
    using tilewright::relu, tilewright::sigmoid, tilewright::tanh;
    std::vector<Tensor> t;
    for (int i = 0; i < 8; ++i) t.push_back(product(x, width) + product(h, width));
    const Tensor a = relu(t[0]) + sigmoid(t[3]), b = sigmoid(t[1]) + tanh(t[2]);
    const Tensor c = sigmoid(t[4]) * tanh(t[5]), d = sigmoid(t[6]) * relu(t[7]);
    return tanh(tanh(sigmoid(b) + tanh(c)) * tanh(tanh(a) * tanh(d)));
  }

  Tensor convolution(const Tensor& x, std::int64_t size, std::int64_t stride, std::int64_t channels, std::int64_t groups = 1) {
    return tilewright::conv(x, parameter({size, size, last(x) / groups, channels}), {.stride = stride, .pad = size / 2, .groups = groups});
  }
  Tensor separable(const Tensor& x, std::int64_t size, std::int64_t stride, std::int64_t channels) {
    return convolution(convolution(x, size, stride, last(x), last(x)), 1, 1, channels);
  }
  Tensor squeezed(const Tensor& x, std::int64_t channels) { return tilewright::relu(convolution(x, 1, 1, channels)); }
  /// What comes before the last image, in the size of the last one.
  Tensor fitted(const Tensor& before, const Tensor& now) {
    const bool is_larger = !(before.shape()[1] == now.shape()[1]);
    return is_larger ? tilewright::relu(convolution(before, 3, 2, last(now))) : squeezed(before, last(now));
  }
  static Tensor average(const Tensor& x, std::int64_t stride) { return tilewright::avg_pool(x, 3, {.stride = stride, .pad = 1}); }
  static Tensor greatest(const Tensor& x) { return tilewright::max_pool(x, 3, {.stride = 2, .pad = 1}); }

  Tensor normal_cell(const Tensor& before, const Tensor& now, std::int64_t channels) {
    const Tensor c = squeezed(now, channels), p = fitted(before, c);
    return tilewright::concat(
        std::vector<Tensor>{separable(c, 3, 1, channels) + c, separable(p, 3, 1, channels) + separable(c, 3, 1, channels),
                            average(c, 1) + p, average(p, 1) + average(p, 1), separable(p, 5, 1, channels) + separable(p, 3, 1, channels)},
        -1);
  }
  Tensor reduction_cell(const Tensor& before, const Tensor& now, std::int64_t channels) {
    const Tensor c = squeezed(now, channels), p = fitted(before, c);
    const Tensor first = separable(p, 7, 2, channels) + separable(c, 5, 2, channels), second = greatest(c) + separable(p, 7, 2, channels);
    return tilewright::concat(std::vector<Tensor>{first, second, average(c, 2) + separable(p, 5, 2, channels),
                                                  greatest(c) + separable(first, 3, 1, channels), average(first, 1) + second},
                              -1);
  }

  tilewright::Graph& graph_;
  int count_ = 0;
};

}  // namespace bench
