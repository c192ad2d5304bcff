// Outlines parts of a function:
// 1. split_blocks   begins a block at every split point
// 2. choose_parts   groups neighbouring pieces of a sequence into parts, inner sequences first
// 3. merge_blocks   merges the new blocks that begin no part
// 4. pass_values    passes values that one part defines and another uses through the frame (find_crossings, allocate_slots)
// 5. move_blocks    moves the blocks of each part to a function
//
//   loop:  a; b; c; d; br loop   ->   loop:  call part.0(frame); call part.1(frame); br loop      part.0: a; b; ret     part.1: c; d; ret
#include "backend/host/outlining.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <bit>
#include <map>

#include "tileir/diagnostics.h"

namespace tilewright::backend::host {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

namespace {

SplitPoints::Point end_of(const llvm::IRBuilderBase& b) {
  BasicBlock* block = b.GetInsertBlock();
  return {block, block->empty() ? nullptr : &block->back()};
}

/// Assigns slots of the frame, each aligned to its size or to 64.
class FrameSlots {
 public:
  std::int64_t allocate(std::int64_t bytes) {
    const std::int64_t size = rounded(bytes);
    const std::int64_t align = std::min(size, kMaxAlign);
    bytes_ = (bytes_ + align - 1) / align * align + size;
    return bytes_ - size;
  }
  static std::int64_t rounded(std::int64_t bytes) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 8))));
  }
  std::int64_t bytes() const { return (bytes_ + kMaxAlign - 1) / kMaxAlign * kMaxAlign; }

 private:
  static constexpr std::int64_t kMaxAlign = 64;
  std::int64_t bytes_ = 0;
};

constexpr int kRest = -1;  // stands for the code that stays in the function

struct Part {
  std::size_t sequence;
  BasicBlock* head;
  int parent = kRest;  // the part that calls it
  llvm::Function* function = nullptr;
  llvm::CallInst* call = nullptr;
};

/// A value that one part defines and others use.
struct Crossing {
  int owner;
  std::vector<std::pair<int, llvm::Use*>> uses;  // each use with the number of the part that contains it
  std::int64_t slot = 0;
};

class Outliner {
 public:
  Outliner(llvm::Function& f, const SplitPoints& points) : f_(f), c_(f.getContext()), layout_(f.getParent()->getDataLayout()) {
    split_blocks(points);
  }

  std::int64_t run(Value* scratch, std::int64_t offset) {
    choose_parts();
    merge_blocks();
    if (parts_.empty()) return 0;
    declare_functions(scratch, offset);
    find_crossings();
    allocate_slots();
    pass_values();
    move_blocks();
    return slots_.bytes();
  }

 private:
  // ---- 1. split_blocks ----
  void split_blocks(const SplitPoints& points) {
    std::map<std::pair<BasicBlock*, Instruction*>, BasicBlock*> begun;
    for (const auto& sequence : points.sequences())
      for (const SplitPoints::Point& p : sequence) begun[{p.block, p.after}] = nullptr;
    std::vector<BasicBlock*> blocks;
    for (BasicBlock& b : f_) blocks.push_back(&b);
    for (BasicBlock* b : blocks) {
      // From the back, because a split moves the instructions after it.
      std::vector<Instruction*> splits;
      if (begun.contains({b, nullptr})) splits.push_back(nullptr);
      for (Instruction& i : *b)
        if (begun.contains({b, &i})) splits.push_back(&i);
      const std::size_t first = split_off_.size();
      for (std::size_t i = splits.size(); i-- > 0;)
        begun[{b, splits[i]}] = split(b, splits[i] ? std::next(splits[i]->getIterator()) : b->begin());
      std::reverse(split_off_.begin() + static_cast<std::ptrdiff_t>(first), split_off_.end());
    }
    llvm::DenseSet<const BasicBlock*> used;
    for (const auto& sequence : points.sequences()) {
      auto& heads = heads_.emplace_back();
      for (const SplitPoints::Point& p : sequence) {
        BasicBlock*& head = begun.at({p.block, p.after});
        // If a sequence begins where a part of the outer sequence does, it is inside of that part: it needs a block of its own.
        if (heads.empty() && used.contains(head)) head = split(head, head->begin());
        used.insert(head);
        heads.push_back(head);
      }
    }
  }

  BasicBlock* split(BasicBlock* block, BasicBlock::iterator at) { return split_off_.emplace_back(block->splitBasicBlock(at, "part")); }

  // ---- 2. choose_parts ----
  int owner(const BasicBlock* b) const {
    const auto it = owner_.find(b);
    return it == owner_.end() ? kRest : it->second;
  }

