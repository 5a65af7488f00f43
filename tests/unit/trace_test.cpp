// Waveform files as a reader sees them: VCD text parsed here, FST through GTKWave's fst2vcd.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "common/diag.h"
#include "hw/trace/open.h"

namespace sec::trace {
namespace {
namespace fs = std::filesystem;

/// A folder of its own per test, removed afterwards.
class Trace : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "sec-trace-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& e : fs::directory_iterator(folder_)) names.push_back(e.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  fs::path folder_;
};

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string fst_text(const std::string& path, const char* flags = "") {
  const std::string command = fmt::format("{} {} -f '{}'", FST2VCD, flags, path);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return text;
}

using Changes = std::vector<std::pair<uint64_t, std::string>>;  // time, value without leading zeros

struct Wave {
  std::map<std::string, Changes> signals;  // by dotted name with its range, 'x' at the beginning left out
  uint64_t end_ps = 0;
  size_t times = 0;
  bool operator==(const Wave& o) const { return signals == o.signals && end_ps == o.end_ps; }
};

void PrintTo(const Wave& w, std::ostream* os) {
  *os << "end " << w.end_ps;
  for (const auto& [name, changes] : w.signals) {
    *os << "\n" << name << ":";
    for (const auto& [t, v] : changes) *os << " " << t << "=" << v;
  }
}

/// Reads the subset of VCD that both writers use; anything else fails the test.
Wave parse_vcd(const std::string& text) {
  std::istringstream in(text);
  std::map<std::string, std::string> names;
  std::vector<std::string> scopes;
  Wave w;
  uint64_t now = 0;
  bool first = true;
  auto set = [&](const std::string& code, std::string value) {
    if (!names.contains(code)) {
      ADD_FAILURE() << "unknown identifier " << code;
      return;
    }
    if (value.find_first_not_of("x") == std::string::npos) return;
    value.erase(0, std::min(value.find_first_not_of('0'), value.size() - 1));
    w.signals[names[code]].emplace_back(now, value);
  };
  for (std::string word; in >> word;) {
    if (word == "$scope") {
      std::string kind, name;
      in >> kind >> name >> word;
      scopes.push_back(name);
    } else if (word == "$upscope") {
      scopes.pop_back();
      in >> word;
    } else if (word == "$var") {
      std::string kind, width, code, name, path;
      in >> kind >> width >> code >> name;
      for (in >> word; word != "$end"; in >> word) name += word;
      for (const std::string& s : scopes) path += s + ".";
      names[code] = path + name;
      w.signals[path + name];
    } else if (word == "$dumpvars" || word == "$end") {
    } else if (word == "$timescale") {
      std::string value;
      for (in >> word; word != "$end"; in >> word) value += word;
      EXPECT_EQ(value, "1ps");
    } else if (word[0] == '$') {
      while (word != "$end" && in >> word) {
      }
    } else if (word[0] == '#') {
      const uint64_t t = std::stoull(word.substr(1));
      EXPECT_TRUE(first || t >= now) << "time runs backwards at " << t;
      w.times += first || t > now;
      first = false;
      now = w.end_ps = t;
    } else if (word[0] == 'b') {
      std::string code;
      in >> code;
      set(code, word.substr(1));
    } else {
      set(word.substr(1), word.substr(0, 1));
    }
  }
  EXPECT_TRUE(scopes.empty());
  return w;
}

Wave read(const std::string& path) {
  return parse_vcd(fs::path(path).extension() == ".fst" ? fst_text(path) : slurp(path));
}

size_t count_changes(const Wave& w) {
  size_t n = 0;
  for (const auto& [name, changes] : w.signals) n += changes.size();
  return n;
}

const char* const kFormats[] = {"t.fst", "t.vcd"};
constexpr EnumName kStates[] = {{0, "IDLE"}, {1, "FETCH"}, {0xa, "WRITE BACK"}};

TEST_F(Trace, WritesWhatWasReportedInBothFormats) {
  for (const char* name : kFormats) {
    auto sink = open_trace(at(name));
    const SignalId state = sink->declare("sec.channel0", "state", 4, kStates);
    const SignalId line = sink->declare("sec.irq", "line0", 1);
    const SignalId wide = sink->declare("sec.channel0", "CDPR", 64);
    const SignalId cpu = sink->declare("", "top", 2);
    const SignalId never = sink->declare("sec.channel1", "state", 4, kStates);
    (void)never;
    sink->change(0, state, 0);
    sink->change(0, line, 0);
    sink->change(0, cpu, 3);
    sink->change(1500, state, 1);
    sink->change(1500, wide, 0x8000'0000'0000'0001);
    sink->change(2'000'000'000'001, line, 1);
    ASSERT_TRUE(sink->close(2'000'000'000'777)) << name;
    EXPECT_EQ(sink->changes_written(), 6u);
    const Wave expect{.signals = {{"sec.channel0.state[3:0]", {{0, "0"}, {1500, "1"}}},
                                  {"sec.channel1.state[3:0]", {}},
                                  {"sec.irq.line0", {{0, "0"}, {2'000'000'000'001, "1"}}},
                                  {"sec.channel0.CDPR[63:0]", {{1500, "1" + std::string(62, '0') + "1"}}},
                                  {"top[1:0]", {{0, "11"}}}},
                      .end_ps = 2'000'000'000'777};
    EXPECT_EQ(read(at(name)), expect) << name;
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"t.fst", "t.vcd"}));  // and nothing temporary
}

