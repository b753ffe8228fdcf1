// Which libraries the loader gives to a program, and so how soon it begins.

#include <filesystem>
#include <string>

#include <boost/test/unit_test.hpp>
#include <hwy/base.h>

#include "tests/support/mount.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/tools/program.hpp"

namespace bloscfs::test {
namespace {

/// What `program` loads when it does as `arguments` say, as the loader tells it.
std::string loaded_by(const std::string& program, const Arguments& arguments) {
  const ProcessResult result = run(Arguments{"env", "LD_DEBUG=files", program} + arguments);
  BOOST_TEST(result.err.find("calling init: ") != std::string::npos, result.description());
  return result.err;
}

bool has(const std::string& loaded, const std::string& library) {
  return loaded.find("/" + library + ".so") != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(loading)

BOOST_AUTO_TEST_CASE(what_is_needed_seldom_is_not_loaded) {
  const std::string frame = BLOSCFS_TEST_SOURCE_ROOT "/tests/data/samples/counts.b2frame";
  for (const std::string& loaded :
       {loaded_by(b2frame_program(), {"--version"}), loaded_by(b2frame_program(), {"info", frame}),
        loaded_by(bloscfs_program(), {"--version"})}) {
    BOOST_TEST(has(loaded, "libc"));
    for (const char* library : {"libcrypto", "libcurl", "libdeflate", "libgomp", "libminizip",
                                "libpng16", "libsnappy", "libspdlog", "libxml2", "libzfp"})
      BOOST_TEST(!has(loaded, library), library);
    // Highway's own checks, where it makes some, need its library.
    if (!HWY_IS_DEBUG_BUILD) BOOST_TEST(!has(loaded, "libhwy"));
  }
}

BOOST_AUTO_TEST_CASE(what_has_a_url_loads_them) {
  const std::string loaded =
      loaded_by(b2frame_program(), {"info", "--retry-time", "0", "http://localhost:1/x.b2nd"});
  BOOST_TEST(has(loaded, "libcurl"));
}

BOOST_AUTO_TEST_CASE(a_library_that_cannot_be_loaded_is_named) {
  const TempDir libraries;
  write_file(libraries / "libcurl.so.4", "");
  const ProcessResult result = run({"env", "LD_LIBRARY_PATH=" + libraries.path().string(),
                                    b2frame_program(), "info", "http://localhost:1/x.b2nd"});
  BOOST_TEST(result.status == 1, result.description());
  BOOST_TEST(result.err.find("libcurl.so.4") != std::string::npos, result.description());
}

BOOST_AUTO_TEST_CASE(a_codec_whose_library_cannot_be_loaded_is_no_damage) {
  const TempDir directory;
  write_file(directory / "libsnappy.so.1", "");
  const Arguments where = {"env", "LD_LIBRARY_PATH=" + directory.path().string(),
                           b2frame_program()};
  const std::string frame = BLOSCFS_TEST_SOURCE_ROOT "/tests/data/samples/counts.b2frame";
  const std::string out = directory / "out";
  for (const Arguments& command :
       {Arguments{"verify", frame}, {"repair", frame, "-o", out}, {"report", frame, "-o", out}}) {
    const ProcessResult result = run(where + command);
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(result.out.empty(), result.description());
    BOOST_TEST(result.err.find("libsnappy.so.1") != std::string::npos, result.description());
    BOOST_TEST(!std::filesystem::exists(out));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
