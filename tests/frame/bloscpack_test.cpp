#include "frame/bloscpack/bloscpack.hpp"

#include <ctime>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "tests/frame/blp_builder.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

bool is_malformed(const codec::Error& e) { return e.code() == codec::FormatErrc::malformed; }

void check_refused(const BlpFile& file) {
  BOOST_CHECK_EXCEPTION(open_blp(file.build()), codec::Error, is_malformed);
}

std::unique_ptr<const IndexPage> page_with(const Snapshot& snapshot, std::int64_t chunk,
                                           const ChunkMap* map) {
  codec::BlockDecoder decoder;
  return snapshot.read_page(snapshot.page_of_chunk(chunk, map), map, decoder);
}

OpenedChunk open_chunk(const Snapshot& snapshot, std::int64_t chunk,
                       const ChunkMap* map = nullptr) {
  return snapshot.open_chunk(page_with(snapshot, chunk, map)->place(chunk), 1 << 20);
}

std::string dtype_of(const std::string& metadata_text) {
  BlpFile file = simple_blp(pattern(48, 1), 20);
  file.metadata.push_back({metadata_text});
  return open_blp(file.build())->info().array.value().dtype.value();
}

BlpFile with_metadata(const std::string& text) {
  BlpFile file = simple_blp(pattern(48, 1), 20);
  file.metadata.push_back({text});
  return file;
}

const char* const kMatrix = R"({"dtype":"'<f4'","shape":[3,4],"order":"F","container":"numpy"})";

}  // namespace

BOOST_AUTO_TEST_SUITE(bloscpack)

BOOST_AUTO_TEST_CASE(knows_its_magic) {
  const Buffer magic = {'b', 'l', 'p', 'k'};
  BOOST_TEST(has_bloscpack_magic(magic));
  BOOST_TEST(!has_bloscpack_magic(Bytes(magic).first(3)));
  BOOST_TEST(!has_bloscpack_magic(Buffer{'b', 'l', 'p', 'c', 3}));
}

BOOST_AUTO_TEST_CASE(shows_what_the_header_says) {
  const Buffer content = pattern(1000, 3);
  BlpFile file = simple_blp(content, 300);
  file.typesize = 0;
  file.checksum = DigestKind::sha224;
  const auto snapshot = open_blp(file.build());
  const FrameInfo& info = snapshot->info();
  BOOST_TEST((info.kind == ContainerKind::bloscpack));
  BOOST_TEST(info.format_version == 3);
  BOOST_TEST(info.typesize == 1);
  BOOST_TEST(info.chunksize == 300);
  BOOST_TEST(info.nbytes == 1000);
  BOOST_TEST(info.nchunks == 4);
  BOOST_TEST(info.cbytes == 1000 + 4 * 16);
  BOOST_TEST(info.checksum == "sha224");
  BOOST_TEST(!info.array.has_value());
  BOOST_TEST(!info.codec.has_value());
  BOOST_TEST(!snapshot->needs_chunk_map());
  BOOST_TEST(read_contents(*snapshot) == content);
}

BOOST_AUTO_TEST_CASE(opens_a_large_file_without_reading_offsets_or_chunks) {
  const Buffer content = pattern(60000, 3);
  std::shared_ptr<MemorySource> source;
  const auto snapshot = open_blp(simple_blp(content, 2).build(), &source);
  BOOST_TEST(source->bytes_read() < 100u);
  open_chunk(*snapshot, 29999);
  BOOST_TEST(source->bytes_read() < 20000u);
}

BOOST_AUTO_TEST_CASE(walks_files_without_offsets) {
  const Buffer content = pattern(1000, 4);
  BlpFile file = simple_blp(content, 300);
  file.offsets = false;
  std::shared_ptr<MemorySource> source;
  const auto snapshot = open_blp(file.build(), &source);
  BOOST_TEST(snapshot->needs_chunk_map());
  BOOST_TEST(snapshot->info().nbytes == 1000);
  BOOST_TEST(source->bytes_read() < 100u);
  BOOST_TEST(read_contents(*snapshot) == content);
}

