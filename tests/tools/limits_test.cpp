// Limits of every subcommand: it ends within a second of SIGINT, leaves no temporary behind, and
// uses at most 256 MiB and the memory that one block needs, whatever a file claims.

#include <csignal>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/header/object_list.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/tools/hostile_frames.hpp"
#include "tests/tools/program.hpp"

namespace bloscfs::test {
namespace {

constexpr std::int64_t kMemory = std::int64_t{256} << 20;
/// The test sends SIGINT after kUndisturbed. The program must end within kEnd: more than the
/// promised second, since other programs may be running.
constexpr Seconds kUndisturbed{0.5}, kEnd{10};

/// A directory in which a subcommand runs on a file.
class HostilePlace {
 public:
  explicit HostilePlace(const HostileFrame& frame) : name_(frame.name) {
    fs_std::create_directory(directory());
    write_file(file(), frame.bytes);
  }

  fs_std::path directory() const { return scratch_ / "d"; }
  std::string file() const { return directory() / name_; }
  std::string out(const std::string& name) const { return directory() / name; }

  ProcessResult run(Arguments arguments) const {
    arguments.insert(arguments.begin(), B2FRAME);
    Child child(arguments, scratch_ / "log");
    if (!child.wait(kUndisturbed)) {
      child.signal(SIGINT);
      BOOST_TEST(child.wait(kEnd));
      if (child.running()) child.signal(SIGKILL);
      child.wait(kEnd);
    }
    return child.result();
  }

  bool has_leftovers() const {
    for (const auto& entry : fs_std::recursive_directory_iterator(scratch_.path()))
      if (const std::string suffix = entry.path().extension();
          suffix == ".tmp" || suffix == ".bloscfs-lock")
        return true;
    return false;
  }

 private:
  const std::string name_;
  TempDir scratch_;
};

/// Returns every subcommand that reads a frame.
std::vector<Arguments> commands_for(const HostilePlace& place) {
  const std::string file = place.file();
  return {{"info", file},
          {"ls", file},
          {"verify", file},
          {"verify", "--repairable", file},
          {"verify", "-r", place.directory()},
          {"report", file, "-o", place.out("report.html")},
          {"advise", file},
          {"cat", file},
          {"cat", "--dtype", "<u4", file},
          {"extract", file, "-o", place.out("extracted")},
          {"extract", "-r", place.directory(), "-o", place.directory().string() + "-extracted"},
          {"diff", "--meta", file, file},
          {"create", file, "-o", place.out("created.b2frame")},
          {"convert", file, "-o", place.out("converted.b2frame")},
          {"convert", "--codec", "lz4", file, "-o", place.out("recoded.b2frame")},
          {"convert", "--chunk-size", "1M", "--sparse", file, "-o", place.out("recut.b2frame")},
          {"repair", file, "-o", place.out("repaired.b2frame")},
          {"set-meta", file, "note:=1"},
          {"compact", file}};
}

void check_limits(const ProcessResult& result, std::int64_t block_memory) {
  BOOST_TEST((result.signal == 0 || result.signal == SIGINT), result.description());
  if (!kSanitized) BOOST_TEST(std::int64_t{result.usage.ru_maxrss} * 1024 < kMemory + block_memory);
}

/// Never accepts a connection, so that clients wait.
class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(socket_.get(), 16) != 0 ||
        ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw_errno("listen");
    port_ = ntohs(address.sin_port);
  }
  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + path;
  }

 private:
  Fd socket_;
  std::uint16_t port_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(run_limits)

