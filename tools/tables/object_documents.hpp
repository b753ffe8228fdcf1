#pragma once
// Reads the documents of a list of Python objects (frame/formats/metalayers.md, "Objects"), object
// by object.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "frame/header/object_list.hpp"
#include "fs/view/memory_budget.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

/// Consecutive objects as msgpack.
struct ObjectDocument {
  ObjectDocument(fs::MemoryBudget& budget, std::size_t charge) : charged(budget, charge) {}

  std::int64_t end() const { return first + static_cast<std::int64_t>(positions.size()); }

  std::size_t memory() const { return bytes.size() + positions.size() * sizeof(std::uint32_t); }

  std::int64_t first = 0;  ///< number of its first object
  fs::MemoryBudget::Part charged;
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint32_t> positions;  ///< where each object begins
};

/// For one thread. The caller must ask for objects in ascending order.
class ObjectDocuments {
 public:
  /// Throws Error: malformed if the frame is not a list of objects, unsupported if the objects are
  /// stored as JSON.
  ObjectDocuments(std::shared_ptr<const frame::Snapshot> snapshot, RunLimits& limits);
  ~ObjectDocuments();

  /// Returns the document that holds an object; null behind the last object. Errors name the chunk.
  std::shared_ptr<const ObjectDocument> find(std::int64_t object);
  /// Returns the number of objects. Valid once find() has returned null.
  std::int64_t count() const { return next_object_; }

 private:
  class Lengths;

  /// Skips chunks that end before the object, if that is known without decoding them.
  void skip_chunks(std::int64_t object);
  std::shared_ptr<const ObjectDocument> next_document();
  std::shared_ptr<const ObjectDocument> read_document(std::int64_t chunk,
                                                      const codec::ByteRange& range);
  void enter_chunk();
  void leave_chunk();

  RunLimits& limits_;
  Input input_;
  frame::ObjectList list_;
  std::unique_ptr<Lengths> lengths_;  ///< for the chunks from `chunk_` on; null if unknown
  fs::Request request_;
  std::int64_t chunk_ = 0;                ///< next chunk, or the one that is being read
  std::vector<codec::ByteRange> unread_;  ///< unread documents of that chunk, the last one first
  std::int64_t chunk_first_ = 0;          ///< first object of that chunk
  std::int64_t next_object_ = 0;          ///< first object that has not been read
  std::shared_ptr<const ObjectDocument> last_;
};

}  // namespace bloscfs::tools
