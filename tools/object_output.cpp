#include "tools/object_output.hpp"

#include <string>
#include <vector>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/msgpack_json.hpp"
#include "frame/header/object_list.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/progress.hpp"

namespace bloscfs::tools {
namespace {

/// Memory for each byte of a document: the document itself, its values, and a line in which each
/// byte is escaped by six bytes. The line needs the same again while it grows.
constexpr std::int64_t kLineCopies = 14;
/// Bytes of lines that are written at once.
constexpr std::size_t kLinesSize = std::size_t{256} << 10;

class ObjectWriter {
 public:
  ObjectWriter(const frame::ObjectList& list, Input& input, OutputFile& out)
      : list_(list), input_(input), out_(out) {}

  void run() {
    const std::int64_t chunks = input_.info().nchunks;
    Progress progress("extract", chunks, Progress::Unit::items);
    for (std::int64_t chunk = 0; chunk < chunks; chunk++) {
      try {
        write_chunk(chunk);
      } catch (const codec::Error& error) {
        throw codec::Error(static_cast<codec::FormatErrc>(error.code().value()),
                           fmt::format("chunk {}: {}", chunk, error.what()));
      }
      progress.update(chunk);
    }
    flush();
  }

 private:
  void write_chunk(std::int64_t number) {
    const auto opened = input_.reader().open_chunk(request_, number);
    const codec::Chunk& chunk = opened->chunk;
    const bool are_blocks =
        list_.layout == frame::ObjectList::Layout::batch_in_block && chunk.header().vl_blocks;
    if (!are_blocks) return write_document(number, {0, chunk.nbytes()});
    for (std::int32_t block = 0; block < chunk.block_count(); block++)
      write_document(number, chunk.block_content(block));
  }

  void write_document(std::int64_t chunk, const codec::ByteRange& range) {
    if (range.size > frame::kMaxDocument)
      throw codec::Error(
          codec::FormatErrc::too_large,
          fmt::format("a document of {} bytes > {}", range.size, frame::kMaxDocument));
    const fs::MemoryBudget::Part part(input_.limits().cache().budget(),
                                      static_cast<std::size_t>(kLineCopies * range.size));
    document_.resize(static_cast<std::size_t>(range.size));
    input_.reader().visit_chunk(
        request_, chunk, range.offset, range.size,
        [&](const fs::BlockReader::Span& span, std::int64_t at) {
          span.copy(0, codec::MutableBytes(document_).subspan(static_cast<std::size_t>(at),
                                                              static_cast<std::size_t>(span.size)));
        });
    for (const auto& object : frame::objects_of(list_, document_)) {
      std::string line = frame::to_line(object);
      line += '\n';
      if (lines_.size() + line.size() > kLinesSize) flush();
      if (line.size() > kLinesSize)
        write(line);
      else
        lines_ += line;
    }
  }

  void flush() {
    write(lines_);
    lines_.clear();
  }

  void write(const std::string& text) {
    out_.write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }

  const frame::ObjectList list_;
  Input& input_;
  fs::Request request_;
  OutputFile& out_;
  std::vector<std::uint8_t> document_;
  std::string lines_;
};

}  // namespace

void write_objects(Input& input, OutputFile& out) {
  const auto list = frame::object_list_of(input.snapshot());
  if (!list) throw UsageError("is not a list of objects, which --json needs");
  ObjectWriter(*list, input, out).run();
}

}  // namespace bloscfs::tools
