// Epochs: the states of a file that other programs stored, on which a content builds.

#include "fs/content/epochs.hpp"

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "tests/fs/mount/in_process.hpp"

namespace bloscfs::fs {

BOOST_AUTO_TEST_SUITE(epochs)

BOOST_AUTO_TEST_CASE(requests_belong_to_one_epoch) {
  Epochs epochs;
  BOOST_TEST(epochs.is_current(0));
  epochs.begin_next({});
  BOOST_TEST(epochs.current() == 1u);
  BOOST_TEST(!epochs.is_current(0));
  BOOST_TEST(epochs.is_current(1));
  BOOST_TEST(epochs.is_current(std::nullopt));
}

BOOST_AUTO_TEST_CASE(loss_concerns_all_epochs_before) {
  Epochs epochs;
  epochs.begin_next({false, false});
  BOOST_TEST(!epochs.lost_contents_of(0));
  epochs.begin_next({true, false});
  BOOST_TEST(epochs.lost_contents_of(0));
  BOOST_TEST(epochs.lost_contents_of(1));
  BOOST_TEST(!epochs.lost_contents_of(2));
  epochs.begin_next({false, false});
  BOOST_TEST(epochs.lost_contents_of(1));
  BOOST_TEST(!epochs.lost_contents_of(2));
}

BOOST_AUTO_TEST_CASE(pages_have_no_epoch_until_the_kernel_has_forgotten) {
  Epochs epochs;
  BOOST_TEST(epochs.of_pages() == 0u);
  const auto forgotten = epochs.begin_next({});
  BOOST_TEST(test::error_of([&] { epochs.of_pages(); }) == ESTALE);
  *forgotten = true;
  BOOST_TEST(epochs.of_pages() == 1u);
  // The flag of an earlier epoch does not count for the next epoch.
  const auto next = epochs.begin_next({});
  *forgotten = true;
  BOOST_TEST(test::error_of([&] { epochs.of_pages(); }) == ESTALE);
  *next = true;
  BOOST_TEST(epochs.of_pages() == 2u);
  *epochs.begin_next({false, true}) = true;
  BOOST_TEST(epochs.is_abandoned());
  BOOST_TEST(test::error_of([&] { epochs.of_pages(); }) == ESTALE);
}

BOOST_AUTO_TEST_CASE(next_epoch_ends_what_the_last_one_waited_for) {
  Epochs epochs;
  epochs.begin_end();
  BOOST_TEST(epochs.is_ending());
  epochs.stay();
  BOOST_TEST(!epochs.is_ending());
  epochs.begin_end();
  epochs.note_saved();
  epochs.begin_next({});
  BOOST_TEST(!epochs.is_ending());
  BOOST_TEST(!epochs.is_saved());
}

BOOST_AUTO_TEST_CASE(what_was_kept_is_kept_once_until_more_is_written) {
  Epochs epochs;
  epochs.note_saved();
  BOOST_TEST(epochs.is_saved());
  epochs.note_written();
  BOOST_TEST(!epochs.is_saved());
  BOOST_TEST(!epochs.save_failed_recently());
  epochs.note_save_failure();
  BOOST_TEST(epochs.save_failed_recently());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
