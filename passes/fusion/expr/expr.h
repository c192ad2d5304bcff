// Formulas over named axes: the representation on which the fusion passes work.
//
// An expression is a value for each point of its free axes: `sum over d of q[h, i, d] k[h, j, d]` has the axes h, i, j. Expressions are
// immutable and hash-consed: equal formulas are one object, which a pool owns (expr_pool.h). Their order depends only on their contents, so
// that rewriting a program without changing its meaning does not change a plan. ExprBuilder (normal_form.h) makes expressions in normal form.
#pragma once
#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tileir/graph/graph.h"
#include "tileir/rational.h"

namespace tilewright::passes::fusion {

using ir::Rational;

/// A named axis with its extent. Axes with equal names in one pool are one object.
struct AxisData {
  /// The name of an axis after a tensor in memory that has it.
  struct Label {
    graph::NodeId node;
    std::string text;
  };
  std::string name;
  std::string label;  // its name in reports
  Dim extent;
  std::uint32_t id;           // in order of creation
  std::vector<Label> labels;  // one for each tensor that has it, from the first on, after which it is named; none if a symbol names it
};
using Axis = const AxisData*;
/// Orders axes by name in maps; by address, the order would differ between runs.
struct AxisLess {
  bool operator()(Axis a, Axis b) const { return a->name < b->name; }
};
template <class T>
using AxisMap = std::map<Axis, T, AxisLess>;
/// A label for another axis with the same positions: "n'" beside "n", "axis 0 of x (again)".
std::string label_again(const std::string&);

/// A set of axes, in ascending order of names.
class AxisSet {
 public:
  AxisSet() = default;
  AxisSet(std::initializer_list<Axis> axes) {
    for (Axis a : axes) insert(a);
  }
  void insert(Axis);
  void insert(const AxisSet&);
  bool contains(Axis) const;
  bool contains(const AxisSet&) const;
  bool intersects(const AxisSet&) const;
  AxisSet without(const AxisSet&) const;
  AxisSet common(const AxisSet&) const;
  bool empty() const { return axes_.empty(); }
  std::size_t size() const { return axes_.size(); }
  auto begin() const { return axes_.begin(); }
  auto end() const { return axes_.end(); }
  friend bool operator==(const AxisSet&, const AxisSet&) = default;

 private:
  std::vector<Axis> axes_;
};

enum class ExprKind : std::uint8_t {
  number,    // an exact rational number
  infinity,  // +inf or -inf: `number` is 1 or -1
  constant,  // a number that is not rational here, such as NaN: `bits` of a double
  extent,    // the value of an extent, which is an expression over symbols
  random,    // uniform in [0, 1): the operand is the counter, `bits` the seed
  index,     // the position along an axis
  load,      // an element of a tensor in memory: the operands are the indices along its axes
  add,       // the sum of coefficient * value over `terms`
  mul,       // number * the product of base^exponent over `factors`
  exp,
  log,
  function,         // any other element-wise op of tile IR
  select,           // operands: condition, value, other
  at_least_zero,    // whether an integer expression is not negative
  equal,            // whether two integer expressions are equal; ordered
  conjunction,      // whether all operands hold; ordered
  negation,         // the logical negation of the operand
  indicator,        // 1 where the operand holds, else 0
  reduce,           // the operand combined over the axes `bound`
  scan,             // the first operand combined along the axis `bound` up to a position, which is the second operand, or from there on
  reference,        // a pending reduction inside of an exponent: values move with exp(a(new) - a(old))
  shift_reference,  // a pending value that is subtracted: values move by the transport of plan.h
  delta,            // the change of a shift reference
};

/// How elements are combined: by an op, or by a user's function.
struct Fold {
  graph::Combine combine{};
  std::uint32_t function = 0;  // for `combine`: the function's number in the pool
  Fold(graph::Combine c, std::uint32_t f = 0) : combine(c), function(f) {}
  friend bool operator==(const Fold&, const Fold&) = default;
};

/// What is known about a float before its data are known: rules that drop, move or cancel a value need this. `for_finite_data` ignores
/// infinities and NaN in the data; integers and conditions are always finite.
enum class Finite : std::uint8_t {
  unknown,          // 1 / x, log(x), -inf
  unless_hidden,    // for_finite_data, but maxima of masked values are infinite where the mask hides all of them
  for_finite_data,  // finite if all elements of tensors are: x y, exp(x), a maximum
  always,
};

/// How the factors of a summed product are multiplied: the type to which they are rounded and, for f32, the precision.
struct ProductElement {
  constexpr ProductElement(ir::Element e = ir::Element::f32, graph::ProductPrecision p = graph::ProductPrecision::standard)
      : element(e), precision(e == ir::Element::f32 ? p : graph::ProductPrecision::standard) {}
  ir::Element element;
  graph::ProductPrecision precision;  // `standard` except for f32
  friend bool operator==(const ProductElement&, const ProductElement&) = default;
};

class ExprData;
/// A handle to an expression; null only if default-constructed.
class Expr {
 public:
  Expr() = default;
  explicit Expr(const ExprData* data) : data_(data) {}
  const ExprData* operator->() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }
  friend bool operator==(const Expr&, const Expr&) = default;

