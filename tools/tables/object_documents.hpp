#pragma once
// The documents of a list of Python's objects (frame/formats/metalayers.md, "Objects"), object by
// object.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "frame/header/object_list.hpp"
#include "fs/view/memory_budget.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

/// Consecutive objects, as msgpack.
struct ObjectDocument {
  ObjectDocument(fs::MemoryBudget& budget, std::size_t charge) : charged(budget, charge) {}

  std::int64_t end() const { return first + static_cast<std::int64_t>(positions.size()); }

  std::size_t memory() const { return bytes.size() + positions.size() * sizeof(std::uint32_t); }

  std::int64_t first = 0;  ///< number of its first object
  fs::MemoryBudget::Part charged;
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint32_t> positions;  ///< where each object begins
};

/// For one thread. Objects are asked for from lower to higher ones.
class ObjectDocuments {
 public:
  /// Throws Error: malformed where the frame is no list of objects, unsupported for objects
  /// that are stored as JSON.
  ObjectDocuments(std::shared_ptr<const frame::Snapshot> snapshot, RunLimits& limits);
  ~ObjectDocuments();

  /// The document that holds an object; null behind the last one. Errors name the chunk.
  std::shared_ptr<const ObjectDocument> find(std::int64_t object);
  /// How many objects there are, once find() has returned null.
  std::int64_t count() const { return next_object_; }

 private:
  class Lengths;

  /// Passes chunks over that end before the object, if that is known without decoding them.
  void skip_chunks(std::int64_t object);
  std::shared_ptr<const ObjectDocument> next_document();
  std::shared_ptr<const ObjectDocument> read_document(std::int64_t chunk,
                                                      const codec::ByteRange& range);
  void enter_chunk();
  void leave_chunk();

  RunLimits& limits_;
  Input input_;
  frame::ObjectList list_;
  std::unique_ptr<Lengths> lengths_;  ///< of the chunks from `chunk_` on; null where unknown
  fs::Request request_;
  std::int64_t chunk_ = 0;              ///< the next one, or the one that is being read
  std::vector<codec::ByteRange> left_;  ///< documents of that chunk, the last one first
  std::int64_t chunk_first_ = 0;        ///< the first object of that chunk
  std::int64_t next_object_ = 0;        ///< the first of what has not been read
  std::shared_ptr<const ObjectDocument> last_;
};

}  // namespace bloscfs::tools
