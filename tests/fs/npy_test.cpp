#include "fs/numpy/npy.hpp"

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"

using namespace bloscfs;
using namespace bloscfs::fs;

namespace {

using Shape = std::vector<std::int64_t>;
using Buffer = std::vector<std::uint8_t>;

std::string built(const std::string& descr, bool fortran_order, const Shape& shape) {
  const auto header = build_npy_header(descr, fortran_order, shape);
  return header ? std::string(header->begin(), header->end()) : "none";
}

std::string padded(const std::string& text, std::size_t size) {
  const auto low = static_cast<char>((size - 10) & 0xff);
  const auto high = static_cast<char>((size - 10) >> 8);
  std::string out = "\x93NUMPY" + std::string{1, 0, low, high} + text;
  out.resize(size - 1, ' ');
  return out + '\n';
}

Buffer with_dict(const std::string& dict, std::uint8_t version = 1) {
  Buffer out = {0x93, 'N', 'U', 'M', 'P', 'Y', version, 0};
  for (std::size_t i = 0; i < (version == 1 ? 2 : 4); ++i)
    out.push_back(static_cast<std::uint8_t>(dict.size() >> (8 * i)));
  out.insert(out.end(), dict.begin(), dict.end());
  return out;
}

bool is_malformed(const codec::Error& e) { return e.code() == codec::FormatErrc::malformed; }

frame::FrameInfo array_frame(const char* dtype, std::int32_t typesize, const Shape& shape) {
  frame::FrameInfo info;
  info.typesize = typesize;
  info.array.emplace();
  info.array->shape = shape;
  info.array->dtype = dtype;
  return info;
}

std::string view_of(const frame::FrameInfo& info) {
  const auto header = npy_view(info);
  return header ? std::string(header->begin(), header->end()) : "none";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(npy)

// The expected sizes and texts are from numpy.save() of NumPy 1.24.2.
BOOST_AUTO_TEST_CASE(builds_the_headers_of_numpy_save) {
  BOOST_TEST(built("'<f8'", false, {}) ==
             padded("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 128));
  BOOST_TEST(built("'<f8'", false, {3, 4}) ==
             padded("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }", 128));
  BOOST_TEST(built("'<f8'", true, {11, 7}) ==
             padded("{'descr': '<f8', 'fortran_order': True, 'shape': (11, 7), }", 128));
  BOOST_TEST(built("'<i4'", false, {1000000}) ==
             padded("{'descr': '<i4', 'fortran_order': False, 'shape': (1000000,), }", 128));
}

BOOST_AUTO_TEST_CASE(leaves_room_for_the_growing_dimension) {
  const auto size_of = [](std::size_t name, bool fortran_order, const Shape& shape) {
    return built("[('" + std::string(name, 'x') + "', '|i1')]", fortran_order, shape).size();
  };
  // NumPy adds 64 blanks to a header that already ends on the boundary.
  BOOST_TEST(size_of(31, false, {3}) == 128u);
  BOOST_TEST(size_of(32, false, {3}) == 192u);
  BOOST_TEST(size_of(32, false, {30}) == 192u);
  // "True" is one letter shorter than "False". NumPy reserves room for the growing dimension: the
  // last one in Fortran order, the first one otherwise.
  BOOST_TEST(size_of(29, false, {3, 20}) == 192u);
  BOOST_TEST(size_of(29, true, {3, 20}) == 128u);
}

BOOST_AUTO_TEST_CASE(builds_nothing_that_version_1_cannot_hold) {
  const auto with_name = [](const std::string& name) {
    return built("[('" + name + "', '|i1')]", false, {1});
  };
  BOOST_TEST(with_name(std::string(65439, 'x')).size() == 65536u);
  BOOST_TEST(with_name(std::string(65440, 'x')) == "none");
  BOOST_TEST(with_name("\xc3\xa9").find("[('\xe9', '|i1')]") != std::string::npos);
  BOOST_TEST(with_name("\xe6\x97\xa5") == "none");
}

BOOST_AUTO_TEST_CASE(says_fortran_order_only_where_it_differs_from_c_order) {
  BOOST_TEST(is_fortran_only({2, 3}));
  BOOST_TEST(is_fortran_only({2, 1, 3}));
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{1, 5, 1}, Shape{0, 5, 6}, Shape{5, 6, 0}})
    BOOST_TEST(!is_fortran_only(shape));
}

BOOST_AUTO_TEST_CASE(parses_what_it_built) {
  for (const char* descr : {"'<f8'", "[('a', '<i4'), ('\xc3\xa9', '|S3', (2,))]"}) {
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{2, 0, 3}, Shape{4, 5}}) {
      Buffer file = build_npy_header(descr, true, shape).value();
      file.push_back('x');
      const NpyHeader header = parse_npy_header(file);
      BOOST_TEST(header.dtype.descr == descr);
      BOOST_TEST(header.fortran_order);
      BOOST_TEST(header.shape == shape);
      BOOST_TEST(header.header_size == file.size() - 1);
      BOOST_TEST(header.nbytes == array_nbytes(shape, header.dtype.itemsize).value());
    }
  }
}

BOOST_AUTO_TEST_CASE(parses_versions_2_and_3) {
  const std::string dict =
      "{'shape': (2,), 'fortran_order': False, 'descr': [('\xc3\xa9', '<i4')], }\n";
  BOOST_TEST(parse_npy_header(with_dict(dict, 3)).dtype.descr == "[('\xc3\xa9', '<i4')]");
  BOOST_TEST(parse_npy_header(with_dict(dict, 2)).dtype.descr == "[('\xc3\x83\xc2\xa9', '<i4')]");
  BOOST_TEST(parse_npy_header(with_dict(dict, 2)).nbytes == 8);
}

