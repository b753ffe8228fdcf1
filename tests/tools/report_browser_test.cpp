// A page of `b2frame report` in a browser: whether it fits, looks right, and runs no script but its
// own.

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "frame/header/msgpack_json.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/needs.hpp"
#include "tests/tools/program.hpp"
#include "tests/tools/report_page.hpp"

namespace {

using namespace bloscfs::test;
using nlohmann::json;

/// A script that measures the page and adds the results to the parent page.
constexpr const char* kMeasure = R"(<script>
const errors = [];
addEventListener("error", (event) => errors.push(event.message));
// Before all of them are there the page is not loaded, nor the one around it.
const images = [];
addEventListener("DOMContentLoaded", () => {
  for (const each of document.querySelectorAll("image")) {
    images.push(new Image());
    images.at(-1).src = each.getAttribute("href");
  }
});
addEventListener("load", () => {
  const map = [...document.querySelectorAll("svg.map")].find((each) => each.querySelectorAll("rect").length > 4);
  const readout = map.parentElement.querySelector(".readout");
  map.focus();
  const first = readout.textContent;
  map.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
  const found = {
    width: document.documentElement.scrollWidth, window: innerWidth, errors,
    widths: images.map((image) => image.naturalWidth),
    title: document.title, first, second: readout.textContent,
    requests: performance.getEntriesByType("resource").filter((e) => !e.name.startsWith("data:")).length,
    dark: getComputedStyle(document.body).backgroundColor,
    outline: getComputedStyle(map).outlineStyle,
    unfolded: document.querySelectorAll("details[open]").length,
  };
  const measured = parent.document.createElement("pre");
  measured.id = "measured";
  measured.textContent = JSON.stringify(found);
  parent.document.body.append(measured);
});
</script>)";

/// The parent page, which makes widths possible below the minimum of a window.
constexpr const char* kFrame = R"(<!DOCTYPE html><meta charset="utf-8"/><body>
<iframe style="border: 0; height: 900px; width: WIDTHpx" src="measured.html"></iframe>)";

/// Makes a page of frames with every sort of picture, a damaged one, and one that tries to run
/// scripts.
std::string make_page(const TempDir& dir) {
  Cut evil;
  evil.vlmetalayers = {
      {"<script>document.title=1",
       encode_copied_chunk(
           bloscfs::frame::json_to_msgpack(bytes_of(
               R"({"<script>document.title='x'</script>": "<img src=x onerror=\"document.title='y'\">"})")),
           1)}};
  write_file(dir / "a<script>document.title='n'<b>.b2frame",
             flat_frame(make_contents("islands", 3, 500000, 1), evil));
  write_file(dir / "cube.b2nd",
             array_frame(make_contents("floats", 1, 96000, 4), {20, 30, 40}, "<f4", 4));
  write_file(dir / "image.b2nd",
             array_frame(make_contents("noise", 1, 200000, 1), {400, 500}, "|u1", 1));
  write_file(dir / "line.b2nd", array_frame(make_contents("floats", 1, 8000, 8), {1000}, "<f8", 8));
  ByteVector damaged = array_frame(make_contents("noise", 1, 200000, 2), {100, 1000}, "<i2", 2);
  damaged.resize(damaged.size() / 2);
  write_file(dir / (std::string(180, 'd') + ".b2nd"), damaged);
  Arguments arguments{"report"};
  for (const auto& entry : fs_std::directory_iterator(dir.path()))
    arguments.push_back(entry.path().string());
  const ProcessResult result = b2frame(arguments + Arguments{"-o", "-"});
  BOOST_TEST_REQUIRE(result.status == 1, result.description());
  return result.out;
}

/// Adds the script, and removes the policy that allows only the page's own script.
std::string with_measurement(std::string page) {
  const std::size_t policy = page.find("<meta http-equiv");
  page.erase(policy, page.find("/>", policy) + 2 - policy);
  const std::string head = "<head>";
  return page.insert(page.find(head) + head.size(), kMeasure);
}

/// Returns the page as text after the browser has loaded it. The browser's console goes to stderr.
ProcessResult browse(const TempDir& dir, const fs_std::path& file, bool dark) {
  ProcessSettings settings;
  settings.limit = Seconds{60};
  return run({"chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
              "--disable-background-networking", "--disable-component-update", "--no-first-run",
              "--user-data-dir=" + (dir / "profile").string(), "--enable-logging=stderr",
              fmt::format("--blink-settings=preferredColorScheme={}", dark ? 0 : 1),
              "--window-size=1400,1000", "--allow-file-access-from-files", "--dump-dom",
              "file://" + file.string()},
             settings);
}

json measure(const TempDir& dir, int width, bool dark) {
  std::string frame = kFrame;
  frame.replace(frame.find("WIDTH"), 5, std::to_string(width));
  write_file(dir / "frame.html", frame);
  const ProcessResult result = browse(dir, dir / "frame.html", dark);
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  const std::string begin = "<pre id=\"measured\">";
  const std::size_t at = result.out.find(begin);
  BOOST_TEST_REQUIRE(at != std::string::npos, result.out + result.description());
  const std::size_t end = result.out.find("</pre>", at);
  // JSON text contains only these of the characters that HTML escapes.
  std::string text = result.out.substr(at + begin.size(), end - at - begin.size());
  for (const auto& [escaped, plain] :
       {std::pair("&lt;", "<"), {"&gt;", ">"}, {"&nbsp;", "\u00a0"}, {"&amp;", "&"}})
    for (std::size_t i = text.find(escaped); i != std::string::npos; i = text.find(escaped, i + 1))
      text.replace(i, std::string(escaped).size(), plain);
  return json::parse(text);
}

}  // namespace

// The browser does most of the work, so a build with sanitizers would show nothing more.
BOOST_AUTO_TEST_SUITE(report_browser, *boost::unit_test::precondition(needs_plain_build) *
                                          boost::unit_test::precondition(has_programs("chromium")))

BOOST_AUTO_TEST_CASE(the_page_fits_and_runs_nothing_from_files) {
  const TempDir dir, browser;
  const std::string page = make_page(dir);
  const std::string title = ReportPage(page).text("/html/head/title");
  write_file(browser / "measured.html", with_measurement(page));
  write_file(browser / "plain.html", page);
  std::string light;
  for (const bool dark : {false, true}) {
    const int width = dark ? 1280 : 400;
    const json found = measure(browser, width, dark);
    BOOST_TEST_CONTEXT(found.dump()) {
      BOOST_TEST(found.at("window") == width);
      BOOST_TEST(found.at("width").get<int>() <= width);
      BOOST_TEST(found.at("widths").size() == 4u);
      for (const json& each : found.at("widths")) BOOST_TEST(each.get<int>() > 0);
      BOOST_TEST(found.at("errors").empty());
      BOOST_TEST(found.at("requests") == 0);
      BOOST_TEST(found.at("title") == title);
      BOOST_TEST(found.at("first").get<std::string>().starts_with("Chunk 0"));
      BOOST_TEST(found.at("second").get<std::string>().starts_with("Chunk 1"));
      BOOST_TEST(found.at("dark") != light);
    }
    light = found.at("dark");
  }
  const ProcessResult result = browse(browser, browser / "plain.html", false);
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(result.err.find("CONSOLE") == std::string::npos, result.err);
  BOOST_TEST(result.out.find("<title>" + title) != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