  /// The blocks that are reachable from `head` without passing `end`.
  static std::vector<BasicBlock*> between(BasicBlock* head, BasicBlock* end) {
    std::vector<BasicBlock*> found = {head};
    llvm::SmallPtrSet<BasicBlock*, 16> seen = {head, end};
    for (std::size_t i = 0; i < found.size(); ++i)
      for (BasicBlock* next : llvm::successors(found[i]))
        if (seen.insert(next).second) found.push_back(next);
    return found;
  }

  void choose_parts() {
    for (std::size_t s = heads_.size(); s-- > 0;) {
      const std::vector<BasicBlock*>& heads = heads_[s];
      if (heads.size() < 2) continue;
      std::vector<std::vector<BasicBlock*>> segments;
      std::vector<std::size_t> sizes;
      std::size_t total = 0;
      for (std::size_t i = 0; i + 1 < heads.size(); ++i) {
        segments.push_back(between(heads[i], heads[i + 1]));
        std::size_t size = 0;
        for (const BasicBlock* b : segments.back())
          if (owner(b) == kRest) size += b->size();
        sizes.push_back(size);
        total += size;
      }
      if (total <= kPartInstructions) continue;
      for (std::size_t first = 0, last; first < segments.size(); first = last) {
        std::size_t size = sizes[first];
        for (last = first + 1; last < segments.size() && size + sizes[last] <= kPartInstructions; ++last) size += sizes[last];
        if (size < kPartInstructions / 4) continue;  // a call costs more than it saves
        const int part = static_cast<int>(parts_.size());
        parts_.push_back({s, heads[first]});
        enter_from_new_block(heads[first]);
        for (std::size_t i = first; i < last; ++i) {
          straight_.insert(heads[i]);
          for (const BasicBlock* b : segments[i]) take(b, part);
        }
      }
    }
  }

  /// Gives the call of the part that begins with `head` a block outside of parts: the block before `head` may belong to another part.
  void enter_from_new_block(BasicBlock* head) {
    BasicBlock* before = head->getSinglePredecessor();
    TW_CHECK(before && before->getSingleSuccessor(), "a part is entered on several ways");
    BasicBlock* caller = split_off_.emplace_back(BasicBlock::Create(c_, "call", &f_, head));
    llvm::BranchInst::Create(head, caller);
    before->getTerminator()->setSuccessor(0, caller);
  }

  void take(const BasicBlock* b, int part) {
    int inner = owner(b);
    if (inner == kRest) {
      owner_[b] = part;
      return;
    }
    while (parts_[inner].parent != kRest && inner != part) inner = parts_[inner].parent;
    if (inner != part) parts_[inner].parent = part;
  }

  // ---- 3. merge_blocks ----
  void merge_blocks() {
    llvm::DenseSet<const BasicBlock*> heads;
    for (const Part& p : parts_) heads.insert(p.head);
    for (BasicBlock* b : split_off_) {
      BasicBlock* before = b->getSinglePredecessor();
      if (!before || heads.contains(b) || owner(before) != owner(b)) continue;
      const bool is_straight = straight_.contains(b);
      if (!llvm::MergeBlockIntoPredecessor(b)) continue;
      if (is_straight) straight_.insert(before);
    }
  }

