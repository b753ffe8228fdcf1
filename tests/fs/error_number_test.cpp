#include "fs/support/error_number.hpp"

#include <cerrno>
#include <future>
#include <new>
#include <stdexcept>
#include <system_error>

#include <boost/test/unit_test.hpp>

#include "codec/error.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"
#include "fs/commit/commit_outcome.hpp"

namespace bloscfs::fs {
namespace {

/// Returns the error number that the kernel gets. A failed commit must record the same number.
int reported_errno(const std::exception& error) {
  const int number = errno_of(error);
  BOOST_TEST(failure_of(error).error == frame::errno_code(number));
  return number;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(error_number)

BOOST_AUTO_TEST_CASE(of_what_the_bytes_are) {
  using codec::FormatErrc;
  BOOST_TEST(reported_errno(codec::Error(FormatErrc::malformed, "bytes")) == EIO);
  BOOST_TEST(reported_errno(codec::Error(FormatErrc::unsupported, "bytes")) == EOPNOTSUPP);
  BOOST_TEST(reported_errno(codec::Error(FormatErrc::too_large, "bytes")) == EFBIG);
  BOOST_TEST(reported_errno(codec::Error(FormatErrc::unwritable, "bytes")) == EINVAL);
}

BOOST_AUTO_TEST_CASE(of_the_system) {
  for (const int number : {EACCES, EMFILE, ENOSPC, EIO, ESTALE})
    BOOST_TEST(reported_errno(std::system_error(frame::errno_code(number))) == number);
  BOOST_TEST(reported_errno(std::system_error(ENOTEMPTY, std::system_category())) == ENOTEMPTY);
  BOOST_TEST(reported_errno(std::bad_alloc()) == ENOMEM);
}

BOOST_AUTO_TEST_CASE(of_those_that_wait_for_others) {
  BOOST_TEST(reported_errno(frame::LockedByOthers("file")) == ETIMEDOUT);
  BOOST_TEST(reported_errno(RequestEnded(frame::errno_code(EINTR), "interrupted")) == EINTR);
}

/// An error without an errno is reported as EIO, never as success or as another error.
BOOST_AUTO_TEST_CASE(of_what_has_none) {
  BOOST_TEST(!known_errno(std::runtime_error("what")));
  BOOST_TEST(reported_errno(std::runtime_error("what")) == EIO);
  BOOST_TEST(reported_errno(std::system_error(std::error_code())) == EIO);
  const std::error_code other = std::make_error_code(std::future_errc::no_state);
  BOOST_TEST(reported_errno(std::system_error(other)) == EIO);
}

BOOST_AUTO_TEST_CASE(only_an_answer_is_a_refusal) {
  for (const int number : {EACCES, EPERM, ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EXDEV, ESTALE})
    BOOST_TEST(frame::is_refusal(frame::errno_code(number)));
  for (const int number : {EMFILE, ENFILE, ENOMEM, EIO, ETIMEDOUT, EINTR, EAGAIN, ENOSPC})
    BOOST_TEST(!frame::is_refusal(frame::errno_code(number)));
  BOOST_TEST(!frame::is_refusal(make_error_code(codec::FormatErrc::malformed)));
}

BOOST_AUTO_TEST_CASE(an_error_is_thrown_with_what_it_is_of) {
  const auto thrown_by = [](const auto& work) {
    try {
      work();
    } catch (const std::system_error& error) {
      return error;
    }
    return std::system_error(std::error_code());
  };
  const std::string reason = frame::errno_code(EROFS).message();
  const auto given = thrown_by([] { frame::throw_errno(EROFS, "file"); });
  BOOST_TEST(given.code() == frame::errno_code(EROFS));
  BOOST_TEST(given.what() == "file: " + reason);
  errno = EROFS;
  BOOST_TEST(thrown_by([] { frame::throw_errno("file"); }).what() == "file: " + reason);
  errno = EROFS;
  BOOST_TEST(thrown_by([] { frame::throw_errno(); }).what() == reason);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