 private:
  const ExprData* data_ = nullptr;
};

struct ExprHash {
  std::size_t operator()(Expr) const;
};
using ExprMap = std::unordered_map<Expr, Expr, ExprHash>;
using ExprSet = std::unordered_set<Expr, ExprHash>;

/// coefficient * value; in the constant term of a sum the value is 1.
struct Term {
  Rational coefficient;
  Expr value;
  friend bool operator==(const Term&, const Term&) = default;
};
/// base^exponent.
struct Factor {
  Expr base;
  Rational exponent;
  friend bool operator==(const Factor&, const Factor&) = default;
};

/// A hash of the contents, which is the same in every process. Operands are ordered by it.
struct ExprKey {
  std::uint64_t high = 0, low = 0;
  friend auto operator<=>(const ExprKey&, const ExprKey&) = default;
};

/// A tensor in memory: an input, a constant or an intermediate result of another kernel.
struct TensorInfo {
  std::string name;  // unique in a pool
  ir::Element element{};
  graph::TensorShape shape;
  std::vector<Dim> strides;  // in elements
  bool is_parameter = false;
  bool is_scalar = false;       // a number that a run passes, and no memory
  bool is_begin = false;        // in a single kernel: where its part of a concatenation begins
  bool is_nonnegative = false;  // every element is known to be >= 0 or NaN
  bool is_positive = false;     // every element is known to be > 0 for finite data
  Finite finite = Finite::for_finite_data;
  Finite extremes = Finite::for_finite_data;  // whether maxima and minima of elements count as finite, see finite_extreme
  bool may_contain_logarithms = false;        // whether elements may be values of formulas with logarithms
  graph::NodeId node;                         // the node whose value the tensor holds; none for an intermediate result
  std::vector<const TensorInfo*> made_of;     // an intermediate result: the tensors from which it is computed, none of them intermediate
};
using Tensor = const TensorInfo*;

class ExprData {
 public:
  ExprKind kind{};
  ir::Element element{};        // f32 or f64 for floats, boolean, or an integer type
  Rational number;              // number, infinity, mul
  std::vector<Term> terms;      // add: ascending by key
  std::vector<Factor> factors;  // mul: ascending by key
  std::vector<Expr> operands;
  ir::OpKind function{};           // function
  graph::Combine combine{};        // reduce, scan
  ProductElement operand_element;  // reduce: how a product of operands is multiplied
  AxisSet bound;                   // reduce; scan: one axis, of the first operand
  // indicator: the axes of the values that it hides, if these have others than the indicator. Where the condition does not hold, a product
  // ignores its factors with these axes.
  AxisSet hides;
  // indicator: the tensors, by name, that the masked values read. The mask hides the factors of a product that read these, and multiplies
  // all others. None: it hides all factors.
  std::optional<std::vector<Tensor>> hidden_tensors;
  Axis axis = nullptr;      // index
  Tensor tensor = nullptr;  // load
  Dim extent;               // extent
  // constant; random: the seed; reduce by combine: the function's number in the pool; scan: 1 if reverse; load: 1 if positions may be
  // outside of the tensor where the value is not used
  std::uint64_t bits = 0;

  AxisSet axes;  // the free axes
  ExprKey key;
  std::uint32_t height = 0;     // length of the longest path to a leaf; a part of an expression has a smaller height
  std::uint32_t kinds = 0;      // a bit for the kind of the expression and of each of its parts
  bool is_nonnegative = false;  // known to be >= 0 or NaN
  bool is_numeric = false;      // made of numbers only: log(2), 3 * 2^(1/2)
  bool is_positive = false;     // known to be > 0 for finite data
  Finite finite{};

