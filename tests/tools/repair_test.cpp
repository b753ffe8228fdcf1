// Runs `b2frame repair` on randomly damaged frames, and on frames that claim too much.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>

#include <boost/endian/conversion.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/core.h>

#include "codec/block_decoder.hpp"
#include "codec/chunk.hpp"
#include "frame/open/open.hpp"
#include "frame/repair/losses.hpp"
#include "frame/repair/open_damaged.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/tools/damaged_frames.hpp"
#include "tests/tools/program.hpp"
#include "tests/tools/random_creation.hpp"

namespace bloscfs::test {
namespace {

using nlohmann::json;

constexpr int kComplete = 0, kIncomplete = 5, kNothingFound = 6;

int damage_count() {
  const char* given = std::getenv("BLOSCFS_REPAIR_FRAMES");
  return given != nullptr ? std::atoi(given) : (kSanitized ? 30 : 90);
}

/// Compares a repaired frame with the original one.
class Comparison {
 public:
  Comparison(const KnownFrame& known, ByteVector damaged, const fs_std::path& damaged_path,
             const fs_std::path& out_path)
      : known_(known), damaged_(std::move(damaged)), plan_(frame::plan_repair(damaged_path)) {
    if (fs_std::exists(out_path))
      out_ = read_chunks(*frame::open_path(out_path, {}), std::ssize(known.chunks));
    const auto size = std::min(plan_.info.nbytes, std::ssize(contents_of(known_.chunks)));
    is_known_.assign(static_cast<std::size_t>(size), true);
    std::vector<frame::ArrayBox> boxes;
    frame::for_each_loss(plan_, [&](const frame::Loss& loss) {
      if (loss.box) boxes.push_back(*loss.box);
      const std::int64_t begin = std::min(loss.content.offset, size);
      const std::int64_t end = std::min(loss.content.offset + loss.content.size, size);
      std::fill(is_known_.begin() + begin, is_known_.begin() + end, false);
    });
    if (known_.info.array) leave_out_blocks(*known_.info.array, boxes);
  }

  /// Checks that everything that is reported as intact has its original bytes.
  void check_claims() const {
    const ByteVector was = contents_of(known_.chunks), is = contents_of(out_);
    const bool compared = known_.keeps_checksums && !touched_trailer();
    std::size_t at = 0;
    for (std::size_t i = 0; i < known_.chunks.size(); ++i) {
      const std::size_t size = known_.chunks[i].contents.size();
      // Without checksums, changed bytes in a chunk that still decodes cannot be detected.
      if (compared || !touched_chunk(known_.chunks[i])) {
        std::size_t wrong = 0;
        for (std::size_t k = at; k < at + size && k < is.size() && k < is_known_.size(); ++k)
          wrong += is_known_[k] && is[k] != was[k] ? 1 : 0;
        BOOST_TEST(wrong == 0U, "chunk " << i << " is called intact, and is not what it was");
      }
      at += size;
    }
  }

  /// Checks that undamaged chunks are at their old places.
  void check_untouched() const {
    if (!is_order_knowable()) return;
    for (std::size_t i = 0; i < known_.chunks.size(); ++i) {
      const KnownChunk& chunk = known_.chunks[i];
      if (touched_chunk(chunk) || (chunk.cbytes == 0 && (touched_index() || touched_header())))
        continue;
      const bool kept = i < out_.size() && out_[i].contents == chunk.contents;
      BOOST_TEST(kept, "chunk " << i << " of " << known_.chunks.size() << " at " << chunk.at
                                << " was not touched, and is lost");
    }
  }

