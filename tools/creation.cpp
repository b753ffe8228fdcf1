#include "tools/creation.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "codec/filter/pipeline.hpp"
#include "tools/interrupt.hpp"

namespace bloscfs::tools {
namespace {

using codec::MutableBytes;

/// In bytes. Smaller pieces are faster to copy than to map.
constexpr std::size_t kLeastMapped = 1 << 20;

/// True if a filter makes a copy of the chunk, which the codec then reads. The delta filter, and
/// codecs without a filter, read their input twice. That goes wrong if another program writes to a
/// mapped file between the two reads.
bool copies_before_encoding(const codec::EncodeSettings& settings, std::size_t size) {
  const auto header = codec::plan_chunk(settings, static_cast<std::int32_t>(size));
  return codec::forward_buffers(header) > 0 &&
         std::none_of(header.filters.begin(), header.filters.end(),
                      [](const auto& step) { return step.id == codec::FilterId::delta; });
}

}  // namespace

Creation::Creation(CreationSettings settings, const CreatePlan& plan, RawInput& input,
                   FrameOutput& out)
    : settings_(std::move(settings)),
      plan_(plan),
      input_(input),
      out_(out),
      pipeline_(plan.encode, settings_.threads,
                [this](const fs::RecodedChunk& chunk) { store(chunk); }) {}

void Creation::run() {
  if (plan_.npy)
    take_array();
  else
    take_stream();
  pipeline_.finish();
  if (settings_.maps) require_mapped_input(input_.name());
}

void Creation::throw_if_stopped() const {
  throw_if_interrupted();
  if (settings_.maps) require_mapped_input(input_.name());
}

void Creation::take_stream() {
  take_whole_chunks();
  const auto chunksize = static_cast<std::size_t>(plan_.frame.chunksize);
  for (std::size_t got = chunksize; got == chunksize;) {
    got = input_.read(pipeline_.next(chunksize));
    taken_ += static_cast<std::int64_t>(got);
    if (got > 0) pipeline_.add(got);
  }
}

void Creation::take_whole_chunks() {
  const auto size = static_cast<std::size_t>(plan_.frame.chunksize);
  while (has_elements(size)) {
    throw_if_stopped();
    add_whole(size);
  }
}

void Creation::add_whole(std::size_t size) {
  if (settings_.maps && size >= kLeastMapped && copies_before_encoding(plan_.encode, size))
    pipeline_.add_lent(size, lent_elements(size));
  else
    pipeline_.add_filled(size, next_elements(size));
}

void Creation::take_array() {
  cutter_.emplace(*plan_.frame.array, plan_.frame.typesize);
  std::vector<std::uint8_t> header(plan_.npy->header_size);
  input_.read(header);
  // If each chunk takes the next bytes of the input, the input can be read as a stream.
  const bool in_order = cutter_->cuts_runs() || plan_.npy->nbytes == 0;
  if (!in_order) elements_.emplace(input_, plan_.npy->nbytes, settings_.sibling_path);
  for (std::int64_t chunk = 0; chunk < cutter_->chunk_count(); ++chunk) {
    throw_if_stopped();
    if (cutter_->keeps_order())
      add_contents(chunk);
    else if (cutter_->cuts_runs())
      add_run(chunk);
    else
      add_pieces(chunk);
  }
  if (in_order) require_end();
}

bool Creation::has_elements(std::size_t size) const {
  return input_.known_rest() >= static_cast<std::int64_t>(size);
}

ChunkPipeline::Fill Creation::next_elements(std::size_t size) {
  const std::int64_t position = input_.file_position();
  const auto taken = static_cast<std::int64_t>(size);
  input_.announce(position, taken);
  input_.skip(taken);
  taken_ += taken;
  return [this, position](MutableBytes out) { input_.read_at(position, out); };
}

ChunkPipeline::Lend Creation::lent_elements(std::size_t size) {
  const std::int64_t position = input_.file_position();
  return [this, position, size, read = next_elements(size)](const ChunkPipeline::Use& use) {
    const MappedPiece piece(input_, position, size);
    if (piece.is_mapped()) return use(piece.bytes());
    std::vector<std::uint8_t> copy(size);
    read(copy);
    use(copy);
  };
}

void Creation::add_contents(std::int64_t chunk) {
  const std::size_t size = cutter_->range(chunk).size();
  if (has_elements(size)) {
    if (size == chunksize()) return add_whole(size);
    return pipeline_.add_filled(chunksize(),
                                [read = next_elements(size), size](MutableBytes contents) {
                                  read(contents.first(size));
                                  fill_up(contents, size);
                                });
  }
  const MutableBytes contents = pipeline_.next(chunksize());
  read_elements(contents.first(size));
  fill_up(contents, size);
  pipeline_.add(chunksize());
}

void Creation::fill_up(MutableBytes contents, std::size_t size) {
  const MutableBytes rest = contents.subspan(size);
  std::fill(rest.begin(), rest.end(), std::uint8_t{0});
}

void Creation::add_run(std::int64_t chunk) {
  const std::size_t size = cutter_->range(chunk).size();
  if (has_elements(size)) {
    return pipeline_.add_filled(
        chunksize(), [this, chunk, size, read = next_elements(size)](MutableBytes contents) {
          std::vector<std::uint8_t> run(size);
          read(run);
          cutter_->cut(chunk, run, contents);
        });
  }
  std::vector<std::uint8_t> run(size);
  read_elements(run);
  pipeline_.add_filled(chunksize(), [this, chunk, run = std::move(run)](MutableBytes contents) {
    cutter_->cut(chunk, run, contents);
  });
}

void Creation::add_pieces(std::int64_t chunk) {
  const auto range = cutter_->range(chunk);
  taken_ = range.end;
  pipeline_.add_filled(chunksize(), [this, chunk, range](MutableBytes contents) {
    cutter_->cut(chunk, elements_->bytes(range.begin, range.end), contents);
  });
}

void Creation::read_elements(MutableBytes out) {
  const std::size_t got = input_.read(out);
  taken_ += static_cast<std::int64_t>(got);
  if (got < out.size())
    codec::throw_malformed(
        fmt::format("NPY file ends after {} of {} bytes of elements; --flat stores it as it is",
                    taken_, plan_.npy->nbytes));
}

void Creation::require_end() {
  std::uint8_t more = 0;
  if (input_.read({&more, 1}) > 0)
    codec::throw_malformed("NPY file has more than its elements; --flat stores it as it is");
}

void Creation::store(const fs::RecodedChunk& chunk) {
  const std::int64_t end = std::min((chunk.number + 1) * plan_.frame.chunksize, taken_);
  out_.add_chunk(end, chunk.special, chunk.stored);
  settings_.progress(taken_);
}

}  // namespace bloscfs::tools
