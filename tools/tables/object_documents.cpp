#include "tools/tables/object_documents.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/arrow_batch.hpp"
#include "frame/python/msgpack_cursor.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::tools {
namespace {

using Type = frame::MsgpackValue::Type;

constexpr std::size_t kMaxLengths = std::size_t{16} << 20;

frame::ObjectList list_of(const frame::Snapshot& snapshot) {
  const auto list = frame::object_list_of(snapshot);
  if (!list) codec::throw_malformed("is not a list of objects");
  if (list->serializer == frame::ObjectList::Serializer::json)
    codec::throw_unsupported("objects that are stored as JSON");
  return *list;
}

}  // namespace

/// The array batch_lengths of the vlmetalayer _batch_array_metadata. It has the number of objects
/// of each chunk.
class ObjectDocuments::Lengths {
 public:
  /// Returns null if the frame has no such array with one number for each chunk.
  static std::unique_ptr<Lengths> read(const frame::Snapshot& snapshot, RunLimits& limits) {
    for (const frame::MetalayerEntry& layer : snapshot.vlmetalayers()) {
      if (layer.name != "_batch_array_metadata") continue;
      auto lengths = std::make_unique<Lengths>(
          snapshot.read_vlmetalayer(layer, kMaxLengths, fs::thread_decoder()), limits);
      if (lengths->find(snapshot.info().nchunks)) return lengths;
    }
    return nullptr;
  }

  Lengths(std::vector<std::uint8_t> bytes, RunLimits& limits)
      : charge_(limits.cache().budget(), bytes.size()), bytes_(std::move(bytes)), cursor_(bytes_) {}

  /// Returns the number of objects in the next chunk. Throws Error(malformed).
  std::int64_t peek() const {
    const auto count = frame::MsgpackCursor(cursor_).read_count();
    if (!count || *count >> 32 != 0)
      codec::throw_malformed("batch_lengths: has a value that is not a number of objects");
    return static_cast<std::int64_t>(*count);
  }
  void pass() { cursor_.skip(); }

 private:
  /// Moves the cursor to the first number of batch_lengths. Returns false if the array does not
  /// exist or has another size.
  bool find(std::int64_t nchunks) {
    const frame::MsgpackValue map = cursor_.take();
    if (map.type != Type::map) return false;
    for (std::size_t i = 0; i < map.size; i++) {
      if (cursor_.read_if_text() == "batch_lengths") {
        const frame::MsgpackValue array = cursor_.take();
        return array.type == Type::array && std::cmp_equal(array.size, nchunks);
      }
      cursor_.skip();
    }
    return false;
  }

  fs::MemoryBudget::Part charge_;
  std::vector<std::uint8_t> bytes_;
  frame::MsgpackCursor cursor_;
};

ObjectDocuments::ObjectDocuments(std::shared_ptr<const frame::Snapshot> snapshot, RunLimits& limits)
    : limits_(limits), input_(std::move(snapshot), limits), list_(list_of(input_.snapshot())) {
  if (list_.layout == frame::ObjectList::Layout::batch_in_block)
    lengths_ = Lengths::read(input_.snapshot(), limits);
}

ObjectDocuments::~ObjectDocuments() = default;

std::shared_ptr<const ObjectDocument> ObjectDocuments::find(std::int64_t object) {
  if (last_ && object >= last_->first && object < last_->end()) return last_;
  skip_chunks(object);
  while (next_object_ <= object) {
    last_ = next_document();
    if (!last_) return nullptr;
  }
  return last_;
}

void ObjectDocuments::skip_chunks(std::int64_t object) {
  const std::int64_t nchunks = input_.info().nchunks;
  if (list_.layout == frame::ObjectList::Layout::object_in_chunk) {
    // Each chunk has one object.
    next_object_ = chunk_ = std::clamp(object, chunk_, nchunks);
    return;
  }
  if (!lengths_ || !unread_.empty()) return;
  for (; chunk_ < nchunks && next_object_ + lengths_->peek() <= object; chunk_++) {
    next_object_ += lengths_->peek();
    lengths_->pass();
  }
}

std::shared_ptr<const ObjectDocument> ObjectDocuments::next_document() {
  if (unread_.empty() && chunk_ == input_.info().nchunks) return nullptr;
  try {
    if (unread_.empty()) enter_chunk();
    const codec::ByteRange range = unread_.back();
    unread_.pop_back();
    auto document = read_document(chunk_, range);
    next_object_ = document->end();
    if (unread_.empty()) leave_chunk();
    return document;
  } catch (const codec::Error& error) {
    throw codec::Error(static_cast<codec::FormatErrc>(error.code().value()),
                       fmt::format("chunk {}: {}", chunk_, error.what()));
  }
}

void ObjectDocuments::enter_chunk() {
  chunk_first_ = next_object_;
  const auto opened = input_.reader().open_chunk(request_, chunk_);
  const codec::Chunk& chunk = opened->chunk;
  if (list_.layout != frame::ObjectList::Layout::batch_in_block || !chunk.header().vl_blocks) {
    unread_.push_back({0, chunk.nbytes()});
    return;
  }
  for (std::int32_t block = chunk.block_count(); block-- > 0;)
    unread_.push_back(chunk.block_content(block));
  if (unread_.empty()) codec::throw_malformed("has no objects");
}

void ObjectDocuments::leave_chunk() {
  if (lengths_) {
    const std::int64_t objects = next_object_ - chunk_first_;
    if (objects != lengths_->peek())
      codec::throw_malformed(
          fmt::format("{} objects, batch_lengths has {}", objects, lengths_->peek()));
    lengths_->pass();
  }
  chunk_++;
}

std::shared_ptr<const ObjectDocument> ObjectDocuments::read_document(
    std::int64_t chunk, const codec::ByteRange& range) {
  if (range.size > frame::kMaxDocument)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("a document of {} bytes > {}", range.size, frame::kMaxDocument));
  // Each object takes at least one byte, so this is enough for the positions.
  auto document = std::make_shared<ObjectDocument>(
      limits_.cache().budget(), static_cast<std::size_t>(range.size) * (1 + sizeof(std::uint32_t)));
  document->first = next_object_;
  document->bytes.resize(static_cast<std::size_t>(range.size));
  input_.reader().visit_chunk(request_, chunk, range.offset, range.size,
                              [&](const fs::BlockReader::Span& span, std::int64_t at) {
                                span.copy(0, codec::MutableBytes(document->bytes)
                                                 .subspan(static_cast<std::size_t>(at),
                                                          static_cast<std::size_t>(span.size)));
                              });
  if (list_.serializer == frame::ObjectList::Serializer::arrow) {
    document->bytes = frame::arrow_to_msgpack(document->bytes);
    document->charged.resize(document->bytes.size() * (1 + sizeof(std::uint32_t)));
  }
  frame::MsgpackCursor cursor(document->bytes);
  std::size_t count = 1;
  if (list_.layout == frame::ObjectList::Layout::batch_in_block) {
    const frame::MsgpackValue batch = cursor.take();
    if (batch.type != Type::array) codec::throw_malformed("a batch is not an array");
    count = batch.size;
  }
  for (std::size_t i = 0; i < count; i++) {
    document->positions.push_back(static_cast<std::uint32_t>(cursor.position()));
    cursor.skip();
  }
  if (!cursor.at_end())
    codec::throw_malformed(fmt::format("a document of {} bytes ends at {}", document->bytes.size(),
                                       cursor.position()));
  return document;
}

}  // namespace bloscfs::tools
