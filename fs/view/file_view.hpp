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

/// What a view looks like from outside. Known without reading any chunk.
struct ViewShape {
  bool is_array = false;             ///< shown as NPY file
  std::vector<std::uint8_t> header;  ///< NPY header; empty unless is_array
  bool blocked = false;              ///< contents are stored in n-dimensional blocks (b2nd)
  bool fortran_order = false;        ///< blocked contents are shown in Fortran order
  std::int64_t content_size = 0;     ///< bytes after the header

  std::int64_t file_size() const { return static_cast<std::int64_t>(header.size()) + content_size; }
};

/// Decides how a container is shown. `raw` turns NPY views off.
ViewShape view_shape(const frame::FrameInfo& info, bool raw);

/// Thread-safe. Throws the errors of FrameReader. Some containers do not store their contents,
/// which would read as zeros. Reading behind the header of such a container throws
/// codec::Error(unsupported), and all of its file counts as data.
class FileView {
 public:
  /// Throws std::system_error(ENOMEM) if the user's open files hold too much memory already.
  FileView(Request& request, ViewShape shape, FrameReader reader);

  const ViewShape& shape() const { return shape_; }
  const FrameReader& reader() const { return reader_; }
  std::int64_t size() const { return shape_.file_size(); }
  /// Throws codec::Error(unsupported), saying what the container is, unless it stores its contents.
  void require_contents(Request& request) const;
  /// Returns what the container is and why its contents are missing; nullopt if it stores them.
  const std::optional<std::string>& missing(Request& request) const;

  /// Adds the file's bytes [offset, offset + size), cut at the end of the file, to `out`.
  void read(Request& request, std::int64_t offset, std::int64_t size, ReplyData& out) const;
  /// Compares the chunks that hold the file's bytes [offset, offset + size), cut at the end of the
  /// file, with their recorded checksums. See FrameReader::require_checksums().
  void require_checksums(Request& request, std::int64_t offset, std::int64_t size) const;
  /// Brings the blocks of [offset, offset + size) into the cache. `reached` is the file offset that
  /// the reader has reached by now. Skips blocks before it.
  void prefetch(Request& request, std::int64_t offset, std::int64_t size,
                const std::atomic<std::int64_t>& reached) const;

  /// Adds the numbers of the chunks that hold the file's bytes [offset, offset + size). Returns
  /// false if some bytes are in no chunk, if chunks have various sizes, or if `chunks` would exceed
  /// `most`. Then some of the numbers may have been added.
  bool add_chunks_of(std::int64_t offset, std::int64_t size, std::size_t most,
                     std::set<std::int64_t>& chunks) const;

  /// Return the next offset >= `offset` that lies in data, or in a hole. The file's end counts as a
  /// hole. Return nullopt if there is none (ENXIO). Special zero chunks are holes.
  std::optional<std::int64_t> seek_data(Request& request, std::int64_t offset) const;
  std::optional<std::int64_t> seek_hole(Request& request, std::int64_t offset) const;

 private:
  /// A run of contents that is all hole or all data.
  struct Extent {
    std::int64_t end;
    bool hole;
  };
  /// The state of a search: the index, the work that is left, and the current slab of the array
  /// (frame::ArrayGeometry::Slab). The chunks of a slab are looked through only once.
  struct Search {
    Search(Request& request, const FrameReader& reader) : reading(reader.begin_request(request)) {}
    bool should_continue();

    ReadRequest reading;
    std::int64_t slab_end = 0;
    bool slab_is_hole = false;
  };
  Extent flat_extent_at(std::int64_t content_offset, Search& search) const;
  Extent blocked_extent_at(std::int64_t content_offset, Search& search) const;
  bool slab_is_hole(const frame::ArrayGeometry::Slab& slab, Search& search) const;
  /// Returns the next hole or data of the contents; their end if there is none.
  std::int64_t seek_content(Request& request, std::int64_t offset, bool want_hole) const;
  std::optional<std::int64_t> seek(Request& request, std::int64_t offset, bool want_hole) const;
  /// Returns the memory that an open file takes, in bytes.
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