BOOST_AUTO_TEST_CASE(refuses_damaged_headers) {
  const std::string dict = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }";
  const Buffer good = with_dict(dict);
  BOOST_TEST(parse_npy_header(good).nbytes == 16);
  for (std::size_t size = 0; size < good.size(); ++size)
    BOOST_CHECK_EXCEPTION(parse_npy_header(codec::Bytes(good).first(size)), codec::Error,
                          is_malformed);
  BOOST_CHECK_EXCEPTION(parse_npy_header(with_dict(dict, 4)), codec::Error, is_malformed);
  BOOST_CHECK_EXCEPTION(parse_npy_header(with_dict(dict, 0)), codec::Error, is_malformed);
  for (const char* text :
       {"{}", "[]", "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'x': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 2}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': [2]}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': ('2',)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<f8', 'x': False, 'shape': (2,)}",
        "{'x': '<f8', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), } x"})
    BOOST_TEST_CONTEXT(text)
  BOOST_CHECK_EXCEPTION(parse_npy_header(with_dict(text)), codec::Error, is_malformed);
}

BOOST_AUTO_TEST_CASE(says_that_objects_are_unsupported) {
  BOOST_CHECK_EXCEPTION(
      parse_npy_header(with_dict("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }")),
      codec::Error,
      [](const codec::Error& e) { return e.code() == codec::FormatErrc::unsupported; });
}

BOOST_AUTO_TEST_CASE(bounds_the_size_of_headers) {
  Buffer prefix = {0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0, 0, 2, 0};
  BOOST_TEST(npy_header_size(prefix).value() == (128u << 10) + 12);
  prefix[8] = 1;
  BOOST_TEST(!npy_header_size(prefix).has_value());
  BOOST_TEST(!npy_header_size(codec::Bytes(prefix).first(11)).has_value());
}

BOOST_AUTO_TEST_CASE(takes_nameless_fields_of_headers_for_gaps) {
  const std::string descr =
      "[('a', '<i4'), ('', '|V4'), (('title', 'b'), [('', '|V2'), ('c', '<i2')], (2,)), "
      "('', '|V4')]";
  const NpyHeader header = parse_npy_header(
      with_dict("{'descr': " + descr + ", 'fortran_order': False, 'shape': (2,), }"));
  BOOST_TEST(header.dtype.itemsize == 20);
  BOOST_TEST(header.dtype.descr == descr);
  BOOST_TEST(
      header.dtype.stored ==
      "{'names': ['a', 'b'], 'formats': ['<i4', ({'names': ['c'], 'formats': ['<i2'], "
      "'offsets': [2], 'itemsize': 4}, (2,))], 'offsets': [0, 8], 'titles': [None, 'title'], "
      "'itemsize': 20}");
  BOOST_TEST(parse_numpy_dtype(header.dtype.stored)->descr == descr);
  // In the dtype of a frame, NumPy makes up names for the nameless fields.
  BOOST_TEST(parse_numpy_dtype("[('', '|V4'), ('a', '<i4')]")->stored ==
             "[('f0', '|V4'), ('a', '<i4')]");
}

BOOST_AUTO_TEST_CASE(shows_arrays_whose_dtype_has_the_frames_item_size) {
  BOOST_TEST(view_of(array_frame("f8", 8, {3, 4})) == built("'<f8'", false, {3, 4}));
  BOOST_TEST(view_of(array_frame("<f8", 4, {3, 4})) == "none");
  BOOST_TEST(view_of(array_frame("my-own-type", 4, {20})) == "none");
  BOOST_TEST(view_of(array_frame("|O", 8, {20})) == "none");
  BOOST_TEST(view_of(array_frame("<f8", 8, Shape(32, 1))) != "none");
  BOOST_TEST(view_of(array_frame("<f8", 8, Shape(33, 1))) == "none");
  BOOST_TEST(view_of(array_frame("[('\xe6\x97\xa5', '<f8')]", 8, {3})) == "none");
  frame::FrameInfo info = array_frame("<f8", 8, {3});
  info.array->dtype.reset();
  BOOST_TEST(view_of(info) == "none");
  info.array.reset();
  BOOST_TEST(view_of(info) == "none");
}

BOOST_AUTO_TEST_CASE(shows_bloscpack_arrays_whose_contents_have_the_right_size) {
  frame::FrameInfo info = array_frame("<f8", 8, {3, 4});
  info.kind = frame::ContainerKind::bloscpack;
  info.array->in_order = true;
  info.nbytes = 96;
  BOOST_TEST(view_of(info) == built("'<f8'", false, {3, 4}));
  info.array->fortran_order = true;
  BOOST_TEST(view_of(info) == built("'<f8'", true, {3, 4}));
  info.array->shape = {12, 1};
  BOOST_TEST(view_of(info) == built("'<f8'", false, {12, 1}));
  info.nbytes = 95;
  BOOST_TEST(view_of(info) == "none");
  info.array->shape = {3, 0};
  info.nbytes = 0;
  info.typesize = 1;
  BOOST_TEST(view_of(info) == built("'<f8'", false, {3, 0}));
  info.array->dtype = "|S0";
  BOOST_TEST(view_of(info) == "none");
}

BOOST_AUTO_TEST_SUITE_END()