  bool is(ExprKind k) const { return kind == k; }
  /// Whether the expression, or a part of it, is of this kind.
  bool holds(ExprKind k) const { return (kinds >> static_cast<unsigned>(k) & 1) != 0; }
  bool is_reference() const { return kind == ExprKind::reference || kind == ExprKind::shift_reference; }
  bool is_number(std::int64_t value) const { return kind == ExprKind::number && number == Rational(value); }
  Fold fold() const { return {combine, combine == graph::Combine::combine ? static_cast<std::uint32_t>(bits) : 0}; }
  bool is_negative_infinity() const { return kind == ExprKind::infinity && number.is_negative(); }
};

inline std::size_t ExprHash::operator()(Expr e) const { return e->key.low; }
/// The order of operands.
inline bool by_key(Expr a, Expr b) { return a->key < b->key; }

inline bool is_integer(Expr e) { return ir::is_integer(e->element); }
/// Whether a value is hidden by a mask: m ? x : -inf.
inline bool is_masked(Expr e) { return e->is(ExprKind::select) && e->operands[2]->is_negative_infinity(); }
/// The conditions in a conjunction; for any other condition, the condition itself.
std::vector<Expr> conjuncts(Expr condition);

/// Whether base^exponent is known to be >= 0 or NaN.
inline bool is_nonnegative(const Factor& f) { return f.exponent.is_even() || !f.exponent.is_integer() || f.base->is_nonnegative; }

/// The element type in which a value of this type is computed: narrow floats are computed in f32.
inline ir::Element computed(ir::Element e) { return ir::is_float(e) && e != ir::Element::f64 ? ir::Element::f32 : e; }

/// The coefficient of an integer expression, or an integer exponent, as an integer. Only floats have fractions.
std::int64_t whole(const Rational&);
std::int64_t whole_power(const Factor&);
/// What is known about base^exponent.
Finite finiteness(const Factor&);
/// Whether a factor is a mask: 1 where a condition holds, 0 elsewhere.
bool is_mask(const Factor&);

/// Whether an expression is x / x of floats: 1, or NaN where x is 0 or not finite. Of integers, 0 / 0 is -1, whose square is 1.
bool is_guard(Expr);
/// Whether a guard is 1, or NaN where y is +inf or NaN: x / x for x = max(y, 1).
bool is_guard_of_infinity(Expr);

/// The expressions of which an expression is made: its operands, the values of its terms, and the bases of its factors, in this order.
class Children {
 public:
  explicit Children(Expr e) : e_(e) {}
  std::size_t size() const { return e_->operands.size() + e_->terms.size() + e_->factors.size(); }
  bool empty() const { return size() == 0; }
  Expr operator[](std::size_t i) const {
    if (i < e_->operands.size()) return e_->operands[i];
    i -= e_->operands.size();
    return i < e_->terms.size() ? e_->terms[i].value : e_->factors[i - e_->terms.size()].base;
  }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Expr;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Expr;
    Iterator(Expr of, std::size_t at) : of_(of), at_(at) {}
    Expr operator*() const { return Children(of_)[at_]; }
    Iterator& operator++() { return ++at_, *this; }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Expr of_;
    std::size_t at_;
  };
  Iterator begin() const { return {e_, 0}; }
  Iterator end() const { return {e_, size()}; }

 private:
  Expr e_;
};
inline Children children(Expr e) { return Children(e); }

/// The `bits` of a bitcast: its two element types.
constexpr std::uint64_t bitcast_types(ir::Element from, ir::Element to) {
  return static_cast<std::uint64_t>(from) << 8 | static_cast<std::uint64_t>(to);
}
constexpr ir::Element bitcast_from(std::uint64_t bits) { return static_cast<ir::Element>(bits >> 8); }
constexpr ir::Element bitcast_to(std::uint64_t bits) { return static_cast<ir::Element>(bits & 0xff); }

/// The `bits` of a comparison or test: the element type of its operands, which numbers and exact integers do not have.
constexpr std::uint64_t operand_bits(ir::Element e) { return static_cast<std::uint64_t>(e) + 1; }
constexpr ir::Element operand_of_bits(std::uint64_t bits) { return static_cast<ir::Element>(bits - 1); }

/// Whether an expression reads memory.
inline bool holds_load(Expr e) { return e->holds(ExprKind::load); }

}  // namespace tilewright::passes::fusion
