// Tests signatures, names, credentials and listings of object stores, including hostile ones.

#include <cstdlib>
#include <random>

#include <boost/test/unit_test.hpp>

#include "frame/remote/remote_error.hpp"
#include "frame/remote/s3_address.hpp"
#include "frame/remote/s3_credentials.hpp"
#include "frame/remote/s3_listing.hpp"
#include "frame/remote/s3_signature.hpp"

namespace {

using namespace bloscfs::frame;

/// The keys of Amazon's examples, and the examples' time: 2013-05-24, 0:00 UTC.
const S3Credentials kExampleKeys{
    "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", {}};
constexpr std::time_t kExampleTime = 1369353600;

std::string signature_of(const std::string& target, const std::vector<HttpHeader>& headers = {},
                         HttpMethod method = HttpMethod::get, const std::string& body = {}) {
  WebRequest request;
  request.place.url = parse_url("https://examplebucket.s3.amazonaws.com" + target);
  request.method = method;
  request.body.assign(body.begin(), body.end());
  const auto added = s3_signature(kExampleKeys, "us-east-1", request, headers, kExampleTime);
  const std::string& value = added.back().value;
  return value.substr(value.find("Signature=") + 10);
}

bool is_refused(std::string_view source) {
  try {
    parse_s3(source);
    return false;
  } catch (const UrlError&) {
    return true;
  }
}

S3Page page_of(const std::string& xml, const std::string& prefix = {}) {
  return parse_s3_listing({reinterpret_cast<const std::uint8_t*>(xml.data()), xml.size()}, prefix);
}

S3Page page_with(const std::string& inner, const std::string& prefix = {}) {
  return page_of("<ListBucketResult xmlns='x'><EncodingType>url</EncodingType>" + inner +
                     "</ListBucketResult>",
                 prefix);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(s3_parts)

BOOST_AUTO_TEST_CASE(signatures_are_those_of_published_examples) {
  BOOST_TEST(signature_of("/test.txt", {{"Range", "bytes=0-9"}}) ==
             "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  BOOST_TEST(signature_of("/test%24file.text",
                          {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                           {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                          HttpMethod::put, "Welcome to Amazon S3.") ==
             "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  BOOST_TEST(signature_of("/?lifecycle") ==
             "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  BOOST_TEST(signature_of("/?prefix=J&max-keys=2") ==
             "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

BOOST_AUTO_TEST_CASE(session_tokens_are_signed) {
  S3Credentials keys = kExampleKeys;
  keys.session_token = "token";
  WebRequest request;
  request.place.url = parse_url("http://127.0.0.1:81/b/k");
  const auto added = s3_signature(keys, "eu-west-1", request, {}, kExampleTime);
  BOOST_TEST(added.at(0).value == "20130524T000000Z");
  BOOST_TEST(added.at(2).name == "x-amz-security-token");
  BOOST_TEST(added.at(3).value.find("/20130524/eu-west-1/s3/aws4_request,SignedHeaders=host;"
                                    "x-amz-content-sha256;x-amz-date;x-amz-security-token,") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(names_of_objects_are_parsed) {
  const S3Source source = parse_s3("S3://my-bucket.1/some/pre fix%/");
  BOOST_TEST(source.bucket == "my-bucket.1");
  BOOST_TEST(source.prefix == "some/pre fix%/");
  BOOST_TEST(parse_s3("s3://abc").prefix.empty());
  BOOST_TEST(parse_s3("s3://abc/").prefix.empty());
  for (const std::string& text : {std::string("s3://"),
                                  std::string("s3:///x"),
                                  std::string("s3://ab/x"),
                                  "s3://" + std::string(64, 'a'),
                                  std::string("s3://Upper/x"),
                                  std::string("s3://a_b/x"),
                                  std::string("s3://-abc"),
                                  std::string("s3://abc."),
                                  std::string("s3://a..b"),
                                  std::string("s3://10.0.0.1/x"),
                                  std::string("s3://me:secret@abc/x"),
                                  std::string("s3://abc:80/x"),
                                  std::string("s3://abc?x"),
                                  std::string("s3://abc/x?y=z"),
                                  std::string("s3://abc//x"),
                                  std::string("s3://abc/x//y"),
                                  std::string("s3://abc/x//"),
                                  std::string("s3://abc/../x"),
                                  std::string("s3://abc/x/."),
                                  std::string("s3://abc/x\0y", 12),
                                  "s3://abc/" + std::string(1025, 'a'),
                                  std::string("http://abc/x")})
    BOOST_TEST(is_refused(text), text);
}

BOOST_AUTO_TEST_CASE(buckets_are_in_the_path_or_in_the_host) {
  const auto url = [](const char* bucket, const char* endpoint, bool virtual_host) {
    return S3Address(bucket, endpoint, "eu-west-1", virtual_host).object("a/b c?+\xFF").text();
  };
  BOOST_TEST(url("abc", "", false) == "https://abc.s3.eu-west-1.amazonaws.com/a/b%20c%3F%2B%FF");
  BOOST_TEST(url("a.bc", "", false) == "https://s3.eu-west-1.amazonaws.com/a.bc/a/b%20c%3F%2B%FF");
  BOOST_TEST(url("abc", "http://h:81", false) == "http://h:81/abc/a/b%20c%3F%2B%FF");
  BOOST_TEST(url("abc", "http://h:81/", true) == "http://abc.h:81/a/b%20c%3F%2B%FF");
  BOOST_CHECK_THROW(url("abc", "http://h/path", false), UrlError);
  BOOST_CHECK_THROW(url("abc", "http://h/?q", false), UrlError);
  BOOST_CHECK_THROW(url("abc", "h", false), UrlError);
  const S3Address address("abc", "http://h", "x", false);
  BOOST_TEST(address.whole_bucket("?list").text() == "http://h/abc?list");
  BOOST_TEST(address.copy_source("a b") == "/abc/a%20b");
}

BOOST_AUTO_TEST_CASE(regions_come_from_the_setting_or_the_environment) {
  BOOST_TEST(find_region("") == "us-east-1");
  ::setenv("AWS_DEFAULT_REGION", "one", 1);
  BOOST_TEST(find_region("") == "one");
  ::setenv("AWS_REGION", "two", 1);
  BOOST_TEST(find_region("") == "two");
  BOOST_TEST(find_region("three") == "three");
  ::unsetenv("AWS_REGION");
  ::unsetenv("AWS_DEFAULT_REGION");
  BOOST_CHECK_THROW(find_region("a/b"), RemoteError);
  BOOST_CHECK_THROW(find_region("evil.org#"), RemoteError);
}

BOOST_AUTO_TEST_CASE(listings_are_understood) {
  const S3Page page = page_with(
      "<IsTruncated>true</IsTruncated><NextContinuationToken>a/b=</NextContinuationToken>"
      "<Contents><Key>p/a+b%2Bc</Key><Size>7</Size><ETag>&quot;x&quot;</ETag>"
      "<LastModified>2013-05-24T00:00:01.123Z</LastModified></Contents>"
      "<Contents><Key>p/</Key></Contents><Contents><Key>p/bare</Key><Size>7</Size>"
      "<ETag>x</ETag></Contents><CommonPrefixes><Prefix>p/dir/</Prefix></CommonPrefixes>",
      "p/");
  BOOST_TEST(page.next == "a/b=");
  BOOST_TEST(page.keys == 4U);
  BOOST_TEST_REQUIRE(page.entries.size() == 3U);
  BOOST_TEST(page.entries[0].name == "a b+c");
  BOOST_TEST(page.entries[0].state->tag == "\"x\"");
  BOOST_TEST(page.entries[0].state->size == 7U);
  BOOST_TEST(page.entries[0].state->modified == kExampleTime + 1);
  BOOST_TEST(page.entries[1].state->tag == "\"x\"");
  BOOST_TEST(page.entries[2].is_directory);
  BOOST_TEST(page.entries[2].name == "dir");
}

BOOST_AUTO_TEST_CASE(names_that_are_none_are_left_out_of_listings) {
  const S3Page page = page_with(
      "<Contents><Key>.</Key></Contents><Contents><Key>..</Key></Contents>"
      "<Contents><Key></Key></Contents><Contents><Key>a%00b</Key></Contents>"
      "<Contents><Key>deep/er</Key></Contents><Contents><Key>/x</Key></Contents><Contents/>"
      "<CommonPrefixes><Prefix>../</Prefix></CommonPrefixes>"
      "<CommonPrefixes><Prefix>/</Prefix></CommonPrefixes>"
      "<Contents><Key>x</Key><Size>-1</Size><ETag>\"y\"</ETag></Contents>"
      "<Contents><Key>y</Key><Size>99999999999999999999</Size><ETag>\"y\"</ETag></Contents>"
      "<Contents><Key>z</Key><Size>1</Size><ETag>a\"b</ETag></Contents>");
  BOOST_TEST(page.keys == 12U);
  BOOST_TEST_REQUIRE(page.entries.size() == 4U);
  BOOST_TEST(page.entries[0].name == "deep");
  BOOST_TEST(page.entries[0].is_directory);
  for (int i = 1; i < 4; i++) BOOST_TEST(!page.entries[static_cast<std::size_t>(i)].state);
  BOOST_CHECK_THROW(page_with("<Contents><Key>other</Key></Contents>", "p/"), RemoteError);
}

BOOST_AUTO_TEST_CASE(any_bytes_are_a_listing_or_refused) {
  std::string deep;
  for (int i = 0; i < 1000000; i++) deep += "<a>";
  BOOST_CHECK_THROW(page_of(deep), RemoteError);
  BOOST_CHECK_THROW(page_of(""), RemoteError);
  const std::string laughs =
      "<!DOCTYPE x [<!ENTITY a \"ha\"><!ENTITY b SYSTEM \"file:///etc/passwd\">]>"
      "<ListBucketResult><Contents><Key>&a;&b;</Key></Contents></ListBucketResult>";
  BOOST_TEST(page_of(laughs).entries.at(0).name == "&a;&b;");
  const std::string sound =
      "<?xml version='1.0'?><ListBucketResult><Contents><Key>a%41</Key><ETag>&quot;x&quot;</ETag>"
      "<Size>1</Size></Contents><CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>"
      "</ListBucketResult>";
  std::mt19937 random(1);
  for (int i = 0; i < 20000; i++) {
    std::string text = sound.substr(0, i % 3 == 0 ? random() % sound.size() : sound.size());
    for (auto left = random() % 8; left > 0 && !text.empty(); left--)
      text[random() % text.size()] = static_cast<char>(random());
    const Bytes bytes{reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
    parse_s3_problem(bytes);
    parse_s3_copy(bytes);
    try {
      for (const ObjectEntry& entry : page_of(text).entries)
        BOOST_TEST(entry.name.find('/') == std::string::npos);
    } catch (const RemoteError&) {
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