TEST_F(Trace, PutsLateReportsInTimeOrder) {
  for (const char* name : kFormats) {
    auto sink = open_trace(at(name));
    const SignalId a = sink->declare("s", "a", 8), b = sink->declare("s", "b", 8);
    sink->change(300, a, 3);
    sink->change(100, a, 1);
    sink->change(200, b, 2);
    sink->change(150, b, 7);
    sink->commit(150);
    sink->change(150, b, 1);  // exactly at the promise: still allowed
    sink->change(250, a, 2);
    sink->commit(140);  // an older promise adds nothing
    sink->commit(301);
    sink->change(301, b, 9);
    ASSERT_TRUE(sink->close(0));  // an end before the last change does not cut it off
    const Wave expect{.signals = {{"s.a[7:0]", {{100, "1"}, {250, "10"}, {300, "11"}}},
                                  {"s.b[7:0]", {{150, "1"}, {200, "10"}, {301, "1001"}}}},
                      .end_ps = 301};
    EXPECT_EQ(read(at(name)), expect) << name;
  }
}

TEST_F(Trace, LastReportOfOneTimeWinsAndUnchangedValuesAreLeftOut) {
  for (const char* name : kFormats) {
    auto sink = open_trace(at(name));
    const SignalId a = sink->declare("s", "a", 8), b = sink->declare("s", "b", 1);
    sink->change(10, a, 1);
    sink->change(10, a, 2);
    sink->change(20, a, 2);  // same again: neither a value nor a time
    sink->change(30, a, 7);
    sink->change(30, b, 1);
    sink->change(30, a, 2);  // a pulse without duration
    ASSERT_TRUE(sink->close(40));
    EXPECT_EQ(sink->changes_written(), 2u);
    const Wave w = read(at(name));
    EXPECT_EQ(w, (Wave{.signals = {{"s.a[7:0]", {{10, "10"}}}, {"s.b", {{30, "1"}}}}, .end_ps = 40})) << name;
    EXPECT_EQ(w.times, 3u) << name;
  }
}