 private:
  bool touched(std::uint64_t begin, std::uint64_t end) const {
    for (std::uint64_t i = begin; i < end; ++i)
      if (i >= damaged_.size() || damaged_[i] != known_.bytes[i]) return true;
    return false;
  }
  /// Marks blocks as unknown that are inside of a lost box, or beyond the shape and so without
  /// elements.
  void leave_out_blocks(const frame::ArrayInfo& array, const std::vector<frame::ArrayBox>& lost) {
    const auto blocksize = static_cast<std::size_t>(known_.info.blocksize);
    const auto chunksize = static_cast<std::size_t>(known_.info.chunksize);
    const std::size_t dimensions = array.shape.size();
    for (std::size_t at = 0; at + blocksize <= is_known_.size(); at += blocksize) {
      std::size_t chunk = at / chunksize, block = at % chunksize / blocksize;
      bool is_padding = false;
      std::vector<std::int64_t> start(dimensions);
      for (std::size_t i = dimensions; i-- > 0;) {
        const std::int64_t length = array.chunkshape[i], cut = array.blockshape[i];
        const auto chunks = static_cast<std::size_t>((array.shape[i] + length - 1) / length);
        const auto blocks = static_cast<std::size_t>((length + cut - 1) / cut);
        const auto inside = static_cast<std::int64_t>(block % blocks) * cut;
        start[i] = static_cast<std::int64_t>(chunk % chunks) * length + inside;
        is_padding = is_padding || inside >= length || start[i] >= array.shape[i];
        chunk /= chunks;
        block /= blocks;
      }
      const auto is_in = [&](const frame::ArrayBox& box) {
        for (std::size_t i = 0; i < dimensions; i++)
          if (start[i] < box.start[i] || start[i] >= box.stop[i]) return false;
        return true;
      };
      if (is_padding || std::any_of(lost.begin(), lost.end(), is_in))
        std::fill_n(is_known_.begin() + static_cast<std::ptrdiff_t>(at), blocksize, false);
    }
  }
  bool touched_header() const {
    return touched(0, static_cast<std::uint64_t>(known_.info.header_len));
  }
  bool touched_index() const { return touched(known_.index_at, known_.index_end); }
  bool touched_trailer() const {
    return touched(known_.bytes.size() - static_cast<std::size_t>(known_.info.trailer_len),
                   known_.bytes.size());
  }
  bool touched_chunk(const KnownChunk& chunk) const {
    return touched(chunk.at, chunk.at + static_cast<std::uint64_t>(chunk.cbytes));
  }

  bool is_order_knowable() const {
    if (!touched_index()) return !touched_header() || !touched_trailer();
    if (known_.keeps_checksums && !touched_trailer() && !known_.has_special()) return true;
    if (touched_header() || known_.has_special()) return false;
    // The undamaged chunks keep their places if all damaged ones come after them.
    bool is_over = false;
    for (const KnownChunk& chunk : known_.chunks) {
      if (is_over && !touched_chunk(chunk)) return false;
      is_over = is_over || touched_chunk(chunk);
    }
    return true;
  }

