#include "fs/fuse/request_cells.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <linux/fuse.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/needs.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using fs::kCellSize;

constexpr std::size_t kHeaders = sizeof(fuse_in_header) + sizeof(fuse_write_in);
constexpr std::size_t kLargeWrite = kCellSize + kCellSize / 4;

/// Sends requests to itself, and reads them.
class Reader {
 public:
  Reader() {
    int ends[2];
    BOOST_REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    kernel = Fd(ends[0]);
    daemon = Fd(ends[1]);
  }

  /// Sends a request and reads it back. Returns true if it is complete, in the buffer or in cells.
  bool reads(std::uint32_t opcode, const ByteVector& body) {
    fuse_in_header header{};
    header.opcode = opcode;
    ByteVector request(kHeaders);
    std::memcpy(request.data(), &header, sizeof header);
    request.insert(request.end(), body.begin(), body.end());
    if (send(kernel.get(), request.data(), request.size(), 0) != std::ssize(request)) return false;
    ByteVector buffer(2 * fs::kRequestSize);
    if (cells.read(daemon.get(), buffer) != std::ssize(request)) return false;
    ByteVector got(buffer.begin(), buffer.begin() + kHeaders);
    for (const codec::Bytes cell : cells.written()) got.insert(got.end(), cell.begin(), cell.end());
    if (cells.written().empty())
      got.insert(got.end(), buffer.begin() + kHeaders,
                 buffer.begin() + static_cast<std::ptrdiff_t>(request.size()));
    return got == request;
  }

  fs::PagePool pages;
  fs::RequestCells cells{pages};
  Fd kernel, daemon;
};

/// Runs `holds` in its own process, which cannot get more memory. Returns its result.
bool holds_without_memory(const std::function<bool()>& holds) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{1, 1};
    _exit(setrlimit(RLIMIT_AS, &none) == 0 && holds() ? 0 : 1);
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(request_cells)

BOOST_AUTO_TEST_CASE(have_large_writes_after_the_first_one) {
  Reader reader;
  const ByteVector large = make_contents("noise", 1, kLargeWrite, 1);
  BOOST_TEST(reader.reads(FUSE_WRITE, large));
  BOOST_TEST(reader.cells.written().empty());
  BOOST_TEST(reader.reads(FUSE_WRITE, large));
  BOOST_REQUIRE(reader.cells.written().size() == 2U);
  BOOST_TEST(reader.cells.written()[0].size() == kCellSize);
  BOOST_TEST(reader.cells.written()[1].size() == kLargeWrite - kCellSize);
  // If the caller takes a cell, it keeps these bytes, and the next request gets another cell.
  const fs::PooledBuffer taken(std::move(reader.cells.written()[0]));
  BOOST_TEST(reader.reads(FUSE_WRITE, make_contents("noise", 1, kLargeWrite, 2)));
  BOOST_TEST(std::equal(taken.data(), taken.data() + kCellSize, large.begin()));
}

BOOST_AUTO_TEST_CASE(have_no_other_requests) {
  Reader reader;
  for (int i = 0; i < 2; i++)
    BOOST_TEST(reader.reads(FUSE_WRITE, make_contents("noise", 1, kLargeWrite, 1)));
  BOOST_TEST(!reader.cells.written().empty());
  BOOST_TEST(reader.reads(FUSE_SETXATTR, make_contents("noise", 1, kLargeWrite, 2)));
  BOOST_TEST(reader.cells.written().empty());
  BOOST_TEST(reader.reads(FUSE_WRITE, {}));
  BOOST_TEST(reader.cells.written().empty());
}

BOOST_AUTO_TEST_CASE(go_after_many_requests_without_a_large_write) {
  Reader reader;
  BOOST_TEST(reader.reads(FUSE_WRITE, make_contents("noise", 1, kLargeWrite, 1)));
  for (int i = 0; i < 64; i++) {
    BOOST_TEST(reader.reads(FUSE_WRITE, ByteVector(10, 1)));
    BOOST_TEST(reader.cells.written().size() == 1U);
  }
  BOOST_TEST(reader.reads(FUSE_WRITE, ByteVector(10, 1)));
  BOOST_TEST(reader.cells.written().empty());
}

BOOST_AUTO_TEST_CASE(are_left_out_where_there_is_no_memory, *precondition(needs_plain_build)) {
  Reader reader;
  const ByteVector large = make_contents("noise", 1, kLargeWrite, 1);
  BOOST_TEST(reader.reads(FUSE_WRITE, large));
  ByteVector request(kHeaders + 100), buffer(2 * fs::kRequestSize);
  fuse_in_header header{};
  header.opcode = FUSE_WRITE;
  std::memcpy(request.data(), &header, sizeof header);
  BOOST_REQUIRE(send(reader.kernel.get(), request.data(), request.size(), 0) > 0);
  BOOST_TEST(holds_without_memory([&] {
    return reader.cells.read(reader.daemon.get(), buffer) == std::ssize(request) &&
           reader.cells.written().empty() &&
           std::equal(request.begin(), request.end(), buffer.begin());
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