BOOST_AUTO_TEST_CASE(counts_chunks_where_the_header_does_not) {
  const Buffer content = pattern(1000, 4);
  BlpFile file = simple_blp(content, 300);
  file.offsets = false;
  file.nchunks = -1;
  file.max_app_chunks = 0;
  const auto snapshot = open_blp(file.build());
  BOOST_TEST(snapshot->info().nchunks == 4);
  BOOST_TEST(snapshot->info().nbytes == 1000);
  BOOST_TEST(read_contents(*snapshot) == content);
}

BOOST_AUTO_TEST_CASE(takes_sizes_of_uneven_chunks_from_their_headers) {
  BlpFile file;
  Buffer content;
  for (const std::size_t size : {7u, 0u, 0u, 300u, 1u, 0u, 44u, 0u}) {
    const Buffer part = pattern(size, static_cast<unsigned>(size));
    file.chunks.push_back(make_blosc1_chunk(part));
    content.insert(content.end(), part.begin(), part.end());
  }
  file.nchunks = 8;
  const auto snapshot = open_blp(file.build());
  BOOST_TEST(snapshot->info().nbytes == 352);
  BOOST_TEST(snapshot->info().chunksize == -1);
  BOOST_TEST(snapshot->info().variable_chunks);
  BOOST_TEST(read_contents(*snapshot) == content);
}

BOOST_AUTO_TEST_CASE(ignores_bytes_behind_the_last_chunk) {
  const Buffer content = pattern(1000, 4);
  for (const bool offsets : {true, false}) {
    BlpFile file = simple_blp(content, 300);
    file.offsets = offsets;
    Buffer bytes = file.build();
    bytes.resize(bytes.size() + 999, 0xee);
    BOOST_TEST(read_contents(*open_blp(bytes)) == content);
  }
}

BOOST_AUTO_TEST_CASE(reads_version_1) {
  const Buffer content = pattern(50, 4);
  BlpFile file = simple_blp(content, 20);
  file.checksum = DigestKind::none;
  file.offsets = false;
  for (const int nchunks : {3, -1}) {
    Buffer bytes = {'b', 'l', 'p', 'k', 1, 0, 0, 0};
    bytes.resize(16, nchunks < 0 ? 0xff : 0);
    bytes[8] = static_cast<std::uint8_t>(nchunks);
    const Buffer chunks = file.build();
    bytes.insert(bytes.end(), chunks.begin() + 32, chunks.end());
    const auto snapshot = open_blp(bytes);
    BOOST_TEST(snapshot->info().format_version == 1);
    BOOST_TEST(snapshot->info().nchunks == 3);
    BOOST_TEST(read_contents(*snapshot) == content);
    bytes[5] = 1;
    BOOST_CHECK_EXCEPTION(open_blp(bytes), codec::Error, is_malformed);
  }
}

