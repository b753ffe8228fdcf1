#pragma once
// What a transaction is to change, checked but not written: chunks, size, shape, metalayers.
// Knows nothing of where things are stored.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/block_decoder.hpp"
#include "frame/container/frame_info.hpp"
#include "frame/header/metalayer_writer.hpp"
#include "frame/reading/frame_snapshot.hpp"

namespace bloscfs::frame::inline editing {

/// A chunk that the transaction has put.
struct PutChunk {
  std::int64_t entry = 0;  ///< for the index
  std::int32_t nbytes =
      0;  ///< decoded; 0 for a special entry, which has the size that is asked for
  std::int32_t cbytes = 0;  ///< stored; 0 for a special entry
  std::uint64_t checksum = 0;
  bool is_stored() const { return entry >= 0; }
};

/// The index entry of a special chunk without stored bytes.
std::int64_t special_entry(codec::SpecialValue value);

class FrameEdit {
 public:
  /// An edit of a committed state.
  explicit FrameEdit(std::shared_ptr<const FrameSnapshot> base);
  /// An edit of a frame that does not exist yet: `info` is its first state, all chunks zero.
  FrameEdit(FrameInfo info, bool checksums);

  const FrameInfo& info() const { return info_; }
  /// Null for a new frame.
  const std::shared_ptr<const FrameSnapshot>& base() const { return base_; }

  // --- changes; errors as in Transaction. Chunks that are given back are no longer part of it.

  /// Throws unless chunks may be put, and `number` exists.
  void check_chunk(std::int64_t number) const;
  std::optional<PutChunk> put(std::int64_t number, const PutChunk& chunk);
  /// Chunks that were put have other entries than it was told, by these.
  void move_chunks(const std::map<std::int64_t, std::int64_t>& entries);
  std::vector<PutChunk> resize(std::int64_t nbytes);
  void set_chunksize(std::int32_t chunksize, std::int32_t blocksize);
  std::vector<PutChunk> set_shape(const std::vector<std::int64_t>& shape);
  /// `chunk` holds the content.
  void set_vlmetalayer(const std::string& name, std::vector<std::uint8_t> chunk);
  /// The same with the chunk that another frame has there, whose file is `source`.
  void copy_vlmetalayer(std::shared_ptr<const ByteSource> source, const MetalayerEntry& entry);
  bool remove_vlmetalayer(const std::string& name);
  void set_metalayer(const std::string& name, codec::Bytes content);
  bool remove_metalayer(const std::string& name);

  // --- the outcome

  /// The decoded size of the last chunk if that becomes, as an index entry, one of zeros that end
  /// within an item; else nothing.
  std::optional<std::int32_t> partial_zeros(codec::BlockDecoder& decoder) const;
  /// Throws std::system_error(EINVAL), naming the chunk, unless every stored chunk has the size
  /// that the frame's rules ask for, and NaNs are whole.
  void check_sizes(codec::BlockDecoder& decoder) const;
  const std::map<std::int64_t, PutChunk>& chunks() const { return chunks_; }
  /// The base's chunks from this number on are gone, whatever has the number now.
  std::int64_t kept() const { return kept_; }
  /// Decoded size that the rules ask for; of the base's chunks in variable-size frames.
  std::int32_t chunk_nbytes(std::int64_t number, codec::BlockDecoder& decoder) const;
  /// Calls visit(number, entry) for every stored chunk of the base that the edit does away with:
  /// of special ones there is nothing but the entry, and a header may promise many millions.
  template <typename Visit>
  void for_each_superseded(codec::BlockDecoder& decoder, const Visit& visit) const;

  struct Layer {
    std::string name;
    /// Where it is stored, unless it is new.
    std::optional<MetalayerEntry> kept;
    std::shared_ptr<const ByteSource> source;  ///< of the frame that has it; null: new
    std::vector<std::uint8_t> stored;          ///< a vlmetalayer's chunk, or a fixed one's content
    std::uint64_t stored_size() const { return kept ? kept->stored_size : stored.size(); }
  };
  /// Without bloscfs.xxh3.
  const std::vector<Layer>& vlmetalayers() const { return layers_; }
  /// The fixed ones, in their order; empty for a new frame, whose settings say which it has.
  const std::vector<Layer>& metalayers() const { return metalayers_; }
  /// True if the base's header cannot stay as it is.
  bool changes_metalayers() const { return changes_metalayers_; }
  /// False also where the base's cannot be read: sums of all of its chunks would cost more than the
  /// change that is asked for.
  bool keeps_checksums() const { return keeps_checksums_; }
  /// The base's, if it has some and they are to stay.
  const std::shared_ptr<const PagedTable>& kept_checksums() const { return kept_checksums_; }

 private:
  void check_resizable() const;
  void put_vlmetalayer(Layer layer);
  std::vector<PutChunk> change_size(std::int64_t nbytes);
  void check_boundary(std::int64_t number, codec::BlockDecoder& decoder) const;
  std::int32_t variable_nbytes(std::int64_t number, codec::BlockDecoder& decoder) const;
  static std::int32_t fixed_nbytes(const FrameInfo& info, std::int64_t number);
  bool keeps_size(std::int64_t number) const;

  std::shared_ptr<const FrameSnapshot> base_;
  FrameInfo info_;
  std::map<std::int64_t, PutChunk> chunks_;
  std::int64_t kept_ = 0;
  std::vector<Layer> layers_;
  std::vector<Layer> metalayers_;
  bool changes_metalayers_ = false;
  std::shared_ptr<const PagedTable> kept_checksums_;
  bool keeps_checksums_ = false;
};

std::vector<LayerSize> sizes_of(const std::vector<FrameEdit::Layer>& layers);

/// Entries of a snapshot's index, asked for in ascending order.
class EntryReader {
 public:
  EntryReader(const FrameSnapshot& snapshot, codec::BlockDecoder& decoder)
      : table_(snapshot.index()), decoder_(decoder) {}
  std::int64_t operator[](std::int64_t number) { return from(number).front(); }
  /// From that one to the last of its page; valid until the next call.
  std::span<const std::int64_t> from(std::int64_t number);

 private:
  std::shared_ptr<const PagedTable> table_;
  codec::BlockDecoder& decoder_;
  TablePage page_;
};

template <typename Visit>
void FrameEdit::for_each_superseded(codec::BlockDecoder& decoder, const Visit& visit) const {
  if (!base_ || base_->info().nchunks == 0) return;
  if (const auto only = base_->index()->uniform_entry(); only && *only < 0) return;
  EntryReader entries(*base_, decoder);
  const auto visit_stored = [&](std::int64_t number, std::int64_t entry) {
    if (entry >= 0) visit(number, entry);
  };
  for (auto i = chunks_.begin(); i != chunks_.end() && i->first < kept_; ++i)
    visit_stored(i->first, entries[i->first]);
  for (std::int64_t number = kept_; number < base_->info().nchunks;)
    for (const std::int64_t entry : entries.from(number)) visit_stored(number++, entry);
}

}  // namespace bloscfs::frame::inline editing