  // ---- 4. pass_values ----
  void declare_functions(Value* scratch, std::int64_t offset) {
    llvm::Type* ptr = llvm::PointerType::get(c_, 0);
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c_), {ptr}, false);
    for (Part& p : parts_) {
      p.function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, f_.getName() + ".part", *f_.getParent());
      p.function->setAttributes(
          llvm::AttributeList::get(c_, llvm::AttributeList::FunctionIndex, llvm::AttrBuilder(c_, f_.getAttributes().getFnAttrs())));
      p.function->addFnAttr(llvm::Attribute::NoInline);
      p.function->addParamAttr(0, llvm::Attribute::NoAlias);
      p.function->addParamAttr(0, llvm::Attribute::getWithAlignment(c_, llvm::Align(64)));
    }
    BasicBlock& entry = f_.getEntryBlock();
    llvm::IRBuilder<> b(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
    frame_ = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), scratch, static_cast<std::uint64_t>(offset));
    for (Part& p : parts_) {
      BasicBlock* caller = p.head->getSinglePredecessor();
      p.call = llvm::CallInst::Create(p.function, {frame(owner(caller))}, "", caller->getTerminator()->getIterator());
    }
  }

  Value* frame(int part) const { return part == kRest ? frame_ : parts_[part].function->getArg(0); }

  int owner_of(const Value* v) const {
    const auto* instruction = llvm::dyn_cast<Instruction>(v);
    return instruction ? owner(instruction->getParent()) : kRest;
  }

  static BasicBlock* block_of(const llvm::Use& use) {
    auto* user = llvm::cast<Instruction>(use.getUser());
    auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    return phi ? phi->getIncomingBlock(use) : user->getParent();
  }

  /// Visits blocks in an order in which each block comes after those that dominate it.
  void find_crossings() {
    for (BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&f_)) {
      order_.push_back(block);
      for (Instruction& instruction : *block)
        for (llvm::Use& use : instruction.operands()) {
          const auto* argument = llvm::dyn_cast<llvm::Argument>(use.get());
          if (!llvm::isa<Instruction>(use.get()) && !(argument && argument->getParent() == &f_)) continue;
          const int from = owner_of(use.get());
          const int to = owner(block_of(use));
          if (from == to) continue;
          Crossing& crossing = crossings_[use.get()];
          crossing.owner = from;
          crossing.uses.emplace_back(to, &use);
        }
    }
  }

  /// An i1 takes a byte in memory: LLVM packs vectors of i1 into bits.
  llvm::Type* slot_type(llvm::Type* t) const { return t->isIntOrIntVectorTy(1) ? t->getWithNewBitWidth(8) : t; }

  /// Values of one sequence with disjoint lifetimes share a slot.
  void allocate_slots() {
    // Indexed by part: the values that it defines for later parts of its sequence, and the slots that are free after it. Parts of a
    // sequence are numbered in order.
    std::vector<std::vector<Crossing*>> defined(parts_.size());
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> freed(parts_.size());  // size, slot
    const auto size = [&](const Value* v) {
      return static_cast<std::int64_t>(layout_.getTypeAllocSize(slot_type(v->getType())).getFixedValue());
    };
    llvm::DenseMap<Crossing*, std::int64_t> sizes;
    for (auto& [value, crossing] : crossings_) {
      const bool among_siblings = crossing.owner != kRest && std::all_of(crossing.uses.begin(), crossing.uses.end(), [&](const auto& use) {
                                    return use.first != kRest && parts_[use.first].sequence == parts_[crossing.owner].sequence;
                                  });
      if (among_siblings) {
        defined[crossing.owner].push_back(&crossing);
        sizes[&crossing] = size(value);
      } else {
        crossing.slot = slots_.allocate(size(value));
      }
    }
    std::map<std::int64_t, std::vector<std::int64_t>> free;  // indexed by size, for the current sequence
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (p == 0 || parts_[p].sequence != parts_[p - 1].sequence) free.clear();
      for (Crossing* crossing : defined[p]) {
        const std::int64_t bytes = sizes[crossing];
        auto& list = free[FrameSlots::rounded(bytes)];
        if (list.empty()) list.push_back(slots_.allocate(bytes));
        crossing->slot = list.back();
        list.pop_back();
        int last = 0;
        for (const auto& use : crossing->uses) last = std::max(last, use.first);
        freed[last].emplace_back(FrameSlots::rounded(bytes), crossing->slot);
      }
      for (const auto& [bytes, slot] : freed[p]) free[bytes].push_back(slot);
    }
  }

  Value* address(llvm::IRBuilder<>& b, int part, const Crossing& crossing) {
    return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), frame(part), static_cast<std::uint64_t>(crossing.slot));
  }
  static llvm::Align alignment(const Crossing& crossing) {
    return llvm::commonAlignment(llvm::Align(64), static_cast<std::uint64_t>(crossing.slot));
  }

  void store(Value* v, const Crossing& crossing) {
    auto* instruction = llvm::dyn_cast<Instruction>(v);
    // Arguments and allocations are stored after the frame's address is computed, which is the first instruction after the allocations.
    const auto at = instruction && !llvm::isa<llvm::AllocaInst>(instruction) ? *instruction->getInsertionPointAfterDef()
                                                                             : std::next(llvm::cast<Instruction>(frame_)->getIterator());
    llvm::IRBuilder<> b(at->getParent(), at);
    llvm::Type* type = slot_type(v->getType());
    b.CreateAlignedStore(type == v->getType() ? v : b.CreateZExt(v, type), address(b, crossing.owner, crossing), alignment(crossing));
  }

  Value* load(Instruction* before, llvm::Type* type, int part, const Crossing& crossing) {
    llvm::IRBuilder<> b(before);
    Value* v = b.CreateAlignedLoad(slot_type(type), address(b, part, crossing), alignment(crossing));
    return v->getType() == type ? v : b.CreateTrunc(v, type);
  }

  bool is_inside(int inner, int outer) const {
    while (inner != outer && inner != kRest) inner = parts_[inner].parent;
    return inner == outer;
  }

  /// The instruction before which `part` loads the value that `use` uses: after the call that computes it, or else at the first use in the
  /// straight-line code that contains the use. So it is not loaded in a loop, nor long before it is needed.
  Instruction* load_point(const llvm::DominatorTree& dominators, const Crossing& crossing, int part, const llvm::Use& use) const {
    if (crossing.owner != kRest && is_inside(crossing.owner, part)) {
      int called = crossing.owner;
      while (parts_[called].parent != part) called = parts_[called].parent;
      return parts_[called].call->getNextNode();
    }
    auto* user = llvm::cast<Instruction>(use.getUser());
    for (const auto* node = dominators.getNode(block_of(use)); node; node = node->getIDom()) {
      BasicBlock* b = node->getBlock();
      if (owner(b) == part && straight_.contains(b)) return b == user->getParent() ? user : b->getTerminator();
    }
    TW_UNREACHABLE("a part does not begin with straight code");
  }

  void pass_values() {
    const llvm::DominatorTree dominators(f_);
    for (auto& [value, crossing] : crossings_) {
      store(value, crossing);
      std::map<std::pair<int, BasicBlock*>, Value*> loaded;
      for (const auto& [part, use] : crossing.uses) {
        Instruction* at = load_point(dominators, crossing, part, *use);
        if (llvm::isa<llvm::PHINode>(use->getUser())) {
          // A phi gets a load of its own: the block from which its value comes may be visited later.
          use->set(load(block_of(*use)->getTerminator(), value->getType(), part, crossing));
          continue;
        }
        Value*& v = loaded[{part, at->getParent()}];
        if (!v) v = load(at, value->getType(), part, crossing);
        use->set(v);
      }
    }
  }

  // ---- 5. move_blocks ----
  /// Inner parts are moved first: afterwards an outer part consists only of its own blocks.
  void move_blocks() {
    std::vector<std::vector<BasicBlock*>> blocks(parts_.size());
    for (BasicBlock* b : order_)
      if (owner(b) != kRest) blocks[owner(b)].push_back(b);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const Part& part = parts_[p];
      BasicBlock* exit = nullptr;
      for (BasicBlock* b : blocks[p]) {
        for (BasicBlock* next : llvm::successors(b))
          if (owner(next) != static_cast<int>(p)) {
            TW_CHECK(!exit && b->getSingleSuccessor() && next->phis().empty(), "a part is left on several ways");
            exit = next;
          }
        if (exit && b->getSingleSuccessor() == exit) llvm::ReplaceInstWithInst(b->getTerminator(), llvm::ReturnInst::Create(c_));
      }
      TW_CHECK(exit && blocks[p].front() == part.head, "a part does not begin with its head");
      part.call->getParent()->getTerminator()->setSuccessor(0, exit);
      for (BasicBlock* b : blocks[p]) part.function->splice(part.function->end(), &f_, b->getIterator());
    }
  }

  llvm::Function& f_;
  llvm::LLVMContext& c_;
  const llvm::DataLayout& layout_;
  std::vector<std::vector<BasicBlock*>> heads_;  // indexed by sequence: the blocks that begin at its points
  std::vector<BasicBlock*> split_off_;
  std::vector<Part> parts_;                       // inner parts come before the parts that call them
  llvm::DenseMap<const BasicBlock*, int> owner_;  // the innermost part of a block
  llvm::DenseSet<const BasicBlock*> straight_;    // blocks that their part executes once, in the order of the sequence
  std::vector<BasicBlock*> order_;                // reverse post-order
  llvm::MapVector<Value*, Crossing> crossings_;
  FrameSlots slots_;
  Value* frame_ = nullptr;
};

}  // namespace

std::size_t SplitPoints::begin(const llvm::IRBuilderBase& b) {
  sequences_.push_back({end_of(b)});
  return sequences_.size() - 1;
}

void SplitPoints::add(std::size_t sequence, const llvm::IRBuilderBase& b) {
  const Point p = end_of(b);
  if (p != sequences_[sequence].back()) sequences_[sequence].push_back(p);
}

std::int64_t outline_parts(llvm::Function& f, const SplitPoints& points, Value* scratch, std::int64_t offset) {
  return f.getInstructionCount() > kLargeFunction ? Outliner(f, points).run(scratch, offset) : 0;
}

}  // namespace tilewright::backend::host
