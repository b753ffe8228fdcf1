#pragma once
// A container shown as one file: flat contents, array elements, or a NPY file.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frame/array/array_geometry.hpp"
#include "fs/view/frame_reader.hpp"

namespace bloscfs::fs {

/// What a view looks like from outside; known without reading any chunk.
struct ViewShape {
  bool is_array = false;             ///< shown as NPY file
  std::vector<std::uint8_t> header;  ///< NPY header; empty unless is_array
  bool blocked = false;              ///< contents are stored in n-dimensional blocks (b2nd)
  bool fortran_order = false;        ///< of blocked contents: these are shown in that order
  std::int64_t content_size = 0;     ///< bytes behind the header

  std::int64_t file_size() const { return static_cast<std::int64_t>(header.size()) + content_size; }
};

/// Decides how a container is shown. `raw` turns NPY views off.
ViewShape view_shape(const frame::FrameInfo& info, bool raw);

/// Thread-safe; errors as FrameReader's. What would read as zeros because its contents are not
/// stored cannot be read behind its header, throwing codec::Error(unsupported), and is all data.
class FileView {
 public:
  /// Throws std::system_error(ENOMEM) when open files hold too much memory already.
  FileView(Request& request, ViewShape shape, FrameReader reader);

  const ViewShape& shape() const { return shape_; }
  const FrameReader& reader() const { return reader_; }
  std::int64_t size() const { return shape_.file_size(); }
  /// Throws codec::Error(unsupported), naming what it is, unless its contents are stored.
  void require_contents(Request& request) const;
  /// What the container is, and why its contents are not to be had, if they are not.
  const std::optional<std::string>& missing(Request& request) const;

  /// Adds the file's bytes [offset, offset + size), cut at the end of the file, to `out`.
  void read(Request& request, std::int64_t offset, std::int64_t size, ReplyData& out) const;
  /// Brings the blocks of that range into the cache.
  void prefetch(Request& request, std::int64_t offset, std::int64_t size,
                const std::atomic<std::int64_t>& reached) const;

  /// Adds the numbers of the chunks that have the file's bytes [offset, offset + size). False, and
  /// an unknown part of them is added, where some of it is in no chunk, or `chunks` would get more
  /// than `most`.
  bool add_chunks_of(std::int64_t offset, std::int64_t size, std::size_t most,
                     std::set<std::int64_t>& chunks) const;

  /// Next offset >= `offset` that lies in data (resp. in a hole); the file's end counts as a hole.
  /// nullopt where there is none (ENXIO). Special zero chunks are holes.
  std::optional<std::int64_t> seek_data(Request& request, std::int64_t offset) const;
  std::optional<std::int64_t> seek_hole(Request& request, std::int64_t offset) const;

 private:
  /// A run of contents that is all hole or all data.
  struct Extent {
    std::int64_t end;
    bool hole;
  };
  /// What a search has at hand: the index, what it may still cost, and the slab that it is in, so
  /// that its chunks are looked through only once.
  struct Search {
    Search(Request& request, const FrameReader& reader) : reading(reader.begin_request(request)) {}
    bool may_go_on();

    ReadRequest reading;
    std::int64_t slab_end = 0;
    bool slab_is_hole = false;
  };
  Extent flat_extent_at(std::int64_t content_offset, Search& search) const;
  Extent blocked_extent_at(std::int64_t content_offset, Search& search) const;
  bool slab_is_hole(const frame::ArrayGeometry::Slab& slab, Search& search) const;
  /// The next hole or data of the contents; their end where there is none.
  std::int64_t seek_content(Request& request, std::int64_t offset, bool want_hole) const;
  std::optional<std::int64_t> seek(Request& request, std::int64_t offset, bool want_hole) const;
  /// Memory that an open file takes, in bytes.
  std::size_t memory() const;
  void read_content(Request& request, std::int64_t offset, std::int64_t size, ReplyData& out) const;
  void read_blocked(Request& request, std::int64_t offset, codec::MutableBytes out,
                    bool kept_by_kernel) const;
  void prefetch_blocked(Request& request, std::int64_t offset, std::int64_t size,
                        const std::atomic<std::int64_t>& reached) const;

  ViewShape shape_;
  FrameReader reader_;
  MemoryBudget::Held held_;
  std::optional<frame::ArrayGeometry> geometry_;  ///< blocked views only
  struct Missing {
    std::once_flag was_asked;
    std::optional<std::string> contents;  ///< see missing_contents()
  };
  std::unique_ptr<Missing> missing_ = std::make_unique<Missing>();
};

}  // namespace bloscfs::fs
