#pragma once
// What the tests of writing have in common: contents to chunks, and states to compare.

#include <map>
#include <memory>
#include <string>

#include "frame/container/frame_writer.hpp"
#include "tests/frame/memory_store.hpp"

namespace bloscfs::frame::test {

/// Contents and metalayers of a frame, decoded.
struct FrameContents {
  Buffer bytes;
  std::vector<std::int64_t> shape;
  std::map<std::string, Buffer> metalayers, vlmetalayers;
  bool operator==(const FrameContents&) const = default;
};
std::ostream& operator<<(std::ostream& out, const FrameContents& contents);

FrameContents contents_of(const Snapshot& snapshot);
/// Opens what has the name, of either kind, and reads it.
FrameContents contents_on(const std::shared_ptr<MemoryDisk>& disk, const std::string& name);
std::unique_ptr<Snapshot> open_on(const std::shared_ptr<MemoryDisk>& disk, const std::string& name);

/// Nobody has to be waited for before superseded space is used.
inline const WriterSettings kNoGrace{.grace = std::chrono::milliseconds(0)};

/// Puts contents as one chunk of blocks of 512 bytes, or of a special value.
void put_content(Transaction& transaction, std::int64_t chunk, const Buffer& content);
/// Puts chunks at once, of which those before `gap` lie one behind the other in memory, and those
/// from there on, too.
void put_contents(Transaction& transaction, const std::map<std::int64_t, Buffer>& contents,
                  std::int64_t gap);

/// Settings of flat frames with chunks of 4096 bytes.
FrameSettings small_chunks();
/// A frame of those settings with these contents, committed in one transaction.
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