BOOST_AUTO_TEST_CASE(every_subcommand_keeps_them_for_a_frame_that_claims_too_much) {
  for (const HostileFrame& frame : hostile_frames()) {
    const std::size_t count = commands_for(HostilePlace(frame)).size();
    for (std::size_t i = 0; i < count; i++) {
      const HostilePlace place(frame);
      const Arguments command = commands_for(place)[i];
      BOOST_TEST_CONTEXT(frame.name << " " << command[0] << " " << command[1]) {
        check_limits(place.run(command), frame.block_memory);
        BOOST_TEST(!place.has_leftovers());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(many_files_share_the_memory) {
  const HostileFrame frame = hostile_frame("many_blocks.b2frame");
  const HostilePlace place(frame);
  for (int i = 0; i < 20; i++) write_file(place.out("f" + std::to_string(i)), frame.bytes);
  const std::string directory = place.directory();
  for (const Arguments& command :
       {Arguments{"verify", "-r", directory}, Arguments{"info", "-r", directory},
        Arguments{"extract", "-r", directory, "-o", directory + "-extracted"},
        Arguments{"verify", place.out("f1"), place.out("f2"), place.out("f3"), place.out("f4")}})
    BOOST_TEST_CONTEXT(command[0]) { check_limits(place.run(command), frame.block_memory); }
}

BOOST_AUTO_TEST_CASE(a_leaf_of_a_store_gets_no_more) {
  const HostileFrame frame = hostile_frame("large_blocks.b2frame");
  const HostilePlace place(frame);
  const std::string store = place.out("s.b2d");
  fs_std::copy(std::string(BLOSCFS_TEST_SOURCE_ROOT) + "/tests/data/stores/tree.b2d", store,
               fs_std::copy_options::recursive);
  write_file(store + "/grp/x.b2nd", frame.bytes);
  for (const Arguments& command :
       {Arguments{"info", store}, Arguments{"verify", store},
        Arguments{"report", store, "-o", place.out("r.html")}, Arguments{"cat", store + ":/grp/x"},
        Arguments{"advise", store + ":/grp/x"}, Arguments{"pack", store, place.out("s.b2z")}})
    BOOST_TEST_CONTEXT(command[0]) {
      check_limits(place.run(command), frame.block_memory);
      BOOST_TEST(!place.has_leftovers());
    }
}

BOOST_AUTO_TEST_CASE(lines_of_json_stay_within_the_memory) {
  // JSON writes each byte as six characters.
  ByteVector document(frame::kMaxDocument, 1);
  document[0] = 0xdb;  // MessagePack: a text, followed by its size
  for (std::size_t i = 0; i < 4; i++)
    document[1 + i] = static_cast<std::uint8_t>((document.size() - 5) >> (24 - 8 * i));
  Cut cut;
  cut.chunksize = cut.blocksize = document.size();
  cut.metalayers = {{"vlarray", bytes_of("\x81\xaaserializer\xa7msgpack")}};
  const HostilePlace place({"list.b2frame", flat_frame(document, cut)});
  const ProcessResult result = b2frame({"extract", "--json", place.file(), "-o", place.out("o")});
  BOOST_TEST(result.ok(), result.description());
  check_limits(result, 0);
  BOOST_TEST(fs_std::file_size(place.out("o")) == 6 * (document.size() - 5) + 3);
  document.resize(document.size() + 1);
  cut.chunksize = cut.blocksize = document.size();
  write_file(place.file(), flat_frame(document, cut));
  BOOST_TEST(b2frame({"cat", "--json", place.file()}).status == 1);
}

BOOST_AUTO_TEST_CASE(verify_goes_on_behind_a_file_that_claims_too_much) {
  const HostilePlace place(hostile_frame("chunks.b2frame"));
  write_file(place.out("a.b2frame"), flat_frame("sound"));
  write_file(place.out("z.b2frame"), flat_frame("sound, too"));
  const ProcessResult result =
      b2frame({"verify", "-r", "--json", "--limit", "8M", place.directory().string()});
  BOOST_TEST(result.status == 4, result.description());
  std::vector<std::string> statuses;
  for (std::size_t at = 0; at < result.out.size(); at = result.out.find('\n', at) + 1)
    statuses.push_back(
        nlohmann::json::parse(result.out.substr(at, result.out.find('\n', at) - at))["status"]);
  const std::vector<std::string> wanted{"ok", "too_large", "ok"};
  BOOST_TEST(statuses == wanted, boost::test_tools::per_element());
  const ProcessResult named = b2frame({"verify", "--limit", "8M", place.file()});
  BOOST_TEST(named.status == 4);
  BOOST_TEST(named.err.find("verified in part: all of it needs more than 8388608 bytes decoded") !=
                 std::string::npos,
             named.err);
  BOOST_TEST(b2frame({"verify", "--limit", "8M", place.out("a.b2frame")}).ok());
}

BOOST_AUTO_TEST_CASE(convert_asks_for_smaller_chunks_where_a_chunk_does_not_fit) {
  const HostilePlace place(hostile_frame("many_blocks.b2frame"));
  const ProcessResult result =
      b2frame({"convert", "--codec", "lz4", place.file(), "-o", place.out("recoded.b2frame")});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.err.find("give another --chunk-size") != std::string::npos, result.err);
}

BOOST_AUTO_TEST_CASE(an_interrupt_ends_the_wait_for_a_server) {
  const SilentServer server;
  const HostilePlace place(hostile_frame("zeros.b2frame"));
  for (const Arguments& command :
       {Arguments{"info", server.url("a.b2nd")}, Arguments{"verify", "-r", server.url("")},
        Arguments{"ls", server.url("")}, Arguments{"cat", server.url("a.b2nd")},
        Arguments{"diff", server.url("a.b2nd"), place.file()},
        Arguments{"report", server.url("a.b2nd"), "-o", place.out("r.html")}})
    BOOST_TEST_CONTEXT(command[0]) { BOOST_TEST(place.run(command).signal == SIGINT); }
}

BOOST_AUTO_TEST_CASE(an_interrupt_ends_the_wait_for_a_fifo) {
  const HostilePlace place(hostile_frame("zeros.b2frame"));
  const std::string fifo = place.out("fifo");
  BOOST_TEST_REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  BOOST_TEST(place.run({"create", fifo, "-o", place.out("created.b2frame")}).signal == SIGINT);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
