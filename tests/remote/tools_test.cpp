// Tests b2frame and mounts with URLs of directories: sparse frames, folders and stores.

#include "tests/remote/mounted.hpp"
#include "tests/remote/nginx.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"

namespace {

using namespace bloscfs::test;
namespace utf = boost::unit_test;

void open_below(const fs_std::path& root) {
  fs_std::permissions(root, fs_std::perms(0755));
  for (const auto& entry : fs_std::recursive_directory_iterator(root))
    fs_std::permissions(entry.path(), fs_std::perms(entry.is_directory() ? 0755 : 0644));
}

/// Serves a sparse frame, and a folder of frames, one of which is damaged.
struct ToolsServer {
  ToolsServer() {
    write_sparse_frame(nginx.www() / "x.b2frame", contents);
    open_below(nginx.www() / "x.b2frame");
    fs_std::create_directories(nginx.www() / "folder" / "below");
    const fs_std::path folder = nginx.www() / "folder";
    write_sparse_frame(folder / "below" / "sparse.b2frame", contents);
    write_file(folder / "below" / "good.b2frame", flat_frame(contents));
    write_file(folder / "note.txt", std::string_view("no frame"));
    ByteVector bad = flat_frame(contents);
    // The damage is so long that it also hits headers of chunks.
    for (std::size_t at = bad.size() / 2; at < bad.size() / 2 + 70000; at++) bad[at] = 0xff;
    write_file(folder / "zbad.b2frame", bad);
    open_below(folder);
  }
  const ByteVector contents = make_contents("noise", 1, 300000, 1);
  Nginx nginx;
};

ToolsServer& tools_server() {
  static ToolsServer one;
  return one;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(remote_tools, *utf::precondition(needs_fuse_and_nginx))

BOOST_AUTO_TEST_CASE(a_sparse_frame_is_mounted_as_one_file) {
  Nginx& nginx = tools_server().nginx;
  nginx.forget_requests();
  Mount mount(nginx.url("x.b2frame"), impatient());
  const auto lines = nginx.wait_for_requests(2);
  BOOST_TEST(lines.size() <= 3U);
  BOOST_TEST(names_in(mount.path()) == std::vector<std::string>{"x"},
             boost::test_tools::per_element());
  BOOST_CHECK(cat(mount / "x") == text_of(tools_server().contents));
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(a_sparse_frame_is_read_by_its_url) {
  const std::string url = tools_server().nginx.url("x.b2frame");
  tools_server().nginx.forget_requests();
  for (const char* command : {"info", "verify"})
    BOOST_TEST(run({B2FRAME, command, url}).ok(), command);
  const ProcessResult printed = run({B2FRAME, "cat", url});
  BOOST_CHECK(printed.out == text_of(tools_server().contents));
  const ProcessResult missing = run({B2FRAME, "cat", tools_server().nginx.url("y.b2frame")});
  BOOST_TEST(missing.status != 0);
  BOOST_TEST(missing.err.find("404") != std::string::npos, missing.err);
}

BOOST_AUTO_TEST_CASE(verification_goes_through_directories_of_urls) {
  const std::string url = tools_server().nginx.url("folder/");
  const ProcessResult found = run({B2FRAME, "verify", "-r", "--json", url});
  BOOST_TEST(found.status == 1, found.description());
  for (const char* name : {"below/good.b2frame", "below/sparse.b2frame", "zbad.b2frame"}) {
    const std::size_t at = found.out.find(name);
    BOOST_TEST_REQUIRE(at != std::string::npos, found.out);
    const std::string line = found.out.substr(at, found.out.find('\n', at) - at);
    const bool is_good = line.find("\"ok\"") != std::string::npos;
    BOOST_TEST(is_good == (std::string(name) != "zbad.b2frame"), line);
  }
  BOOST_TEST(run({B2FRAME, "verify", "-r", tools_server().nginx.url("folder/below/")}).ok());
  const ProcessResult info = run({B2FRAME, "info", "-r", url});
  BOOST_TEST(info.out.find("below/sparse.b2frame") != std::string::npos, info.description());
}

BOOST_AUTO_TEST_CASE(tables_and_leaves_of_a_store_are_read_by_its_url) {
  const fs_std::path store = BLOSCFS_TEST_SOURCE_ROOT "/tests/data/tables/utf8.b2z";
  Nginx& nginx = tools_server().nginx;
  nginx.serve("t.b2z", read_file(store));
  nginx.serve("plain.b2z", flat_frame(tools_server().contents));
  const std::string url = nginx.url("t.b2z");
  const auto text = [](const std::string& name) {
    const ProcessResult printed = run({B2FRAME, "cat", name});
    BOOST_TEST(printed.ok(), printed.description());
    return printed.out;
  };
  const std::string csv = text(store);
  BOOST_CHECK(text(url) == csv);
  BOOST_CHECK(text(url + ":/") == csv);
  BOOST_CHECK(text(url + ":/[3:5]") == text(store.string() + "[3:5]"));
  BOOST_CHECK(text(url + ":/_valid_rows") == text(store.string() + ":/_valid_rows"));
  BOOST_CHECK(text(nginx.url("plain.b2z")) == text_of(tools_server().contents));
  const TempDir dir;
  BOOST_TEST(run({B2FRAME, "extract", url + ":/", "-o", dir / "t.csv"}).ok());
  BOOST_CHECK(text_of(read_file(dir / "t.csv")) == csv);
  BOOST_TEST(run({B2FRAME, "diff", url, store}).ok());
  const ProcessResult listed = run({B2FRAME, "ls", "--json", url + ":/_cols"});
  BOOST_TEST(listed.ok(), listed.description());
  BOOST_TEST(listed.out.find("/_cols/id\"") != std::string::npos, listed.out);
  BOOST_TEST(listed.out.find("_valid_rows") == std::string::npos, listed.out);
  for (const std::string& name : {url, url + ":/"}) {
    const ProcessResult info = run({B2FRAME, "info", "--json", name});
    BOOST_TEST(info.ok(), info.description());
    BOOST_TEST(info.out.find("\"rows\"") != std::string::npos, info.out);
  }
  for (const std::string& wrong : {url + ":/_cols", url + ":/none", nginx.url("plain.b2z:/")}) {
    const ProcessResult refused = run({B2FRAME, "cat", wrong});
    BOOST_TEST(refused.status == 1, refused.description());
    BOOST_TEST(refused.err.starts_with("b2frame: " + wrong + ": "), refused.err);
  }
}

BOOST_AUTO_TEST_CASE(bars_tell_bytes_a_second) {
  const std::string url = tools_server().nginx.url("rate.b2frame");
  tools_server().nginx.serve("rate.b2frame", flat_frame(make_contents("noise", 2, 4 << 20, 1)));
  const fs_std::path file = tools_server().nginx.www() / "rate.b2frame";
  for (const std::string& name : {file.string(), url}) {
    // The reader of the pipe starts late, so that b2frame has time to draw the bar.
    const std::string command =
        std::string(B2FRAME) + " cat '" + name + "' | (sleep 1; cat > /dev/null)";
    const ProcessResult shown = run({"script", "-qec", command, "/dev/null"});
    BOOST_TEST(shown.out.find("B/s") != std::string::npos, shown.out);
  }
}

BOOST_AUTO_TEST_SUITE_END()
