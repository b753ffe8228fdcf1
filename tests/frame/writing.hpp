#pragma once
// Shared functions of tests that write: they turn contents into chunks, and compare states.

#include <map>
#include <memory>
#include <string>

#include "frame/container/frame_writer.hpp"
#include "tests/frame/memory_store.hpp"

namespace bloscfs::frame::test {

/// The decoded contents and metalayers of a frame.
struct FrameContents {
  Buffer bytes;
  std::vector<std::int64_t> shape;
  std::map<std::string, Buffer> metalayers, vlmetalayers;
  bool operator==(const FrameContents&) const = default;
};
std::ostream& operator<<(std::ostream& out, const FrameContents& contents);

FrameContents contents_of(const Snapshot& snapshot);
/// Opens the frame with that name, of either kind, and reads it.
FrameContents contents_on(const std::shared_ptr<MemoryDisk>& disk, const std::string& name);
std::unique_ptr<Snapshot> open_on(const std::shared_ptr<MemoryDisk>& disk, const std::string& name);

/// Superseded space may be used again at once.
inline const WriterSettings kNoGrace{.grace = std::chrono::milliseconds(0)};

/// Puts contents as one chunk, in blocks of 512 bytes or as a special value.
void put_content(Transaction& transaction, std::int64_t chunk, const Buffer& content);
/// Puts several chunks in one call. The chunks before `gap` are contiguous in memory, and so are
/// the others.
void put_contents(Transaction& transaction, const std::map<std::int64_t, Buffer>& contents,
                  std::int64_t gap);

/// Returns settings of flat frames with chunks of 4096 bytes.
FrameSettings small_chunks();
/// Makes a frame of those settings with these contents, in one commit.
std::unique_ptr<FrameWriter> make_frame(const std::shared_ptr<MemoryDisk>& disk,
                                        const std::string& name, const Buffer& content,
                                        const FrameSettings& settings = small_chunks(),
                                        const WriterSettings& writer = {},
                                        ContainerKind kind = ContainerKind::cframe);
std::unique_ptr<FrameWriter> open_writer(const std::shared_ptr<MemoryDisk>& disk,
                                         const std::string& name,
                                         const WriterSettings& settings = {});
/// Replaces all contents.
void put_all(Transaction& transaction, const Buffer& content);

}  // namespace bloscfs::frame::test