/// A trace with declarations and no changes looks like success until somebody opens it.
TEST_F(Trace, ChangesReachTheFileWithoutAnyCommit) {
  for (const char* name : kFormats) {
    auto sink = open_trace(at(name));
    const SignalId clock = sink->declare("sec", "clock", 1);
    for (uint64_t t = 0; t < 1000; ++t) sink->change(t * 10, clock, t & 1);
    EXPECT_EQ(sink->changes_written(), 0u);
    ASSERT_TRUE(sink->close(10'000));
    EXPECT_EQ(sink->changes_written(), 1000u);
    EXPECT_EQ(count_changes(read(at(name))), 1000u) << name;
  }
}

TEST_F(Trace, SurvivesARunInWhichNothingHappens) {
  for (const char* name : kFormats) {
    auto sink = open_trace(at(name));
    sink->declare("sec", "clock", 1);
    sink->declare("sec", "wide", 7);
    ASSERT_TRUE(sink->close(500)) << name;
    EXPECT_EQ(sink->changes_written(), 0u);
    EXPECT_EQ(read(at(name)), (Wave{.signals = {{"sec.clock", {}}, {"sec.wide[6:0]", {}}}, .end_ps = 500})) << name;
  }
}

TEST_F(Trace, FstShowsNamesOfValues) {
  auto sink = open_trace(at("t.fst"));
  const SignalId s0 = sink->declare("sec.channel0", "state", 4, kStates);
  const SignalId s1 = sink->declare("sec.channel1", "state", 4, kStates);
  sink->change(0, s0, 0);
  sink->change(0, s1, 10);
  ASSERT_TRUE(sink->close(10));
  const std::string text = fst_text(at("t.fst"), "-e");
  EXPECT_NE(text.find("3 IDLE FETCH WRITE\\040BACK 0000 0001 1010"), std::string::npos) << text;
  // One table for both; each signal refers to it.
  size_t tables = 0, references = 0;
  for (size_t p = 0; (p = text.find("$attrbegin misc 07", p)) != std::string::npos; ++p)
    (text.compare(p, 22, "$attrbegin misc 07 \"\" ") == 0 ? references : tables)++;
  EXPECT_EQ(tables, 1u) << text;
  EXPECT_EQ(references, 2u) << text;
}

TEST_F(Trace, VcdTellsNamesOfValuesInCommentsAndFilterFiles) {
  auto sink = open_trace(at("t.vcd"), {.filter_dir = at("filters/new")});
  const SignalId wide = sink->declare("sec.channel0", "state", 6, kStates);
  sink->declare("sec.channel0", "level", 6);
  sink->change(0, wide, 1);
  ASSERT_TRUE(sink->close(10));
  EXPECT_NE(slurp(at("t.vcd")).find("$comment sec.channel0.state: 0x0 IDLE, 0x1 FETCH, 0xa WRITE BACK $end"),
            std::string::npos);
  EXPECT_EQ(slurp(at("filters/new/sec.channel0.state.txt")),
            "# sec.channel0.state: 6 bits, shown in hexadecimal.\n00 IDLE\n01 FETCH\n0a WRITE BACK\n");
  EXPECT_FALSE(fs::exists(at("filters/new/sec.channel0.level.txt")));
}

TEST_F(Trace, SameRunGivesSameBytes) {
  for (const char* name : kFormats) {
    std::string first;
    for (int round = 0; round < 2; ++round) {
      auto sink = open_trace(at(name));
      const SignalId a = sink->declare("s", "a", 8);
      for (uint64_t t = 0; t < 500; ++t) sink->change(t * 7, a, t & 255);
      ASSERT_TRUE(sink->close(5000));
      if (round == 0) first = slurp(at(name));
    }
    EXPECT_EQ(slurp(at(name)), first) << name;
  }
}

/// Random reports: both formats against a model that keeps everything and sorts it at the end.
TEST_F(Trace, RandomRunsReadBackExactly) {
  const char* given = std::getenv("SEC_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : 20240117;
  for (uint64_t round = 0; round < 30; ++round) {
    SCOPED_TRACE(fmt::format("SEC_SEED={}", seed + round));
    std::mt19937_64 rng(seed + round);
    const size_t count = 1 + rng() % 120;  // more than 94: identifiers of two characters
    std::vector<unsigned> widths;
    std::vector<std::string> scopes;
    for (size_t i = 0; i < count; ++i) {
      widths.push_back(1 + static_cast<unsigned>(rng() % 64));
      std::string scope;
      for (uint64_t depth = rng() % 4; depth > 0; --depth) scope += fmt::format("{}u{}", scope.empty() ? "" : ".", rng() % 3);
      scopes.push_back(scope);
    }
    Window window;
    if (round % 3 == 1) window = {.start_ps = 1 + rng() % 30'000, .stop_ps = 30'001 + rng() % 60'000};

    // A base time advances; reports scatter ahead of it; commits promise the base.
    struct Report {
      uint64_t t, value;
      SignalId id;
    };
    std::vector<Report> reports;
    std::vector<std::pair<size_t, uint64_t>> commits;  // after how many reports
    for (uint64_t base = 0; reports.size() < 2000; base += rng() % 100) {
      for (uint64_t n = rng() % 8; n > 0; --n) {
        const SignalId id = static_cast<SignalId>(rng() % count);
        const uint64_t mask = widths[id] == 64 ? ~0ull : (1ull << widths[id]) - 1;
        reports.push_back({base + rng() % 1000, rng() % 3 == 0 ? rng() & mask & 3 : rng() & mask, id});
      }
      if (rng() % 4 == 0) commits.emplace_back(reports.size(), base);
    }

    Wave expect;
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) {
      names.push_back(fmt::format("{}{}s{}{}", scopes[i], scopes[i].empty() ? "" : ".", i,
                                  widths[i] == 1 ? "" : fmt::format("[{}:0]", widths[i] - 1)));
      std::map<uint64_t, uint64_t> by_time;
      for (const Report& r : reports)
        if (r.id == i && r.t <= window.stop_ps) by_time[r.t] = r.value;
      if (auto from = by_time.upper_bound(window.start_ps); window.start_ps > 0 && from != by_time.begin()) {
        const uint64_t value = std::prev(from)->second;
        by_time.erase(by_time.begin(), from);
        by_time[window.start_ps] = value;
      }
      Changes& changes = expect.signals[names[i]];
      for (const auto& [t, v] : by_time)
        if (std::string text = fmt::format("{:b}", v); changes.empty() || changes.back().second != text)
          changes.emplace_back(t, text);
    }
    uint64_t end = 0;
    for (const Report& r : reports) end = std::max(end, r.t + 17);
    expect.end_ps = std::min(end, window.stop_ps);

    for (const char* name : kFormats) {
      auto sink = open_trace(at(name), {.window = window});
      for (size_t i = 0; i < count; ++i) sink->declare(scopes[i], fmt::format("s{}", i), widths[i]);
      size_t next = 0;
      for (size_t n = 0; n < reports.size(); ++n) {
        for (; next < commits.size() && commits[next].first <= n; ++next) sink->commit(commits[next].second);
        sink->change(reports[n].t, reports[n].id, reports[n].value);
      }
      ASSERT_TRUE(sink->close(end));
      const Wave got = read(at(name));
      ASSERT_EQ(got, expect) << name;
      ASSERT_EQ(sink->changes_written(), count_changes(got));
    }
  }
}

/// FST packs in blocks and VCD flushes a buffer: enough to need several of both.
TEST_F(Trace, LongRunsLoseNothing) {
  for (const char* name : kFormats) {
    auto sink = open_trace(at(name));
    std::vector<SignalId> ids;
    for (int i = 0; i < 9; ++i) ids.push_back(sink->declare("sec", fmt::format("s{}", i), 32));
    uint64_t x = 1;
    for (uint64_t t = 0; t < 60'000; ++t) {
      for (const SignalId id : ids) sink->change(t * 3750, id, (x = x * 6364136223846793005u + 1442695040888963407u) >> 32);
      if (t % 64 == 0) sink->commit(t * 3750);
    }
    ASSERT_TRUE(sink->close(60'000 * 3750));
    EXPECT_GT(sink->changes_written(), 539'000u);
    EXPECT_EQ(count_changes(read(at(name))), sink->changes_written()) << name;
  }
}

// --- Windows ---

TEST_F(Trace, WindowShowsValuesAtItsStartAndNothingOutside) {
  for (const char* name : kFormats) {
    auto sink = open_trace(at(name), {.window = {.start_ps = 100, .stop_ps = 200}});
    const SignalId a = sink->declare("s", "a", 8), b = sink->declare("s", "b", 8), c = sink->declare("s", "c", 8);
    sink->change(0, a, 1);
    sink->change(150, a, 5);
    sink->change(90, a, 3);
    sink->change(50, a, 2);  // older than the one before
    sink->change(100, b, 8);
    sink->commit(100);
    sink->change(100, b, 9);
    sink->change(200, c, 7);
    sink->change(201, c, 6);
    sink->commit(1000);
    ASSERT_TRUE(sink->close(1000));
    EXPECT_EQ(read(at(name)), (Wave{.signals = {{"s.a[7:0]", {{100, "11"}, {150, "101"}}},
                                                {"s.b[7:0]", {{100, "1001"}}},
                                                {"s.c[7:0]", {{200, "111"}}}},
                                    .end_ps = 200}))
        << name;
  }
}

TEST_F(Trace, WindowShowsValuesFromBeforeItWithoutAnyCommit) {
  auto sink = open_trace(at("t.vcd"), {.window = {.start_ps = 100, .stop_ps = 200}});
  const SignalId a = sink->declare("s", "a", 8);
  sink->change(10, a, 1);
  ASSERT_TRUE(sink->close(150));
  EXPECT_EQ(read(at("t.vcd")), (Wave{.signals = {{"s.a[7:0]", {{100, "1"}}}}, .end_ps = 150}));
}

TEST_F(Trace, WindowBehindTheEndOfTheRunStaysEmpty) {
  auto sink = open_trace(at("t.fst"), {.window = {.start_ps = 5000, .stop_ps = 6000}});
  const SignalId a = sink->declare("s", "a", 8);
  sink->change(10, a, 1);
  ASSERT_TRUE(sink->close(4000));
  EXPECT_EQ(sink->changes_written(), 0u);
  EXPECT_EQ(count_changes(read(at("t.fst"))), 0u);
}

TEST_F(Trace, WindowTextNeedsUnitsAndOrder) {
  EXPECT_EQ(parse_window("10us:25us").start_ps, 10'000'000u);
  EXPECT_EQ(parse_window("10us:25us").stop_ps, 25'000'000u);
  EXPECT_EQ(parse_window("1.5ns:").start_ps, 1500u);
  EXPECT_EQ(parse_window("1.5ns:").stop_ps, UINT64_MAX);
  EXPECT_EQ(parse_window(":1s").stop_ps, 1'000'000'000'000u);
  EXPECT_TRUE(parse_window(":").whole_run());
  for (const char* bad : {"", "10us", "10:20", "10us:20", "us:", "-1us:2us", "2us:1us", "1us:1us", "1us:2us:3us", "1 us:2us",
                          "nanus:5us", "1us:1e30s"}) {
    try {
      parse_window(bad, "--window");
      ADD_FAILURE() << "accepted " << bad;
    } catch (const SetupError& e) {
      EXPECT_EQ(std::string(e.what()).find("--window: "), 0u) << e.what();
    }
  }
}

// --- What goes wrong ---

void expect_setup_error(const std::string& path, const std::string& part, const TraceOptions& options = {}) {
  try {
    open_trace(path, options);
    ADD_FAILURE() << "opened " << path;
  } catch (const SetupError& e) {
    const std::string what = e.what();
    EXPECT_EQ(what.find(options.option + ": "), 0u) << what;
    EXPECT_NE(what.find(part), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
  }
}

TEST_F(Trace, RefusesWhatItCannotWriteBeforeAnythingRuns) {
  expect_setup_error(at("t.txt"), ".fst or .vcd");
  expect_setup_error(at("t"), ".fst or .vcd", {.option = "--wave"});
  expect_setup_error("", ".fst or .vcd");
  for (const char* name : kFormats) {
    expect_setup_error(at(std::string("missing/") + name), "missing");
    fs::create_directory(at(name));
    expect_setup_error(at(name), "not a regular file");
    fs::remove(at(name));
    std::ofstream(at("file")) << "x";
    expect_setup_error(at(std::string("file/") + name), "file");
  }
  expect_setup_error(at("t.vcd"), "filter files", {.filter_dir = at("file/filters")});
  EXPECT_EQ(files(), std::vector<std::string>{"file"});
}

TEST_F(Trace, AbandonedTraceLeavesTheOldFileAlone) {
  for (const char* name : kFormats) {
    std::ofstream(at(name)) << "old";
    {
      auto sink = open_trace(at(name));
      const SignalId a = sink->declare("s", "a", 8);
      sink->change(1, a, 1);
      sink->commit(5);
      EXPECT_EQ(slurp(at(name)), "old");
    }
    EXPECT_EQ(slurp(at(name)), "old");
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"t.fst", "t.vcd"}));
}

TEST_F(Trace, WritesThroughASymbolicLink) {
  fs::create_directory(at("real"));
  for (const char* name : kFormats) {
    fs::create_symlink(at(std::string("real/") + name), at(name));
    auto sink = open_trace(at(name));
    sink->change(1, sink->declare("s", "a", 8), 1);
    ASSERT_TRUE(sink->close(5));
    EXPECT_TRUE(fs::is_symlink(at(name)));
    EXPECT_TRUE(fs::is_regular_file(at(std::string("real/") + name)));
  }
}

/// A full disk, played by a limit on file sizes: close() must tell, and the old file stay.
TEST_F(Trace, TellsWhenTheFileCouldNotBeWrittenCompletely) {
  ::signal(SIGXFSZ, SIG_IGN);
  for (const char* name : kFormats) {
    for (const rlim_t limit : {rlim_t{700}, rlim_t{20'000}, rlim_t{100'000}}) {
      std::ofstream(at(name)) << "old";
      auto sink = open_trace(at(name));
      std::vector<SignalId> ids;
      for (int i = 0; i < 9; ++i) ids.push_back(sink->declare("sec", fmt::format("s{}", i), 32));
      std::mt19937_64 rng(1);
      for (uint64_t t = 0; t < 20'000; ++t)
        for (const SignalId id : ids) sink->change(t * 3750, id, rng() & 0xffffffff);
      rlimit old{};
      ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
      rlimit small = old;
      small.rlim_cur = limit;
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
      const bool ok = sink->close(80'000'000);
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
      EXPECT_FALSE(ok) << name << " " << limit;
      sink.reset();
      EXPECT_EQ(slurp(at(name)), "old") << name << " " << limit;
    }
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"t.fst", "t.vcd"}));
}

using TraceDeathTest = Trace;

TEST_F(TraceDeathTest, BugsOfAReporterAreNotDrawn) {
  auto sink = open_trace(at("t.vcd"));
  EXPECT_DEATH(sink->close(1), "at least one signal");
  EXPECT_DEATH(sink->declare("s", "a", 0), "1 to 64 bits");
  EXPECT_DEATH(sink->declare("s", "a", 65), "1 to 64 bits");
  EXPECT_DEATH(sink->declare("s", "a b", 1), "letters");
  EXPECT_DEATH(sink->declare("s..t", "a", 1), "letters");
  EXPECT_DEATH(sink->declare("s", "a", 3, kStates), "named value");
  const SignalId a = sink->declare("s", "a", 3);
  EXPECT_DEATH(sink->declare("s", "a", 3), "twice");
  EXPECT_DEATH(sink->change(1, a, 8), "s.a");
  EXPECT_DEATH(sink->change(1, a + 1, 0), "not declared");
  sink->change(5, a, 1);
  EXPECT_DEATH(sink->declare("s", "b", 3), "after the first change");
  sink->commit(100);
  EXPECT_DEATH(sink->change(99, a, 2), "99 ps");
  EXPECT_TRUE(sink->close(100));
  EXPECT_TRUE(sink->close(100));
  EXPECT_DEATH(sink->change(200, a, 2), "closed");
}

}  // namespace
}  // namespace sec::trace