  const KnownFrame& known_;
  const ByteVector damaged_;
  const frame::RepairPlan plan_;
  std::vector<KnownChunk> out_;
  std::vector<bool> is_known_;
};

struct LastChunk {
  struct Block {
    std::int64_t content_begin, content_end;  ///< in the frame's contents
    std::uint64_t stored_end;                 ///< in the file
    bool needs_first;                         ///< does not decode without the chunk's first block
  };
  std::uint64_t at = 0;  ///< in a sparse frame: the number of the chunk file
  std::int64_t cbytes = 0;
  std::vector<Block> blocks;
};

LastChunk look_at_last_chunk(const fs_std::path& path) {
  const auto snapshot = frame::open_path(path, {});
  codec::BlockDecoder decoder;
  const std::int64_t number = snapshot->info().nchunks - 1;
  const auto page = snapshot->read_page(snapshot->page_of_chunk(number, nullptr), nullptr, decoder);
  const frame::ChunkPlace place = page->place(number);
  const codec::Chunk chunk = snapshot->open_chunk(place, INT32_MAX).chunk;
  const bool is_alone = fs_std::is_directory(path);
  LastChunk last{place.stored_offset, chunk.header().cbytes, {}};
  for (std::int32_t i = 0; i < chunk.block_count(); ++i) {
    const std::int64_t begin = number * snapshot->info().chunksize + chunk.block_content(i).offset;
    const auto stored = chunk.block_stored(i);
    last.blocks.push_back(
        {begin, begin + chunk.block_content(i).size,
         (is_alone ? 0 : last.at) + static_cast<std::uint64_t>(stored.offset + stored.size),
         chunk.needs_reference(i)});
  }
  return last;
}

/// Returns the ranges of contents that are lost if the file ends at `size`, in order.
json lost_behind(const LastChunk& last, std::uint64_t size) {
  json lost = json::array();
  for (const LastChunk::Block& block : last.blocks) {
    if (block.stored_end <= size && !(block.needs_first && last.blocks[0].stored_end > size))
      continue;
    if (!lost.empty() && lost.back()[1] == block.content_begin)
      lost.back()[1] = block.content_end;
    else
      lost.push_back({block.content_begin, block.content_end});
  }
  return lost;
}

json lost_ranges(const json& report) {
  json ranges = json::array();
  for (const json& loss : report.at("ranges"))
    if (loss.at("kind") == "lost")
      for (const json& range : loss.at("bytes")) ranges.push_back(range);
  return ranges;
}

/// Returns the contents with zeros in these ranges.
ByteVector without(ByteVector contents, const json& ranges) {
  for (const json& range : ranges)
    std::fill(contents.begin() + range[0].get<std::ptrdiff_t>(),
              contents.begin() + range[1].get<std::ptrdiff_t>(), std::uint8_t{0});
  return contents;
}

Creation creation_to_damage(Random& random) {
  Creation creation =
      one_in(random, 2) ? random_flat_creation(random) : random_array_creation(random);
  std::erase(creation.options, "--sparse");
  return creation;
}

/// Repairs the frame at `damaged`. Returns the report.
json repair(const fs_std::path& damaged, const fs_std::path& out) {
  const ProcessResult result =
      b2frame({"repair", "--json", "--force", damaged.string(), "-o", out.string()});
  const bool is_known =
      result.status == kComplete || result.status == kIncomplete || result.status == kNothingFound;
  BOOST_TEST_REQUIRE(is_known, result.description());
  json report = json::parse(result.out);
  const char* const status = result.status == kComplete     ? "complete"
                             : result.status == kIncomplete ? "incomplete"
                                                            : "nothing_found";
  BOOST_TEST(report.at("status") == status);
  if (result.status != kNothingFound) {
    const ProcessResult verified = b2frame({"verify", out.string()});
    BOOST_TEST(verified.ok(), verified.description());
  }
  return report;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_repair)

BOOST_AUTO_TEST_CASE(loses_nothing_that_is_there_and_invents_nothing) {
  const std::uint64_t seed = creation_seed();
  Random random(seed);
  const TempDir scratch;
  const auto input = scratch / "input", whole = scratch / "whole", damaged = scratch / "damaged",
             out = scratch / "out";
  const int count = damage_count();
  for (int i = 0; i < count;) {
    const Creation creation = creation_to_damage(random);
    write_file(input, creation.input);
    const ProcessResult created =
        b2frame(Arguments{"create"} + creation.options + Arguments{input, "-o", whole});
    BOOST_TEST_REQUIRE(created.ok(), created.description());
    if (one_in(random, 3)) b2frame({"set-meta", whole.string(), "unit:=\"K\""});
    const KnownFrame known = look_at(whole);
    for (int k = 0; k < 6 && i < count; ++k, ++i) {
      Damager damager(random, known);
      const ByteVector bytes = damager.damage();
      BOOST_TEST_CONTEXT("seed " << seed << ", frame " << i << ":" << damager.what() << "; "
                                 << describe(creation)) {
        write_file(damaged, bytes);
        fs_std::remove(out);
        repair(damaged, out);
        const Comparison comparison(known, bytes, damaged, out);
        comparison.check_claims();
        comparison.check_untouched();
        BOOST_TEST(read_file(damaged) == bytes);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(keeps_an_empty_array_of_large_items) {
  const TempDir scratch;
  const auto whole = scratch / "whole.b2nd", out = scratch / "out.b2nd";
  write_file(scratch / "a.npy", npy_header("|V300", {7, 0}));
  BOOST_TEST_REQUIRE(b2frame({"create", scratch / "a.npy", "-o", whole}).ok());
  BOOST_TEST(repair(whole, out).at("status") == "complete");
  BOOST_TEST(info_of(out).at("shape") == json({7, 0}));
  BOOST_TEST(info_of(out).at("typesize") == 300);
}

BOOST_AUTO_TEST_CASE(saves_whole_blocks_of_a_last_chunk_that_is_cut_off) {
  Random random(creation_seed());
  const TempDir scratch;
  const auto whole = scratch / "whole", out = scratch / "out";
  const std::map<std::string, Arguments> encodings{
      {"zstd", {"--codec", "zstd"}},
      {"lz4", {"--codec", "lz4", "--filters", "bitshuffle", "--typesize", "4"}},
      {"zlib", {"--codec", "zlib", "--filters", "delta+shuffle", "--typesize", "4"}},
      {"split blocks", {"--codec", "blosclz", "--filters", "shuffle", "--typesize", "8"}},
      {"dictionary", {"--codec", "zstd", "--dict"}},
      {"delta", {"--codec", "lz4hc", "--filters", "delta", "--typesize", "1"}},
      {"long items", {"--codec", "zstd", "--filters", "shuffle", "--typesize", "300"}},
      {"memcpyed", {"--codec", "lz4"}}};
  int saved = 0;
  for (const auto& [name, encoding] : encodings) {
    const ByteVector contents =
        make_contents(name == "memcpyed" ? "noise" : "text", random(), 180000, 1);
    write_file(scratch / "input", contents);
    // First one chunk that is shorter than the frame's chunk size, then a short chunk after others.
    for (const char* chunksize : {"1M", "96K"}) {
      for (const bool is_sparse : {false, true}) {
        fs_std::remove_all(whole);
        const ProcessResult created =
            b2frame(Arguments{"create", "--chunk-size", chunksize, "--block-size", "6000"} +
                    encoding + (is_sparse ? Arguments{"--sparse"} : Arguments{}) +
                    Arguments{scratch / "input", "-o", whole});
        BOOST_TEST_REQUIRE(created.ok(), created.description());
        const LastChunk last = look_at_last_chunk(whole);
        const json typesize = info_of(whole).at("typesize");
        const auto file = is_sparse ? whole / fmt::format("{:08X}.chunk", last.at) : whole;
        const ByteVector bytes = read_file(file);
        for (int i = 0; i < 5; ++i) {
          const auto size = (is_sparse ? 0 : last.at) +
                            static_cast<std::uint64_t>(between(random, 1, last.cbytes - 1));
          BOOST_TEST_CONTEXT(name << ", chunks of " << chunksize << (is_sparse ? ", sparse" : "")
                                  << ", cut at " << size << " of " << bytes.size()) {
            write_file(file, bytes);
            fs_std::resize_file(file, size);
            fs_std::remove(out);
            const json report = repair(whole, out);
            const json lost = lost_behind(last, size);
            const ByteVector expected = without(contents, lost);
            if (std::count(expected.begin(), expected.end(), 0) == std::ssize(expected)) {
              BOOST_TEST(report.at("status") == "nothing_found");
              continue;
            }
            ++saved;
            BOOST_TEST(lost_ranges(report) == lost);
            BOOST_TEST((extracted(out) == std::string(expected.begin(), expected.end())));
            BOOST_TEST(info_of(out).at("typesize") == typesize);
          }
        }
      }
    }
  }
  BOOST_TEST(saved > 80);
}

BOOST_AUTO_TEST_CASE(tells_what_a_sparse_frame_without_some_files_has_left) {
  const TempDir scratch;
  const auto whole = scratch / "whole", out = scratch / "out";
  const ByteVector contents = make_contents("noise", 3, 10 * 4096 + 100, 1);
  write_file(scratch / "input", contents);
  b2frame({"create", "--sparse", "--chunk-size", "4K", (scratch / "input").string(), "-o",
           whole.string()});
  fs_std::remove(whole / "00000003.chunk");
  json report = repair(whole, out);
  const json lost = {{{"kind", "lost"},
                      {"first_chunk", 3},
                      {"chunks", 1},
                      {"bytes", {{3 * 4096, 4 * 4096}}},
                      {"elements", {{3 * 4096, 4 * 4096}}}}};
  BOOST_TEST(report.at("ranges") == lost);
  ByteVector expected = contents;
  std::fill_n(expected.begin() + 3 * 4096, 4096, std::uint8_t{0});
  BOOST_TEST(extracted(out) == std::string(expected.begin(), expected.end()));
  // Without the index, the order follows only from the numbers in the file names.
  fs_std::resize_file(whole / "chunks.b2frame", 150);
  report = repair(whole, out);
  BOOST_TEST(report.at("order") == "guess");
  BOOST_TEST(extracted(out) == std::string(expected.begin(), expected.end()));
  // No chunk of a frame can have this number.
  fs_std::rename(whole / "0000000A.chunk", whole / "FFFFFFF0.chunk");
  BOOST_TEST(b2frame({"verify", "--repairable", whole.string()}).status == kIncomplete);
}

BOOST_AUTO_TEST_CASE(names_the_elements_of_an_array_that_are_lost) {
  const TempDir scratch;
  const auto whole = scratch / "whole", out = scratch / "out";
  ByteVector input = make_contents("noise", 5, 6 * 8 * 4, 4);
  const std::string header = npy_header("<i4", {6, 8});
  input.insert(input.begin(), header.begin(), header.end());
  write_file(scratch / "input", input);
  b2frame({"create", "--chunk-shape", "3,4", (scratch / "input").string(), "-o", whole.string()});
  const KnownFrame known = look_at(whole);
  ByteVector bytes = known.bytes;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(known.chunks[1].at), 16, std::uint8_t{0});
  write_file(whole, bytes);
  const json report = repair(whole, out);
  BOOST_TEST_REQUIRE(report.at("ranges").size() == 1U);
  const json& lost = report.at("ranges").at(0);
  BOOST_TEST(lost.at("start") == json({0, 4}));
  BOOST_TEST(lost.at("stop") == json({3, 8}));
  BOOST_TEST(lost.at("elements") == json({{4, 8}, {12, 16}, {20, 24}}));
  BOOST_TEST(report.at("lost") == 48);
  BOOST_TEST(report.at("shape") == json({6, 8}));
  BOOST_TEST(b2frame({"verify", "--repairable", whole.string()}).status == kIncomplete);
  BOOST_TEST(
      b2frame({"repair", "--missing", "leave-out", "--force", whole.string(), "-o", out.string()})
          .status == 2);
}

BOOST_AUTO_TEST_CASE(believes_chunks_before_a_header_that_was_changed) {
  // The offsets of the highest and the lowest byte of each number.
  const std::map<std::string, std::vector<std::size_t>> fields{
      {"header_len", {0x0b, 0x0e}}, {"frame_len", {0x10, 0x17}}, {"nbytes", {0x1e, 0x25}},
      {"cbytes", {0x27, 0x2e}},     {"typesize", {0x30, 0x33}},  {"blocksize", {0x35, 0x38}},
      {"chunksize", {0x3a, 0x3c}}};
  const TempDir scratch;
  const auto whole = scratch / "whole", damaged = scratch / "damaged", out = scratch / "out";
  for (const std::size_t size : {std::size_t{5 * 4096 + 100}, std::size_t{100}}) {
    const ByteVector contents = make_contents("text", 3, size, 1);
    write_file(scratch / "input", contents);
    fs_std::remove(whole);
    b2frame({"create", "--chunk-size", "4K", (scratch / "input").string(), "-o", whole.string()});
    for (const auto& [field, places] : fields)
      for (const std::size_t place : places)
        for (const int change : {0x20, 0xff}) {
          BOOST_TEST_CONTEXT(field << ", byte " << place << " ^ " << change << ", " << size
                                   << " bytes of contents") {
            ByteVector bytes = read_file(whole);
            bytes[place] ^= static_cast<std::uint8_t>(change);
            write_file(damaged, bytes);
            const json report = repair(damaged, out);
            BOOST_TEST(extracted(out) == std::string(contents.begin(), contents.end()));
            BOOST_TEST(report.at("intact") == std::ssize(contents));
          }
        }
  }
}

BOOST_AUTO_TEST_CASE(leaves_out_lost_chunks) {
  const TempDir scratch;
  const auto whole = scratch / "whole", out = scratch / "out";
  const ByteVector contents = make_contents("text", 3, 5 * 4096 + 100, 1);
  write_file(scratch / "input", contents);
  b2frame({"create", "--chunk-size", "4K", (scratch / "input").string(), "-o", whole.string()});
  const KnownFrame known = look_at(whole);
  ByteVector bytes = known.bytes;
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(known.chunks[2].at), 16, std::uint8_t{0});
  write_file(whole, bytes);
  const auto result =
      b2frame({"repair", "--missing", "leave-out", whole.string(), "-o", out.string()});
  BOOST_TEST(result.status == kIncomplete, result.description());
  BOOST_TEST(result.out.find("lost: bytes 8192 to 12288, chunk 2") != std::string::npos,
             result.out);
  ByteVector expected = contents;
  expected.erase(expected.begin() + 2 * 4096, expected.begin() + 3 * 4096);
  BOOST_TEST(extracted(out) == std::string(expected.begin(), expected.end()));
}

BOOST_AUTO_TEST_CASE(leaves_out_a_chunk_without_a_sound_block) {
  const TempDir scratch;
  const auto whole = scratch / "whole", out = scratch / "out";
  const ByteVector contents = make_contents("text", 3, 3 * 65536, 1);
  write_file(scratch / "input", contents);
  b2frame({"create", "--chunk-size", "64K", "--block-size", "16K", "--codec", "lz4",
           (scratch / "input").string(), "-o", whole.string()});
  const KnownFrame known = look_at(whole);
  for (const int blocks : {4, 1}) {
    ByteVector bytes = known.bytes;
    // The starts of blocks in chunk 1 are invalid.
    const auto starts = bytes.begin() + static_cast<std::ptrdiff_t>(known.chunks[1].at) + 32;
    std::fill_n(starts, blocks * 4, std::uint8_t{0xff});
    write_file(whole, bytes);
    const auto result = b2frame(
        {"repair", "--force", "--missing", "leave-out", whole.string(), "-o", out.string()});
    BOOST_TEST(result.status == kIncomplete, result.description());
    BOOST_TEST(result.out.find("lost blocks of other chunks are zeros") != std::string::npos,
               result.out);
    ByteVector expected = contents;
    if (blocks == 4)
      expected.erase(expected.begin() + 65536, expected.begin() + 2 * 65536);
    else
      std::fill_n(expected.begin() + 65536, 16384, std::uint8_t{0});
    BOOST_TEST(extracted(out) == std::string(expected.begin(), expected.end()));
  }
}

BOOST_AUTO_TEST_CASE(reports_neighbouring_blocks_as_one) {
  const TempDir scratch;
  const auto whole = scratch / "whole.b2nd", out = scratch / "out";
  const ByteVector elements = make_contents("floats", 1, 64 * 64 * 8, 8);
  write_file(scratch / "input.npy",
             npy_header("<i8", {64, 64}) + std::string(elements.begin(), elements.end()));
  b2frame({"create", "--chunk-shape", "64,64", "--block-shape", "8,8", "--codec", "lz4",
           (scratch / "input.npy").string(), "-o", whole.string()});
  const KnownFrame known = look_at(whole);
  ByteVector bytes = known.bytes;
  // The block starts in the second half of the chunk are invalid.
  const auto starts = static_cast<std::ptrdiff_t>(known.chunks[0].at) + 32;
  std::fill_n(bytes.begin() + starts + 32 * 4, 32 * 4, std::uint8_t{0xff});
  write_file(whole, bytes);
  const auto result = b2frame({"repair", whole.string(), "-o", out.string()});
  BOOST_TEST(result.status == kIncomplete, result.description());
  BOOST_TEST(result.out.find("lost: elements (32,0) to (64,64), chunk 0\n") != std::string::npos,
             result.out);
  BOOST_TEST(std::count(result.out.begin(), result.out.end(), '\n') < 6, result.out);
}

BOOST_AUTO_TEST_CASE(makes_a_frame_of_what_a_bloscpack_file_has_left) {
  const TempDir scratch;
  const auto damaged = scratch / "damaged.blp", out = scratch / "out";
  const fs_std::path data = fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / "tests/data/bloscpack";
  int files = 0;
  for (const auto& entry : fs_std::recursive_directory_iterator(data)) {
    if (entry.path().extension() != ".blp" || !b2frame({"verify", entry.path().string()}).ok())
      continue;
    BOOST_TEST_CONTEXT(entry.path()) {
      ++files;
      const std::string contents = extracted(entry.path());
      if (contents.empty()) continue;
      repair(entry.path(), out);
      BOOST_TEST((extracted(out) == contents));
      // Damage the offset table, if the file has one.
      ByteVector bytes = read_file(entry.path());
      if ((bytes[5] & 3) != 1 || bytes[4] < 2) continue;
      std::fill_n(bytes.begin() + 32, 8, std::uint8_t{1});
      write_file(damaged, bytes);
      const json report = repair(damaged, out);
      BOOST_TEST((extracted(out) == contents), report);
    }
  }
  BOOST_TEST(files > 0);
}

BOOST_AUTO_TEST_CASE(keeps_the_metadata_of_a_bloscpack_file_unless_they_are_damaged) {
  const TempDir scratch;
  const auto damaged = scratch / "damaged.blp", out = scratch / "out";
  const fs_std::path data = fs_std::path(BLOSCFS_TEST_SOURCE_ROOT) / "tests/data/bloscpack";
  const std::map<std::string, json> files{
      {"metadata-2.blp", {{"k", "v"}}},
      {"numpy-1.blp",
       {{"dtype", "'<i4'"}, {"shape", {1001}}, {"order", "C"}, {"container", "numpy"}}}};
  for (const auto& [name, metadata] : files) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(repair(data / name, out).at("status") == "complete");
      const ProcessResult info = b2frame({"info", "--json", out.string()});
      BOOST_TEST(json::parse(info.out).at("metalayers").at("bloscpack") == metadata, info.out);
      // Damage the byte right behind the section's header.
      ByteVector bytes = read_file(data / name);
      bytes[64] ^= 1;
      write_file(damaged, bytes);
      const json report = repair(damaged, out);
      BOOST_TEST(report.at("status") == "incomplete");
      BOOST_TEST(report.at("lost_metalayers") == json({"bloscpack"}));
      BOOST_TEST(report.at("lost") == 0);
      BOOST_TEST((extracted(out) == extracted(data / name)));
    }
  }
}

BOOST_AUTO_TEST_CASE(writes_nothing_over_what_is_there) {
  const TempDir scratch;
  const auto whole = scratch / "whole", other = scratch / "other", link = scratch / "link";
  write_file(scratch / "input", std::string_view("some contents"));
  b2frame({"create", (scratch / "input").string(), "-o", whole.string()});
  const ByteVector before = read_file(whole);
  write_file(other, std::string_view("of somebody"));
  fs_std::create_symlink("whole", link);
  BOOST_TEST(b2frame({"repair", whole.string(), "-o", other.string()}).status == 1);
  for (const auto& same : {whole, link})
    BOOST_TEST(b2frame({"repair", "--force", whole.string(), "-o", same.string()}).status == 2);
  BOOST_TEST(read_file(whole) == before);
  BOOST_TEST(read_file(other).size() == 11U);
  BOOST_TEST(b2frame({"repair", "--force", whole.string(), "-o", other.string()}).status == 0);
  BOOST_TEST(extracted(other) == "some contents");
  const auto array = scratch / "x.b2nd";
  const ProcessResult promised = b2frame({"repair", whole.string(), "-o", array.string()});
  BOOST_TEST(promised.status == 2, promised.description());
  BOOST_TEST(
      promised.err.find("becomes a frame of bytes, not an array (.b2nd)") != std::string::npos,
      promised.err);
  BOOST_TEST(!fs_std::exists(array));
  write_file(scratch / "nothing", ByteVector(100000));
  const auto none = scratch / "none";
  BOOST_TEST(b2frame({"repair", (scratch / "nothing").string(), "-o", none.string()}).status ==
             kNothingFound);
  BOOST_TEST(!fs_std::exists(none));
}

BOOST_AUTO_TEST_CASE(says_that_a_file_is_not_a_frame) {
  const TempDir scratch;
  write_file(scratch / "text", std::string_view("no frame"));
  write_file(scratch / "a.npy", npy_header("<i4", {0}));
  write_file(scratch / "lost.b2nd", std::string(500, 'x'));
  fs_std::create_directory(scratch / "folder");
  const auto report = [&](const char* name) {
    const ProcessResult result =
        b2frame({"repair", (scratch / name).string(), "-o", (scratch / "out").string()});
    BOOST_TEST(result.status == 6, result.description());
    BOOST_TEST(b2frame({"verify", "--repairable", (scratch / name).string()}).out == result.out);
    return result.out;
  };
  for (const char* name : {"text", "a.npy", "folder"})
    BOOST_TEST(report(name) ==
               (scratch / name).string() +
                   ": is not a frame, and has no chunks of one; name a frame or a sparse frame\n");
  BOOST_TEST(report("lost.b2nd")
                 .ends_with(": the header is damaged\n" + (scratch / "lost.b2nd").string() +
                            ": nothing was found; restore the file from a copy\n"));
}

BOOST_AUTO_TEST_CASE(takes_time_and_memory_by_the_size_of_the_file) {
  const TempDir scratch;
  const auto file = scratch / "file";
  const auto header = [](std::uint8_t version, std::uint8_t flags, std::int32_t nbytes,
                         std::int32_t blocksize, std::int32_t cbytes, std::size_t size) {
    ByteVector bytes(size);
    bytes[0] = version, bytes[1] = 1, bytes[2] = flags, bytes[3] = 1;
    boost::endian::store_little_s32(&bytes[4], nbytes);
    boost::endian::store_little_s32(&bytes[8], blocksize);
    boost::endian::store_little_s32(&bytes[12], cbytes);
    return bytes;
  };
  const std::map<std::string, ByteVector> units{
      {"zeros", ByteVector(16)},
      {"a header every 16 bytes", header(2, 0, 1 << 30, 1 << 20, 1 << 20, 16)},
      {"2 GiB in 40 bytes", header(5, 0x15, 0x7fffff00, 1 << 20, 40, 40)},
      {"a long list of block starts", header(5, 0x15, 1 << 20, 32, 1 << 20, 36)}};
  for (const auto& [what, unit] : units) {
    BOOST_TEST_CONTEXT(what) {
      ByteVector bytes;
      while (bytes.size() < std::size_t{1} << 20)
        bytes.insert(bytes.end(), unit.begin(), unit.end());
      write_file(file, bytes);
      const auto result = b2frame({"verify", "--repairable", file.string()}, Seconds{120});
      BOOST_TEST(!result.timed_out);
      BOOST_TEST(result.status == kNothingFound, result.description());
      if (!kSanitized) BOOST_TEST(result.usage.ru_maxrss < 200 << 10);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
