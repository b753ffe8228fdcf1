// Power cuts after each operation of a commit. The disk then has the old state or the new one.

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "frame/store/temporary_name.hpp"
#include "tests/frame/random_edit.hpp"
#include "tests/frame/volatile_disk.hpp"
#include "tests/support/sanitizers.hpp"

using namespace bloscfs;
using namespace bloscfs::frame;
using namespace bloscfs::frame::test;

namespace {

constexpr int kLossesPerCut = 6;
constexpr int kRounds = bloscfs::test::kSanitized ? 4 : 12;

/// The committed states. A power cut at operation `durable_from[i]` or later leaves state i or a
/// later one.
struct History {
  std::vector<FrameContents> states;
  std::vector<std::size_t> durable_from;
};

bool is_allowed(const History& history, std::size_t cut, const FrameContents& found) {
  std::size_t least = 0;
  while (least + 1 < history.states.size() && history.durable_from[least + 1] <= cut) ++least;
  return found == history.states[least] ||
         (least + 1 < history.states.size() && found == history.states[least + 1]);
}

void check_cut(const VolatileDisk& disk, const History& history, std::size_t cut,
               std::mt19937* random) {
  FrameContents found;
  try {
    found = contents_on(disk.after_cut(random), "f");
  } catch (const std::exception& error) {
    BOOST_ERROR("cut after operation " << cut << ": " << error.what());
    return;
  }
  found.vlmetalayers.erase("bloscfs.xxh3");
  BOOST_CHECK_MESSAGE(is_allowed(history, cut, found),
                      "cut after operation " << cut << ": " << found);
}

void check_every_cut(const MemoryDisk& before, const MemoryDisk& disk, const History& history,
                     std::mt19937& random) {
  VolatileDisk replayed(before);
  for (std::size_t cut = 0; cut <= disk.log.size(); ++cut) {
    if (cut > 0) replayed.perform(disk.log[cut - 1]);
    check_cut(replayed, history, cut, nullptr);
    for (int i = 0; i < kLossesPerCut; ++i) check_cut(replayed, history, cut, &random);
  }
}

void check_random_commits(ContainerKind kind) {
  std::mt19937 random(random_seed());
  for (int round = 0; round < kRounds; ++round) {
    const auto disk = MemoryDisk::make();
    FrameContents model;
    model.bytes = random_content(random, 30000);
    FrameSettings settings = small_chunks();
    settings.checksums = round % 3 == 0;
    const WriterSettings without_grace{.grace = std::chrono::milliseconds(0)};
    auto writer = make_frame(disk, "f", model.bytes, settings, without_grace, kind);
    disk->root()->sync();
    const auto before = disk->clone();
    disk->log.clear();
    History history{{model}, {0}};
    for (int commit = 0; commit < 8; ++commit) {
      if (random() % 3 == 0) writer = open_writer(disk, "f", without_grace);
      const auto transaction = writer->begin();
      edit_at_random(*transaction, model, random);
      transaction->commit();
      history.states.push_back(model);
      history.durable_from.push_back(disk->log.size());
    }
    check_every_cut(*before, *disk, history, random);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(power_cuts)

BOOST_AUTO_TEST_CASE(leave_one_of_two_states_of_a_contiguous_frame) {
  check_random_commits(ContainerKind::cframe);
}

BOOST_AUTO_TEST_CASE(leave_one_of_two_states_of_a_sparse_frame) {
  check_random_commits(ContainerKind::sframe);
}

BOOST_AUTO_TEST_CASE(leave_a_frame_or_its_replacement) {
  std::mt19937 random(random_seed());
  for (int round = 0; round < 4; ++round) {
    const auto disk = MemoryDisk::make();
    FrameContents model;
    model.bytes = random_content(random, 30000);
    const auto writer = make_frame(disk, "f", model.bytes);
    const auto before = disk->clone();
    disk->log.clear();
    History history{{model}, {0}};
    writer->compact();
    history.states.push_back(model);
    history.durable_from.push_back(disk->log.size());
    // The vlmetalayers are too long for the room that the frame reserves after its header for the
    // trailer.
    auto transaction = writer->begin();
    transaction->resize(0);
    transaction->set_vlmetalayer("a", pattern(100, 1));
    transaction->commit();
    model.bytes.clear();
    model.vlmetalayers["a"] = pattern(100, 1);
    history.states.push_back(model);
    history.durable_from.push_back(disk->log.size());
    check_every_cut(*before, *disk, history, random);
  }
}

// The vlmetalayers do not fit into the room that the frame reserves for its trailer. Since the
// frame has two hard links, the commit cannot replace the file.
BOOST_AUTO_TEST_CASE(leave_one_of_two_states_of_a_frame_with_two_names_that_is_emptied) {
  std::mt19937 random(random_seed());
  for (int round = 0; round < 4; ++round) {
    const auto disk = MemoryDisk::make();
    FrameContents model;
    model.bytes = random_content(random, 30000);
    auto writer = make_frame(disk, "f", model.bytes, small_chunks(), kNoGrace);
    const std::uint64_t node = disk->find(MemoryDisk::kRoot, "f");
    disk->nodes.at(node).links = 2;
    disk->root()->sync();
    const auto before = disk->clone();
    disk->log.clear();
    History history{{model}, {0}};
    const auto note_state = [&] {
      history.states.push_back(model);
      history.durable_from.push_back(disk->log.size());
    };
    for (unsigned commit = 0; commit < 4; ++commit) {
      if (random() % 2 == 0) writer = open_writer(disk, "f", kNoGrace);
      const Buffer value = pattern(1 + random() % (commit % 2 == 0 ? 5000 : 200), commit);
      writer->prepare_to_empty(value.size());
      note_state();
      auto transaction = writer->begin();
      transaction->resize(0);
      transaction->set_vlmetalayer("a", value);
      transaction->commit();
      transaction.reset();
      model.bytes.clear();
      model.vlmetalayers["a"] = value;
      note_state();
      if (random() % 2 == 0) writer = open_writer(disk, "f", kNoGrace);
      // Writes another trailer over the present one, which follows the header of 97 bytes.
      if (value.size() < 200) {
        transaction = writer->begin();
        const Buffer other = pattern(1 + random() % 200, commit + 1);
        transaction->set_vlmetalayer("a", other);
        transaction->commit();
        transaction.reset();
        model.vlmetalayers["a"] = other;
        note_state();
      }
      transaction = writer->begin();
      model.bytes = random_content(random, 20000);
      put_all(*transaction, model.bytes);
      transaction->commit();
      transaction.reset();
      note_state();
    }
    BOOST_TEST(disk->find(MemoryDisk::kRoot, "f") == node);
    BOOST_TEST(disk->names().size() == 1u);
    BOOST_CHECK(contents_on(disk, "f") == model);
    BOOST_TEST(disk->bytes("f").size() <= 3 * 30000u);
    check_every_cut(*before, *disk, history, random);
  }
}

BOOST_AUTO_TEST_CASE(leave_a_new_frame_or_none) {
  std::mt19937 random(random_seed());
  for (const ContainerKind kind : {ContainerKind::cframe, ContainerKind::sframe}) {
    const auto disk = MemoryDisk::make();
    const auto before = disk->clone();
    const Buffer content = random_content(random, 20000);
    const std::string name = temporary_name();
    make_frame(disk, name, content, small_chunks(), {}, kind);
    disk->root()->rename(name, "f", RenameMode::no_replace);
    const std::size_t renamed = disk->log.size();
    VolatileDisk replayed(*before);
    for (std::size_t done = 0; done < renamed; ++done) {
      replayed.perform(disk->log[done]);
      const auto left = replayed.after_cut(&random);
      if (left->exists("f")) BOOST_TEST(contents_on(left, "f").bytes == content);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
