#include "fs/view/attributes.hpp"

#include <algorithm>
#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "fs/mount/extended_attributes.hpp"
#include "tests/frame/blp_builder.hpp"
#include "tests/frame/frame_builder.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;
using namespace bloscfs::frame::test;

namespace {

/// A snapshot of a header only, without a frame.
class HeaderOnly final : public frame::Snapshot {
 public:
  explicit HeaderOnly(frame::FrameInfo info) : Snapshot(std::move(info), nullptr, {}) {}

  bool unchanged() const override { return true; }
  bool needs_chunk_map() const override { return false; }
  std::unique_ptr<const frame::ChunkMap> read_chunk_map(std::size_t,
                                                        codec::BlockDecoder&) const override {
    return nullptr;
  }
  std::int64_t page_of_chunk(std::int64_t, const frame::ChunkMap*) const override { return 0; }
  std::int64_t page_at(std::int64_t, const frame::ChunkMap*) const override { return 0; }
  std::int64_t page_memory(std::int64_t, const frame::ChunkMap*) const override { return 0; }
  std::unique_ptr<const frame::IndexPage> read_page(std::int64_t, const frame::ChunkMap*,
                                                    codec::BlockDecoder&) const override {
    return nullptr;
  }
  frame::OpenedChunk open_chunk(const frame::ChunkPlace&, std::size_t) const override {
    throw std::logic_error("no chunks");
  }
  void read_stored(const frame::OpenedChunk&, const codec::ByteRange&,
                   frame::MutableBytes) const override {}
};

std::string value_of(const frame::Snapshot& snapshot, const std::string& name) {
  const std::string attribute = "user.blosc2." + name;
  const auto layer = layer_of(attribute);
  if (!layer) return computed_value(snapshot.info(), attribute).value_or("absent");
  codec::BlockDecoder decoder;
  const auto value = read_layer(snapshot, *layer, decoder);
  return value ? std::string(value->begin(), value->end()) : "absent";
}

std::vector<std::string> listed_names(const frame::Snapshot& snapshot) {
  codec::BlockDecoder decoder;
  const FrameAttributes found = look_at_attributes(snapshot, decoder);
  return list_attributes(&found, {});
}

bool is_listed(const frame::Snapshot& snapshot, const std::string& name) {
  const std::vector<std::string> names = listed_names(snapshot);
  return std::find(names.begin(), names.end(), "user.blosc2." + name) != names.end();
}

void check_value(const frame::Snapshot& snapshot, const char* name, const char* expected) {
  BOOST_TEST_CONTEXT(name) {
    BOOST_TEST(value_of(snapshot, name) == expected);
    BOOST_TEST(!is_listed(snapshot, name));
  }
}

void check_absent(const frame::Snapshot& snapshot, const std::string& name) {
  BOOST_TEST_CONTEXT(name) {
    BOOST_TEST(value_of(snapshot, name) == "absent");
    BOOST_TEST(!is_listed(snapshot, name));
  }
}

void check_too_big(const frame::Snapshot& snapshot, const std::string& name) {
  BOOST_TEST(!is_listed(snapshot, name));
  BOOST_CHECK_EXCEPTION(value_of(snapshot, name), std::system_error, [](const auto& e) {
    return e.code() == std::error_code(E2BIG, std::generic_category());
  });
}

frame::FrameInfo array_info() {
  frame::FrameInfo info;
  info.codec = codec::CodecId::lz4hc;
  info.clevel = 7;
  info.typesize = 4;
  info.chunksize = 4096;
  info.blocksize = 1024;
  info.nbytes = 123456;
  info.cbytes = 789;
  info.nchunks = 31;
  info.filters[1] = {codec::FilterId::trunc_prec, 10};
  info.filters[5] = {codec::FilterId::shuffle, 0};
  info.array.emplace();
  info.array->shape = {5, 7, 0};
  info.array->chunkshape = {4, 4, 1};
  info.array->blockshape = {2, 2, 1};
  info.array->dtype = "<f4";
  return info;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(attributes)

BOOST_AUTO_TEST_CASE(shows_what_the_header_says) {
  const HeaderOnly snapshot(array_info());
  check_value(snapshot, "codec", "lz4hc");
  check_value(snapshot, "clevel", "7");
  check_value(snapshot, "filters", "trunc_prec:10,shuffle");
  check_value(snapshot, "typesize", "4");
  check_value(snapshot, "chunksize", "4096");
  check_value(snapshot, "blocksize", "1024");
  check_value(snapshot, "nbytes", "123456");
  check_value(snapshot, "cbytes", "789");
  check_value(snapshot, "nchunks", "31");
  check_value(snapshot, "shape", "5,7,0");
  check_value(snapshot, "chunkshape", "4,4,1");
  check_value(snapshot, "blockshape", "2,2,1");
  check_value(snapshot, "dtype", "<f4");
  BOOST_TEST(listed_names(snapshot).empty());
  check_absent(snapshot, "nothing");
  check_absent(snapshot, "meta.nothing");
  check_absent(snapshot, "");
}

BOOST_AUTO_TEST_CASE(leaves_out_what_does_not_apply) {
  frame::FrameInfo info = array_info();
  info.array.reset();
  info.filters = {};
  info.chunksize = -1;
  const HeaderOnly snapshot(info);
  check_value(snapshot, "filters", "");
  for (const char* name : {"chunksize", "shape", "chunkshape", "blockshape", "dtype"})
    check_absent(snapshot, name);
}

BOOST_AUTO_TEST_CASE(shows_an_array_without_dimensions) {
  frame::FrameInfo info = array_info();
  info.array->shape.clear();
  info.array->chunkshape.clear();
  info.array->blockshape.clear();
  const HeaderOnly snapshot(info);
  for (const char* name : {"shape", "chunkshape", "blockshape"}) check_value(snapshot, name, "");
}

BOOST_AUTO_TEST_CASE(shows_only_what_a_bloscpack_header_knows) {
  BlpFile file = simple_blp(pattern(48, 1), 20);
  file.metadata.push_back({R"({"dtype":"'<f4'","shape":[12],"order":"C","container":"numpy"})"});
  const auto snapshot = open_blp(file.build());
  check_value(*snapshot, "typesize", "4");
  check_value(*snapshot, "chunksize", "20");
  check_value(*snapshot, "nbytes", "48");
  check_value(*snapshot, "cbytes", "96");
  check_value(*snapshot, "nchunks", "3");
  check_value(*snapshot, "shape", "12");
  check_value(*snapshot, "dtype", "<f4");
  BOOST_TEST(listed_names(*snapshot).empty());
  check_absent(*snapshot, "codec");
  check_absent(*snapshot, "clevel");
  file.chunk_size = -1;
  check_absent(*open_blp(file.build()), "chunksize");
}

BOOST_AUTO_TEST_CASE(keeps_values_on_one_line_of_ascii) {
  frame::FrameInfo info = array_info();
  for (const char* dtype : {"a\nb", "[('\xc3\xa9', '<f4')]"}) {
    info.array->dtype = dtype;
    check_absent(HeaderOnly(info), "dtype");
  }
}

BOOST_AUTO_TEST_CASE(gives_metalayers_byte_for_byte) {
  FrameBuilder builder = simple_frame(pattern(100, 1), 40, 20);
  builder.metalayers.emplace_back("one", Buffer{0, 1, 255});
  builder.vlmetalayers.emplace_back("two", make_memcpy_chunk(Buffer{9, 0, 8}, 1));
  const auto snapshot = open_bytes(builder.build());
  BOOST_TEST(value_of(*snapshot, "meta.one") == std::string("\0\1\xff", 3));
  BOOST_TEST(value_of(*snapshot, "vlmeta.two") == std::string("\t\0\b", 3));
  BOOST_TEST(is_listed(*snapshot, "meta.one"));
  BOOST_TEST(is_listed(*snapshot, "vlmeta.two"));
  check_absent(*snapshot, "meta.two");
  check_absent(*snapshot, "vlmeta.one");
}

BOOST_AUTO_TEST_CASE(gives_contents_up_to_64_kib_only) {
  FrameBuilder builder = simple_frame(pattern(100, 1), 40, 20);
  builder.vlmetalayers.emplace_back("fits", make_memcpy_chunk(pattern(65536, 1), 1));
  builder.vlmetalayers.emplace_back("not", make_memcpy_chunk(pattern(65537, 1), 1));
  builder.metalayers.emplace_back("fits", pattern(65536, 1));
  builder.metalayers.emplace_back("not", pattern(65537, 1));
  const auto snapshot = open_bytes(builder.build());
  for (const char* name : {"meta.fits", "vlmeta.fits"}) {
    BOOST_TEST(is_listed(*snapshot, name));
    BOOST_TEST(value_of(*snapshot, name).size() == 65536u);
  }
  for (const char* name : {"meta.not", "vlmeta.not"}) check_too_big(*snapshot, name);
}

BOOST_AUTO_TEST_CASE(lists_damaged_vlmetalayers_and_fails_to_read_them) {
  FrameBuilder builder = simple_frame(pattern(100, 1), 40, 20);
  Buffer chunk = make_memcpy_chunk(pattern(50, 1), 1);
  chunk[12] ^= 1;
  builder.vlmetalayers.emplace_back("bad", chunk);
  const auto snapshot = open_bytes(builder.build());
  BOOST_TEST(is_listed(*snapshot, "vlmeta.bad"));
  BOOST_CHECK_EXCEPTION(value_of(*snapshot, "vlmeta.bad"), codec::Error,
                        [](const auto& e) { return e.code() == codec::FormatErrc::malformed; });
}

BOOST_AUTO_TEST_CASE(lists_no_names_that_attributes_cannot_have) {
  FrameAttributes found;
  for (const std::string& name : {std::string(), std::string(238, 'x'), std::string(239, 'x')})
    found.layers.push_back({{LayerKind::fixed, name}, false, nullptr});
  BOOST_TEST(list_attributes(&found, {}) ==
                 std::vector<std::string>{"user.blosc2.meta." + std::string(238, 'x')},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(lists_what_another_file_may_have_as_well) {
  FrameBuilder builder = simple_frame(pattern(100, 1), 40, 20);
  const Buffer content = make_memcpy_chunk(pattern(8, 1), 1);
  builder.metalayers = {{"b2o", {1}}, {"mine", {2}}};
  builder.vlmetalayers = {
      {"bloscfs.xxh3", content}, {"blosc2_indexes", content}, {"note", content}};
  const auto snapshot = open_bytes(builder.build());
  BOOST_TEST(listed_names(*snapshot) ==
                 (std::vector<std::string>{"user.blosc2.meta.mine", "user.blosc2.vlmeta.note"}),
             boost::test_tools::per_element());
  BOOST_TEST(value_of(*snapshot, "meta.b2o") == "\1");
  BOOST_TEST(value_of(*snapshot, "vlmeta.blosc2_indexes").size() == 8u);
}

BOOST_AUTO_TEST_CASE(a_look_keeps_contents_within_its_bound) {
  FrameBuilder builder = simple_frame(pattern(100, 1), 40, 20);
  for (const char* name : {"a", "b", "c"})
    builder.vlmetalayers.emplace_back(name, make_memcpy_chunk(pattern(60000, 1), 1));
  const auto snapshot = open_bytes(builder.build());
  codec::BlockDecoder decoder;
  const FrameAttributes found = look_at_attributes(*snapshot, decoder);
  BOOST_TEST(list_attributes(&found, {}).size() == 3u);
  BOOST_TEST(found.memory() < 140'000u);
  BOOST_TEST((found.find({LayerKind::variable, "b"})->content != nullptr));
  BOOST_TEST((found.find({LayerKind::variable, "c"})->content == nullptr));
}

BOOST_AUTO_TEST_CASE(a_header_tells_that_there_is_nothing_to_list) {
  FrameBuilder builder = simple_frame(pattern(100, 1), 40, 20);
  BOOST_TEST(!has_listed_metalayers(*open_bytes(builder.build())));
  builder.metalayers = {{"b2o", {1}}};
  BOOST_TEST(!has_listed_metalayers(*open_bytes(builder.build())));
  builder.metalayers = {{"mine", {1}}};
  BOOST_TEST(has_listed_metalayers(*open_bytes(builder.build())));
  builder.metalayers.clear();
  builder.vlmetalayers.emplace_back("note", make_memcpy_chunk(pattern(8, 1), 1));
  BOOST_TEST(has_listed_metalayers(*open_bytes(builder.build())));
}

BOOST_AUTO_TEST_CASE(the_cache_of_attributes_forgets_what_was_used_longest_ago) {
  MemoryBudget budget(std::size_t{1} << 20, [] { return false; });
  AttributeCache cache(budget);  // allows it 64 KiB
  const auto key = [](std::uint64_t number) { return AttributeKey{{}, number}; };
  const auto found = [](std::size_t size) {
    FrameAttributes attributes;
    attributes.layers.push_back(
        {{LayerKind::fixed, "a"}, false, std::make_shared<const std::vector<std::uint8_t>>(size)});
    return std::make_shared<const FrameAttributes>(std::move(attributes));
  };
  for (const std::uint64_t number : {1U, 2U, 3U}) cache.remember(key(number), found(18000));
  BOOST_TEST((cache.find(key(1)) != nullptr));
  cache.remember(key(4), found(18000));
  BOOST_TEST((cache.find(key(1)) != nullptr));
  BOOST_TEST((cache.find(key(2)) == nullptr));
  cache.remember(key(5), found(65536));
  BOOST_TEST((cache.find(key(5)) == nullptr));
  BOOST_TEST((cache.find(key(4)) != nullptr));
  BOOST_TEST(budget.used() > 3 * 18000);
  BOOST_TEST(budget.used() <= budget.capacity() / 16);
}

BOOST_AUTO_TEST_SUITE_END()
