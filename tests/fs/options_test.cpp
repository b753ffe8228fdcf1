#include "fs/options/options.hpp"

#include <algorithm>
#include <chrono>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <boost/test/unit_test.hpp>

using namespace bloscfs::fs;

namespace {

std::string message_of(const std::string& list) {
  try {
    parse_options({list});
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(refused_sizes_are_reported_with_units) {
  const std::string known = "wanted a size such as 64M or 1G (K, M, G and T are known), at least ";
  BOOST_TEST(message_of("cache_size=1GB") == "option cache_size=1GB: " + known + "1M");
  BOOST_TEST(message_of("chunk_size=2G") == "option chunk_size=2G: " + known + "4K and at most 1G");
  BOOST_TEST(message_of("block_size=1") == "option block_size=1: " + known + "256 and at most 1G");
}

BOOST_AUTO_TEST_CASE(help_names_the_defaults_of_the_code) {
  const auto values = [](const MountOptions& o) {
    return std::tuple(o.cache_size, o.unsupported, o.sandbox, o.write.codec, o.write.clevel,
                      o.write.suffix, o.write.strict, o.write.longest_wait, o.remote.connections,
                      o.remote.retry_time, o.remote.disk_cache_size, o.remote.revalidate);
  };
  const auto defaults = values(parse_options({}));
  const std::string help = "\n" + options_help();
  const std::regex option(R"(\n  (\w+)=(?:[^(\n]|\n   )*\(([.\w]+)\))");
  std::set<std::string> checked;
  for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at) {
    const std::string name = (*at)[1], value = (*at)[2];
    // The sizes of chunks and blocks are chosen when a file is created.
    if (name == "chunk_size" || name == "block_size") continue;
    BOOST_TEST((values(parse_options({name + "=" + value})) == defaults), name << "=" << value);
    checked.insert(name);
  }
  BOOST_TEST(checked.size() == 12U);
}

BOOST_AUTO_TEST_CASE(parses_sizes_with_units) {
  BOOST_TEST(parse_options({"cache_size=64M"}).cache_size == std::size_t{64} << 20);
  BOOST_TEST(parse_options({"cache_size=2G"}).cache_size == std::size_t{2} << 30);
  BOOST_TEST(parse_options({"cache_size=2048K"}).cache_size == std::size_t{2} << 20);
  BOOST_TEST(parse_options({"cache_size=1048576"}).cache_size == std::size_t{1} << 20);
}

BOOST_AUTO_TEST_CASE(refuses_numbers_that_are_not_quite_numbers) {
  for (const char* list : {"cache_size=",
                           "cache_size=64m",
                           "cache_size=-1",
                           "cache_size=6 4M",
                           "cache_size=0x10M",
                           "cache_size=99999999999999999999",
                           "cache_size=9999999999G",
                           "cache_size=1K",
                           "cache_size",
                           "threads=0",
                           "threads=2.5",
                           "threads=1000",
                           "threads=+4",
                           "uid=-1",
                           "uid=",
                           "uid=no such user",
                           "gid=4294967295",
                           "idle_timeout=1w",
                           "idle_timeout=m",
                           "idle_timeout=-1s",
                           "commit=2h",
                           "raw=1",
                           "verify=yes",
                           "log",
                           "log="})
    BOOST_TEST_CONTEXT(list) { BOOST_TEST(message_of(list) != ""); }
}

BOOST_AUTO_TEST_CASE(parses_what_becomes_of_unsupported_files) {
  BOOST_CHECK(parse_options({}).unsupported == UnsupportedFiles::refused);
  BOOST_CHECK(parse_options({"unsupported=error"}).unsupported == UnsupportedFiles::refused);
  BOOST_CHECK(parse_options({"unsupported=hide"}).unsupported == UnsupportedFiles::hidden);
  BOOST_CHECK(parse_options({"unsupported=raw"}).unsupported == UnsupportedFiles::raw);
  for (const char* list : {"unsupported", "unsupported=", "unsupported=show"})
    BOOST_TEST(message_of(list).find("unsupported") != std::string::npos, list);
}

BOOST_AUTO_TEST_CASE(refuses_a_part_that_is_larger_than_the_whole) {
  for (const char* list :
       {"dirty_limit=257M", "dirty_limit=65M,cache_size=64M", "cache_size=64M,dirty_limit=1G"})
    BOOST_TEST_CONTEXT(list) {
      BOOST_TEST(message_of(list).find("no more than cache_size") != std::string::npos);
    }
  BOOST_TEST(message_of("dirty_limit=256M") == "");
  BOOST_TEST(message_of("dirty_limit=300M,cache_size=1G") == "");
}

BOOST_AUTO_TEST_CASE(refuses_what_loses_more_each_time) {
  BOOST_TEST(message_of("codec=ndlz:8,filters=ndcell:3+trunc_prec:-4") == "");
  for (const char* list : {"codec=zfp_rate:50", "filters=ndmean:4", "codec=lz4:1"})
    BOOST_TEST_CONTEXT(list) { BOOST_TEST(message_of(list).find("wanted") != std::string::npos); }
}

BOOST_AUTO_TEST_CASE(refuses_delta_behind_another_filter) {
  for (const char* list : {"shuffle+delta", "bitshuffle+delta", "ndcell:4+delta", "delta+delta"})
    BOOST_TEST(message_of("filters=" + std::string(list)) ==
               "option filters=" + std::string(list) + ": wanted delta as the first filter only");
}

BOOST_AUTO_TEST_CASE(an_unknown_option_names_the_three_nearest) {
  const auto says = [](const char* list, const char* words) {
    BOOST_TEST(message_of(list).find(words) != std::string::npos, message_of(list));
  };
  says("ro,cach_size=3M", "unknown option cach_size=3M; the nearest are cache_size, ");
  says("chekcsum", "unknown option chekcsum; the nearest are checksum, ");
  says("alow_other", "unknown option alow_other; the nearest are allow_other, ");
  says("cache=1G", "unknown option cache=1G; the nearest are cache_size, ");
  says("log_file=/x", "; the nearest are log, ");
  says("limit=1G", "the nearest are dirty_limit, ");
  says("xyzzy", "; bloscfs --help lists all");
  says("filters=delta,shuffle", "unknown option shuffle, which is a filter: write filters=A+B");
  const std::string message = message_of("xyzzy");
  BOOST_TEST(std::count(message.begin(), message.end(), ',') == 2, message);
  BOOST_TEST(message_of(std::string(100'000, 'c')).find("the nearest are") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(takes_times_and_names_of_users_as_people_write_them) {
  BOOST_TEST(parse_options({"idle_timeout=5m"}).idle_timeout == 300u);
  BOOST_TEST(parse_options({"idle_timeout=1h"}).idle_timeout == 3600u);
  BOOST_TEST(parse_options({"idle_timeout=2d"}).idle_timeout == 172800u);
  BOOST_CHECK(parse_options({"commit=30s"}).write.longest_wait == std::chrono::seconds(30));
  BOOST_CHECK(parse_options({"retry_time=2m"}).remote.retry_time == std::chrono::seconds(120));
  BOOST_CHECK(parse_options({"revalidate=1m"}).remote.revalidate == std::chrono::seconds(60));
  const MountOptions named = parse_options({"uid=root,gid=root,raw"});
  BOOST_TEST(*named.owner.uid == 0u);
  BOOST_TEST(*named.owner.gid == 0u);
  BOOST_TEST(named.own == (std::vector<std::string>{"uid=0", "gid=0", "raw"}),
             boost::test_tools::per_element());
  BOOST_TEST(message_of("uid=nobody-of-this-name") ==
             "option uid=nobody-of-this-name: no user has this name here; wanted its name "
             "or number");
}

BOOST_AUTO_TEST_CASE(takes_both_separators_of_filters) {
  const auto plus = parse_options({"filters=delta+shuffle"}).write.filters;
  BOOST_CHECK(plus && parse_options({R"(filters=delta\,shuffle)"}).write.filters == plus);
}

BOOST_AUTO_TEST_CASE(takes_several_lists_and_passes_kernel_options_on) {
  const MountOptions options = parse_options({"ro,raw,", "allow_other,nosuid", "uid=7,gid=8"});
  BOOST_TEST(options.raw);
  BOOST_TEST(!options.libfuse_io);
  BOOST_TEST(options.allow_other);
  BOOST_TEST(*options.owner.uid == 7u);
  BOOST_TEST(*options.owner.gid == 8u);
  BOOST_TEST(options.passthrough_options ==
             (std::vector<std::string>{"ro", "allow_other", "nosuid"}));
}

BOOST_AUTO_TEST_CASE(libfuse_s_own_ways_are_a_word) {
  BOOST_TEST(parse_options({"libfuse_io"}).libfuse_io);
  BOOST_TEST(parse_options({"ro,libfuse_io"}).passthrough_options ==
             std::vector<std::string>{"ro"});
  BOOST_TEST(message_of("libfuse_io=1") != "");
}

BOOST_AUTO_TEST_CASE(takes_rw_for_the_user_s_word_unless_mount_has_put_it_there) {
  for (const char* list : {"", "allow_other,nosuid,nodev"})
    BOOST_CHECK(parse_options({list}).unwritable == Unwritable::shown);
  for (const char* list : {"rw", "rw,nosuid", "ro,rw,dev"})
    BOOST_CHECK(parse_options({list}).unwritable == Unwritable::refused);
  for (const char* list : {"rw,dev,suid", "rw,nosuid,nodev,noexec,allow_other"})
    BOOST_CHECK(parse_options({list}).unwritable == Unwritable::warned_of);
}

BOOST_AUTO_TEST_CASE(accepts_words_of_fstab_lines) {
  BOOST_TEST(parse_options({"defaults,noauto,nofail,x-systemd.automount,_netdev"})
                 .passthrough_options.empty());
}

BOOST_AUTO_TEST_CASE(keeps_commas_of_paths) {
  BOOST_TEST(parse_options({R"(log=/a\,b\\c,raw)"}).log_file == R"(/a,b\c)");
}

BOOST_AUTO_TEST_CASE(help_names_every_option_of_our_own) {
  for (const char* name : {"cache_size=", "threads=", "raw", "verify",
                           "idle_timeout=", "libfuse_io", "uid=", "gid=", "log="})
    BOOST_TEST(options_help().find(name) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(words_of_mount_take_no_value) {
  using Refusal = std::pair<const char*, std::string>;
  for (const Refusal& refusal : {Refusal{"ro=1", "option ro takes no value"},
                                 Refusal{"fsname", "option fsname needs a value"}})
    BOOST_CHECK_EXCEPTION(
        parse_options({refusal.first}), std::invalid_argument,
        [&](const std::invalid_argument& error) { return error.what() == refusal.second; });
}

BOOST_AUTO_TEST_CASE(the_log_shows_no_password_of_a_proxy) {
  const auto shown = [](const std::string& list) { return shown_options(parse_options({list})); };
  BOOST_TEST(shown("proxy=http://user:pass@word@host:8080,raw,ro") == "ro,proxy=...@host:8080,raw");
  BOOST_TEST(shown("proxy=http://host:8080") == "rw,proxy=http://host:8080");
  BOOST_TEST(shown("") == "rw");
}

BOOST_AUTO_TEST_CASE(running_mounts_change_what_they_can) {
  using Items = std::vector<std::string>;
  const Items own{"cache_size=64M", "raw", "sync=group"};
  BOOST_TEST(change_running(own, {"raw", "cache_size=64M"}) == own,
             boost::test_tools::per_element());
  BOOST_TEST(change_running(own, {"cache_size=1G", "idle_timeout=5"}) ==
                 (Items{"raw", "sync=group", "cache_size=1G", "idle_timeout=5"}),
             boost::test_tools::per_element());
  for (const Items& refused :
       {Items{"clevel=3"}, {"nostores"}, {"cache_size=32M"}, {"sync=never"}, {"dirty_limit=65M"}})
    BOOST_CHECK_THROW(change_running(own, refused), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(set_ids_and_devices_that_a_mount_program_adds_are_ignored) {
  for (const char* list : {"rw,dev,suid", "ro,allow_other,dev,suid", "rw,nosuid,dev"}) {
    const MountOptions options = parse_options({list});
    BOOST_TEST((!options.set_ids && !options.devices), list);
    BOOST_TEST(option_list(options).find("dev") == std::string::npos, list);
  }
  for (const char* list : {"rw,suid,dev", "suid,dev", "dev,suid", "rw,dev,suid,dev,suid"}) {
    const MountOptions options = parse_options({list});
    BOOST_TEST((options.set_ids && options.devices), list);
  }
  BOOST_TEST(parse_options({"rw,remount,dev,suid"}).set_ids);
}

BOOST_AUTO_TEST_SUITE_END()
