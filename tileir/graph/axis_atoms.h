// Parts of axes, and which of them are the same axis.
//
// Each axis of a tensor is a list of atoms. Where axes of two tensors meet, as in element-wise ops and products, their atoms are unified; a
// reshape splits atoms. An atom that is split is split everywhere.
//
//   x: [s, c]                 atoms: [s] [c]
//   reshape to [s, h, e]      splits c into h, e;  x: [s] [h, e]
#pragma once
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "tileir/graph/shapes.h"

namespace tilewright::graph {

/// A part of an axis. Atoms are elements of a union-find structure, so that equal atoms have one root.
struct Atom {
  /// One tensor along a concatenated axis: positions begin to end, and its own atoms.
  struct Piece {
    Dim begin, end;
    std::vector<Atom*> atoms;
  };
  Dim extent;
  Atom* parent = nullptr;     // in the union-find structure
  std::vector<Atom*> parts;   // if the atom was split
  std::vector<Piece> pieces;  // if the axis is a concatenation
};
/// The atoms of one axis, outermost first; empty for an extent of 1.
using AtomList = std::vector<Atom*>;
/// The atoms of each axis of a tensor.
using TensorAtoms = std::vector<AtomList>;

/// The atom that stands for all atoms which are unified with this one. The time is nearly constant, since chains of parents become shorter.
Atom* root_of(Atom*);
/// The atoms of an axis, where split atoms are replaced by their parts.
AtomList flat(const AtomList&);

/// Owns atoms. Those that `fresh` made live as long as the pool.
class AtomPool {
 public:
  AtomList fresh(const Dim& extent);
  TensorAtoms fresh(const TensorShape&);

  /// Makes two axes one, from the left: equal extents become one atom; of unequal ones, the greater is split. Returns false if the axes have
  /// no division in common. Then some of their atoms may be split or unified, which does no harm.
  bool try_unify(AtomList, AtomList);
  /// As above, where an axis of extent 1 is broadcast to the other one: `result` becomes the longer axis.
  bool try_broadcast(AtomList& result, const AtomList& operand);
  /// The atoms of a reshaped tensor, in row-major order; none if the axes before and after have no division in common ([6, 4] and [4, 6]).
  /// keeps_axes: axes may only be removed or inserted if their extent is 1, and none is divided or joined.
  std::optional<TensorAtoms> reshaped(const TensorAtoms&, const TensorShape&, bool keeps_axes = false);
  /// The result's axis along which tensors are concatenated is the list of their axes.
  void add_piece(const AtomList& joined, const Dim& begin, const Dim& end, const AtomList& axis);
  /// As the function of this name, between begin_attempt and undo_attempt.
  AtomList flat(const AtomList&);

  /// From here on, undo_attempt takes back what the pool does. In between, atoms are only read through the pool.
  void begin_attempt();
  void undo_attempt();

 private:
  void split(Atom*, const Dim& outer);
  void merge(Atom* kept, Atom* other);
  void set_parent(Atom*, Atom* parent);
  Atom* root_of(Atom*);

  std::deque<Atom> atoms_;
  // Since the begin of the attempt; no attempt has begun if there is none.
  struct Attempt {
    std::size_t atoms;
    std::vector<std::function<void()>> undo;
  };
  std::optional<Attempt> attempt_;
};

}  // namespace tilewright::graph