BOOST_AUTO_TEST_CASE(refuses_header_fields_out_of_range) {
  const BlpFile good = simple_blp(pattern(48, 1), 20);
  const auto damaged = [&](auto change) {
    BlpFile file = good;
    change(file);
    check_refused(file);
  };
  damaged([](BlpFile& f) { f.chunk_size = -2; });
  damaged([](BlpFile& f) { f.last_chunk = -2; });
  damaged([](BlpFile& f) { f.last_chunk = 21; });
  Buffer bytes = good.build();
  const auto patched = [&](std::size_t at, const Buffer& with) {
    Buffer copy = bytes;
    std::copy(with.begin(), with.end(), copy.begin() + static_cast<std::ptrdiff_t>(at));
    BOOST_TEST_CONTEXT("byte " << at)
    BOOST_CHECK_EXCEPTION(open_blp(copy), codec::Error, is_malformed);
  };
  patched(0, {'x'});
  patched(4, {0});
  patched(5, {0x05});
  patched(5, {0x81});
  patched(6, {9});
  const Buffer max = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
  patched(16, {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
  patched(16, Buffer(8, 0xff));  // unknown, although there are offsets
  patched(16, {100});
  patched(16, max);
  patched(24, Buffer(8, 0xff));
  patched(24, max);
  patched(24, {0, 0, 0, 0, 1});
}

BOOST_AUTO_TEST_CASE(says_that_later_versions_are_unsupported) {
  BlpFile file = simple_blp(pattern(48, 1), 20);
  file.version = 4;
  BOOST_CHECK_EXCEPTION(open_blp(file.build()), codec::Error, [](const codec::Error& e) {
    return e.code() == codec::FormatErrc::unsupported;
  });
}

BOOST_AUTO_TEST_CASE(refuses_metadata_flag_in_version_2) {
  BlpFile file = with_metadata("{}");
  file.version = 2;
  check_refused(file);
}

BOOST_AUTO_TEST_CASE(never_accepts_a_truncated_file) {
  const Buffer content = pattern(48, 1);
  for (const bool offsets : {true, false}) {
    BlpFile file = simple_blp(content, 20);
    file.offsets = offsets;
    file.metadata.push_back({kMatrix});
    const Buffer bytes = file.build();
    BOOST_TEST(read_contents(*open_blp(bytes)) == content);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const Buffer part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      BOOST_TEST_CONTEXT("cut at " << size)
      BOOST_CHECK_EXCEPTION(read_contents(*open_blp(part)), codec::Error, is_malformed);
    }
  }
}

BOOST_AUTO_TEST_CASE(fails_only_the_chunk_with_a_wrong_digest) {
  for (int kind = 1; kind <= kMaxDigestId; ++kind) {
    BlpFile file = simple_blp(pattern(60, 1), 20);
    file.checksum = static_cast<DigestKind>(kind);
    Buffer bytes = file.build();
    bytes[file.position(1) + 20] ^= 1;
    bytes[file.position(2) + file.chunks[2].size()] ^= 1;
    const auto snapshot = open_blp(bytes);
    open_chunk(*snapshot, 0);
    BOOST_CHECK_EXCEPTION(open_chunk(*snapshot, 1), codec::Error, is_malformed);
    BOOST_CHECK_EXCEPTION(open_chunk(*snapshot, 2), codec::Error, is_malformed);
  }
}

BOOST_AUTO_TEST_CASE(checks_digests_of_chunks_larger_than_a_window) {
  const Buffer content = pattern(700000, 1);
  BlpFile file = simple_blp(content, 1 << 20);
  file.checksum = DigestKind::sha512;
  Buffer bytes = file.build();
  BOOST_TEST((read_contents(*open_blp(bytes)) == content));
  bytes[file.position(0) + 600000] ^= 1;
  BOOST_CHECK_EXCEPTION(open_chunk(*open_blp(bytes), 0), codec::Error, is_malformed);
}

BOOST_AUTO_TEST_CASE(fails_only_the_chunk_that_contradicts_the_header) {
  BlpFile file = simple_blp(pattern(60, 1), 20);
  file.chunks[1] = make_blosc1_chunk(pattern(19, 1));
  const auto snapshot = open_blp(file.build());
  BOOST_TEST(snapshot->info().nbytes == 60);
  open_chunk(*snapshot, 0);
  BOOST_CHECK_EXCEPTION(open_chunk(*snapshot, 1), codec::Error, is_malformed);
  open_chunk(*snapshot, 2);
}

BOOST_AUTO_TEST_CASE(fails_only_the_chunk_with_an_offset_outside_the_chunks) {
  BlpFile file = simple_blp(pattern(60, 1), 20);
  const Buffer good = file.build();
  for (const std::int64_t offset :
       {std::int64_t{-2}, std::int64_t{0}, std::int64_t{79}, std::int64_t{1} << 62,
        static_cast<std::int64_t>(good.size()) - 19}) {
    Buffer bytes = good;
    for (std::size_t i = 0; i < 8; ++i)
      bytes[40 + i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(offset) >> (8 * i));
    const auto snapshot = open_blp(bytes);
    open_chunk(*snapshot, 0);
    BOOST_CHECK_EXCEPTION(open_chunk(*snapshot, 1), codec::Error, is_malformed);
    open_chunk(*snapshot, 2);
  }
}

BOOST_AUTO_TEST_CASE(walks_over_gaps_in_the_offset_table) {
  const Buffer content = pattern(6000, 2);
  BlpFile file = simple_blp(content, 1);
  for (std::int64_t chunk = 1; chunk < 5999; ++chunk) {
    if (chunk % 5 != 0 || (chunk > 2000 && chunk < 4500)) file.unknown_offsets.push_back(chunk);
  }
  const auto snapshot = open_blp(file.build());
  BOOST_TEST(!snapshot->needs_chunk_map());
  for (std::int64_t first = 0; first < 6000; first += 2048) {
    const auto page = page_with(*snapshot, first, nullptr);
    for (std::int64_t i = first; i < first + page->chunk_count(); ++i) {
      BOOST_REQUIRE_EQUAL(page->place(i).stored_offset,
                          file.position(0) + static_cast<std::size_t>(i) * (17 + 4));
    }
  }
}

BOOST_AUTO_TEST_CASE(walks_when_an_end_of_the_offset_table_is_unknown) {
  const Buffer content = pattern(100, 2);
  for (const std::int64_t unknown : {0, 4}) {
    BlpFile file = simple_blp(content, 20);
    file.unknown_offsets = {unknown};
    const auto snapshot = open_blp(file.build());
    BOOST_TEST(snapshot->needs_chunk_map());
    BOOST_TEST(read_contents(*snapshot) == content);
  }
}

BOOST_AUTO_TEST_CASE(finds_all_chunks_before_one_that_cannot_be_stepped_over) {
  BlpFile file = simple_blp(pattern(400, 2), 1);
  file.offsets = false;
  Buffer bytes = file.build();
  bytes[file.position(150) + 15] = 0x7f;  // cbytes reaches past the end of the file
  const auto snapshot = open_blp(bytes);
  codec::BlockDecoder decoder;
  const auto map = snapshot->read_chunk_map(1 << 20, decoder);
  open_chunk(*snapshot, 0, map.get());
  open_chunk(*snapshot, 149, map.get());
  BOOST_CHECK_EXCEPTION(open_chunk(*snapshot, 150, map.get()), codec::Error, is_malformed);
  BOOST_CHECK_EXCEPTION(open_chunk(*snapshot, 399, map.get()), codec::Error, is_malformed);
}

BOOST_AUTO_TEST_CASE(fills_gaps_behind_a_gap_that_cannot_be_walked) {
  BlpFile file = simple_blp(pattern(200, 2), 20);
  file.unknown_offsets = {2, 3, 7};
  Buffer bytes = file.build();
  bytes[file.position(2) + 12] = 0;  // stored size below that of a header
  const auto snapshot = open_blp(bytes);
  BOOST_CHECK_THROW(open_chunk(*snapshot, 2), codec::Error);
  BOOST_CHECK_EXCEPTION(open_chunk(*snapshot, 3), codec::Error, is_malformed);
  for (const int chunk : {0, 1, 4, 7, 9}) open_chunk(*snapshot, chunk);
}

BOOST_AUTO_TEST_CASE(keeps_the_chunk_map_within_its_memory) {
  constexpr std::int64_t kChunks = 20000;
  const Buffer content = pattern(kChunks, 2);
  for (const bool sizes_known : {true, false}) {
    BlpFile file = simple_blp(content, 1);
    file.offsets = false;
    if (!sizes_known) file.chunk_size = file.last_chunk = -1;
    const auto snapshot = open_blp(file.build());
    codec::BlockDecoder decoder;
    const auto map = snapshot->read_chunk_map(1100, decoder);
    BOOST_TEST(map->memory() < 1400u);
    for (std::int64_t chunk = 0; chunk < kChunks; chunk += 333) {
      const auto page = page_with(*snapshot, chunk, map.get());
      BOOST_TEST(static_cast<std::int64_t>(page->memory()) <=
                 snapshot->page_memory(snapshot->page_of_chunk(chunk, map.get()), map.get()));
      BOOST_TEST(page->place(chunk).stored_offset ==
                 file.position(0) + static_cast<std::size_t>(chunk) * 21);
      BOOST_TEST(page->place(chunk).content_offset == chunk);
      BOOST_TEST(page->place(chunk).nbytes == 1);
      BOOST_TEST(snapshot->page_at(chunk, map.get()) == snapshot->page_of_chunk(chunk, map.get()));
      BOOST_TEST(page->chunk_at(chunk) == chunk);
    }
    BOOST_CHECK_EXCEPTION(
        snapshot->read_chunk_map(1000, decoder), codec::Error,
        [](const codec::Error& e) { return e.code() == codec::FormatErrc::too_large; });
  }
}

BOOST_AUTO_TEST_CASE(describes_numpy_arrays) {
  const auto snapshot = open_blp(with_metadata(kMatrix).build());
  const ArrayInfo& array = snapshot->info().array.value();
  BOOST_TEST(array.shape == (std::vector<std::int64_t>{3, 4}));
  BOOST_TEST(array.dtype.value() == "<f4");
  BOOST_TEST(array.fortran_order);
  BOOST_TEST(snapshot->info().typesize == 4);
  BOOST_TEST(snapshot->metalayers().empty());
}

BOOST_AUTO_TEST_CASE(takes_old_and_new_spellings_of_dtypes) {
  const std::string rest = R"(,"shape":[],"order":"C","container":"numpy"})";
  BOOST_TEST(dtype_of(R"({"dtype":"'<f8'")" + rest) == "<f8");
  BOOST_TEST(dtype_of(R"({"dtype":"<f8")" + rest) == "<f8");
  BOOST_TEST(dtype_of(R"({"dtype":"[('a', '<i4'), ('b', '<f8', (2,))]")" + rest) ==
             "[('a', '<i4'), ('b', '<f8', (2,))]");
  BOOST_TEST(dtype_of(R"({"dtype":[["a","<i4"],["b","<f8",[2,3]]])" + rest) ==
             "[('a', '<i4'), ('b', '<f8', (2, 3))]");
  BOOST_TEST(dtype_of(R"({"dtype":[["n",[["q","<i2"],["r","|u1",[2]]],[4]]])" + rest) ==
             "[('n', [('q', '<i2'), ('r', '|u1', (2,))], (4,))]");
  BOOST_TEST(dtype_of(R"({"dtype":[[["t","a"],"<i4"]])" + rest) == "[(('t', 'a'), '<i4')]");
}

BOOST_AUTO_TEST_CASE(has_no_array_where_metadata_are_something_else) {
  for (const char* text : {"{}", "[1,2]", "null", "7", R"({"container":"other","shape":-1})",
                           R"({"shape":[3],"dtype":"'<f8'","order":"C"})"})
    BOOST_TEST(!open_blp(with_metadata(text).build())->info().array.has_value());
}

BOOST_AUTO_TEST_CASE(refuses_array_metadata_that_make_no_sense) {
  const char* const texts[] = {
      R"({"dtype":5,"shape":[3],"order":"C","container":"numpy"})",
      R"({"shape":[3],"order":"C","container":"numpy"})",
      R"({"dtype":"'<f8'","shape":[-1],"order":"C","container":"numpy"})",
      R"({"dtype":"'<f8'","shape":[18446744073709551615],"order":"C","container":"numpy"})",
      R"({"dtype":"'<f8'","shape":[1.5],"order":"C","container":"numpy"})",
      R"({"dtype":"'<f8'","shape":3,"order":"C","container":"numpy"})",
      R"({"dtype":"'<f8'","shape":[3],"order":"K","container":"numpy"})",
      R"({"dtype":"'<f8'","shape":[3],"container":"numpy"})",
  };
  for (const char* text : texts) BOOST_TEST_CONTEXT(text) check_refused(with_metadata(text));
}

BOOST_AUTO_TEST_CASE(refuses_metadata_that_are_no_json) {
  for (const char* text : {"", "{", "{}x", "{\"a\":}", "\"\xff\""})
    BOOST_TEST_CONTEXT(text) check_refused(with_metadata(text));
  check_refused(with_metadata(std::string(100, '[') + std::string(100, ']')));
}

BOOST_AUTO_TEST_CASE(long_lists_in_metadata_cost_little) {
  const auto list = [](const std::string& item, int count) {
    std::string text = "[" + item;
    for (int i = 1; i < count; ++i) text += "," + item;
    return text + "]";
  };
  const std::clock_t begin = std::clock();
  for (const char* item : {"[]", "{}", "1", "\"\"", "null"}) {
    const std::string rest = R"(,"order":"C","container":"numpy"})";
    check_refused(with_metadata(R"({"dtype":"|u1","shape":)" + list(item, 20'000) + rest));
    check_refused(with_metadata(R"({"shape":[3],"dtype":)" + list(item, 25'000) + rest));
    const auto long_ones = with_metadata(R"({"shape":[3],"dtype":)" + list(item, 100'000) + rest);
    BOOST_TEST(!open_blp(long_ones.build())->info().array.has_value());
  }
  BOOST_TEST(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 3);
}

BOOST_AUTO_TEST_CASE(last_of_equal_keys_counts) {
  const std::string text = R"({"container":"numpy","dtype":5,"dtype":"|u1","shape":{"shape":7},)"
                           R"("order":"X","order":"F","shape":[3]})";
  const auto array = open_blp(with_metadata(text).build())->info().array.value();
  BOOST_TEST(array.dtype.value() == "|u1");
  BOOST_TEST(array.shape == std::vector<std::int64_t>{3});
  BOOST_TEST(array.fortran_order);
}

BOOST_AUTO_TEST_CASE(refuses_absurdly_long_stored_metadata) {
  BlpFile file = with_metadata(kMatrix);
  file.metadata[0].preallocated = 65 << 20;
  Buffer bytes = file.build();
  const std::size_t comp_size_at = 32 + 8 + 4 + 4 + 4;
  const std::uint32_t comp_size = (64 << 20) + 1;
  for (std::size_t i = 0; i < 4; ++i)
    bytes[comp_size_at + i] = static_cast<std::uint8_t>(comp_size >> (8 * i));
  BOOST_CHECK_EXCEPTION(open_blp(bytes), codec::Error, [](const codec::Error& error) {
    return std::string(error.what()).find("stored ones") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(reads_compressed_metadata) {
  BlpFile file = with_metadata(kMatrix);
  file.metadata[0].zlib = true;
  file.metadata[0].checksum = DigestKind::sha384;
  BOOST_TEST(open_blp(file.build())->info().array.has_value());
  file.metadata[0].magic = "JSON    ";
  BOOST_TEST(open_blp(file.build())->info().array.has_value());
}

BOOST_AUTO_TEST_CASE(refuses_metadata_that_are_damaged) {
  for (const bool zlib : {false, true}) {
    BlpFile file = with_metadata(kMatrix);
    file.metadata[0].zlib = zlib;
    for (const int size : {0, 1, 65, 67, 1 << 20, 1 << 30}) {
      if (size == static_cast<int>(file.metadata[0].text.size())) continue;
      BlpFile other = file;
      other.metadata[0].claimed_size = size;
      check_refused(other);
    }
    file.metadata[0].magic = "NOTJSON!";
    check_refused(file);
  }
  const Buffer bytes = with_metadata(kMatrix).build();
  for (const std::size_t at : {41u, 42u, 51u, 55u, 64u, 80u}) {
    Buffer damaged = bytes;
    damaged[at] ^= 0x7f;
    BOOST_TEST_CONTEXT("byte " << at)
    BOOST_CHECK_EXCEPTION(open_blp(damaged), codec::Error, is_malformed);
  }
}

BOOST_AUTO_TEST_CASE(opens_files_with_metadata_too_long_to_describe_an_array) {
  BlpFile file = with_metadata("\"" + std::string(3 << 20, 'x') + "\"");
  file.metadata[0].zlib = true;
  const auto snapshot = open_blp(file.build());
  BOOST_TEST(!snapshot->info().array.has_value());
  BOOST_TEST(snapshot->info().nbytes == 48);
  file.metadata[0].claimed_size = (3 << 20) + 1;
  check_refused(file);
}

BOOST_AUTO_TEST_CASE(notices_changes_of_the_file) {
  std::shared_ptr<MemorySource> source;
  const auto snapshot = open_blp(simple_blp(pattern(48, 1), 20).build(), &source);
  BOOST_TEST(snapshot->unchanged());
  source->file_stamp.mtime_ns++;
  BOOST_TEST(!snapshot->unchanged());
}

BOOST_AUTO_TEST_SUITE_END()
