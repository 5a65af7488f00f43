// Flow control, ordering, interrupts, error recovery, lifetimes: the driver against an engine that is stalled,
// fails, overflows, hangs, or runs ahead.
#include <algorithm>
#include <set>

#include "hw/regs/variants.h"
#include "tests/driver/harness.h"

namespace sec::test {
namespace {

using Fate = FakeEngine::Fate;

struct Burst {
  Burst(Harness& harness, const std::string& alg, uint64_t seed = 1) : h(harness), name(alg), rng(seed) {
    key = random_bytes(rng, alg.find("aes") != std::string::npos ? 16 : 8);
    transform = h.cipher(alg, key);
  }
  Status submit(size_t n, uint32_t flags = 0) {
    inputs.push_back(random_bytes(rng, n));
    ivs.push_back(random_bytes(rng, transform->info().iv_bytes));
    jobs.push_back(std::make_unique<Job>(h, inputs.back(), ivs.back(), flags));
    jobs.back()->id = int(jobs.size()) - 1;
    jobs.back()->order = &order;
    codes.push_back(transform->encrypt(jobs.back()->request));
    return codes.back();
  }
  bool right(size_t i) {
    Bytes iv = ivs[i];
    return jobs[i]->result() == reference(name, key, &iv, inputs[i], true) && jobs[i]->iv == iv;
  }
  /// One final callback for what was accepted, none for the rest, results right, in order.
  void expect_all_good() {
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (!accepted(codes[i])) {
        EXPECT_EQ(jobs[i]->finished, 0u) << i;
        continue;
      }
      EXPECT_EQ(jobs[i]->finished, 1u) << i;
      EXPECT_EQ(jobs[i]->started, codes[i] == Status::Busy ? 1u : 0u) << i;
      EXPECT_EQ(jobs[i]->status, Status::Ok) << i;
      EXPECT_TRUE(right(i)) << i;
    }
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  }
  size_t count(Status s) const { return size_t(std::count(codes.begin(), codes.end(), s)); }

  Harness& h;
  std::string name;
  std::mt19937_64 rng;
  Bytes key;
  std::unique_ptr<crypto::Skcipher> transform;
  std::vector<Bytes> inputs, ivs;
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<Status> codes;
  std::vector<int> order;
};

// --- Back-pressure ---------------------------------------------------------------------------------------------

// T30
TEST(Flow, AtMostFifoLengthMinusOneAreOutstanding) {
  for (const bool backlog : {true, false}) {
    Harness h;
    Burst b(h, "cbc(aes)");
    for (int i = 0; i < 200; ++i) static_cast<void>(b.submit(32, backlog ? crypto::kMayBacklog : 0u));
    EXPECT_EQ(b.count(Status::InProgress), 23u);
    EXPECT_EQ(b.count(backlog ? Status::Busy : Status::NoSpace), 177u);
    EXPECT_EQ(h.engine.fifo_level(1), 23u);
    h.engine.run();
    EXPECT_EQ(h.engine.single_overflows, 0u);
    b.expect_all_good();
    EXPECT_EQ(h.device->outstanding(), 0u);
    EXPECT_EQ(h.device->stats().channel[1].max_in_flight, 23u);
  }
}

// S05: exactly one final status each, at several queue lengths; callers that stop after Busy and ones that do not.
TEST(Flow, BacklogContractOverManyRequests) {
  for (const unsigned fifo : {2u, 3u, 24u}) {
    Harness h({.fifo_entries = fifo});
    const Bytes key(16, 1);
    auto t = h.cipher("ecb(aes)", key);
    struct Context {
      unsigned started = 0, finished = 0;
      Status code = Status::Ok;
    };
    const unsigned total = 33'000;
    std::vector<Context> contexts(total);
    auto* memory = static_cast<uint8_t*>(h.dma().alloc(16));
    crypto::Segment segment{memory, 16};
    crypto::ScatterList list(&segment, 1);
    std::vector<crypto::SkcipherRequest> requests(total);
    std::mt19937_64 rng(fifo);
    for (unsigned i = 0; i < total; ++i) {
      requests[i] = {.src = &list,
                     .dst = &list,
                     .size_bytes = 16,
                     .flags = rng() % 2 ? crypto::kMayBacklog : 0u,
                     .complete =
                         [](void* c, Status s) {
                           auto* x = static_cast<Context*>(c);
                           if (s == Status::InProgress) {
                             EXPECT_EQ(x->finished, 0u);
                             ++x->started;
                           } else {
                             EXPECT_EQ(s, Status::Ok);
                             ++x->finished;
                           }
                         },
                     .context = &contexts[i]};
      contexts[i].code = t->encrypt(requests[i]);
      if (rng() % (2 * fifo) == 0)
        for (uint64_t k = rng() % (3 * fifo); k--;) {
          h.engine.step(1);
          if (rng() % 3 == 0) h.engine.deliver();
        }
    }
    h.engine.run();
    unsigned busy = 0, refused = 0;
    for (const Context& c : contexts) {
      busy += c.code == Status::Busy;
      refused += c.code == Status::NoSpace;
      EXPECT_EQ(c.finished, accepted(c.code) ? 1u : 0u);
      EXPECT_EQ(c.started, c.code == Status::Busy ? 1u : 0u);
    }
    EXPECT_GT(busy, 1000u);
    EXPECT_GT(refused, 1000u);
    EXPECT_EQ(h.engine.single_overflows, 0u);
    EXPECT_EQ(h.device->stats().backlogged, busy);
    EXPECT_EQ(h.device->stats().refused_full, refused);
  }
}

// S10: a disk on a short FIFO, one request per 512-byte sector.
TEST(Flow, DiskSectorsOnAShortFifo) {
  Harness h({.dma_bytes = 16 << 20, .fifo_entries = 4, .automatic = false});
  std::mt19937_64 rng(10);
  const Bytes key = random_bytes(rng, 32);
  auto t = h.cipher("cbc(aes)", key);
  const size_t sectors = 8192;
  auto* memory = static_cast<uint8_t*>(h.dma().alloc(sectors * 512));
  const Bytes plain = random_bytes(rng, sectors * 512);
  std::memcpy(memory, plain.data(), plain.size());
  struct Sector {
    crypto::Segment segment;
    crypto::ScatterList list;
    uint8_t iv[16];
    crypto::SkcipherRequest r;
    Status status = Status::InProgress;
  };
  std::vector<Sector> all(sectors);
  for (size_t i = 0; i < sectors; ++i) {
    Sector& s = all[i];
    s.segment = {memory + 512 * i, 512};
    s.list = crypto::ScatterList(&s.segment, 1);
    std::memset(s.iv, 0, 16);
    std::memcpy(s.iv, &i, 8);
    s.r = {.src = &s.list,
           .dst = &s.list,
           .size_bytes = 512,
           .iv = s.iv,
           .flags = crypto::kMayBacklog,
           .complete =
               [](void* c, Status x) {
                 if (x != Status::InProgress) static_cast<Sector*>(c)->status = x;
               },
           .context = &s};
    ASSERT_TRUE(accepted(t->encrypt(s.r)));
    if (i % 256 == 255) h.engine.run();
  }
  h.engine.run();
  for (size_t i = 0; i < sectors; ++i) {
    ASSERT_EQ(all[i].status, Status::Ok);
    Bytes iv(16, 0);
    std::memcpy(iv.data(), &i, 8);
    ASSERT_EQ(Bytes(memory + 512 * i, memory + 512 * i + 512),
              reference("cbc(aes)", key, &iv, Bytes(plain.begin() + long(512 * i), plain.begin() + long(512 * i + 512)),
                        true));
  }
}

// --- Order and channels --------------------------------------------------------------------------------------

// T49
TEST(Order, OneTransformCompletesInOrder) {
  Harness h({.dma_bytes = 16 << 20});
  Burst b(h, "cbc(aes)");
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(accepted(b.submit(i % 2 ? 16384 : 16, crypto::kMayBacklog)));
    if (i % 50 == 49) h.engine.step(1);
  }
  h.engine.run();
  b.expect_all_good();
  EXPECT_EQ(b.order.size(), 200u);
}

TEST(Order, LongRequestsKeepTheirPlace) {
  for (const unsigned fifo : {24u, 3u}) {
    Harness h({.dma_bytes = 64 << 20, .fifo_entries = fifo});
    Burst b(h, "cbc(aes)");
    for (int i = 0; i < 24; ++i) {
      ASSERT_TRUE(accepted(b.submit(i % 6 == 2 ? 400'000 : 64, crypto::kMayBacklog)));
      if (i % 5 == 4) {
        h.engine.step(1);
        h.engine.deliver();
      }
    }
    h.engine.run();
    b.expect_all_good();
    EXPECT_EQ(b.order.size(), 24u);
  }
}

TEST(Order, TransformsAreSpreadOverChannelsFromOne) {
  for (const bool selftest : {false, true}) {
    Harness h({}, selftest);
    const size_t before = h.engine.executed.size();
    std::vector<std::unique_ptr<crypto::Skcipher>> transforms;
    std::vector<std::unique_ptr<Job>> jobs;
    for (int i = 0; i < 6; ++i) {
      transforms.push_back(h.cipher("cbc(aes)", Bytes(16, uint8_t(i))));
      jobs.push_back(std::make_unique<Job>(h, Bytes(16, 0), Bytes(16, 0)));
      ASSERT_EQ(transforms.back()->encrypt(jobs.back()->request), Status::InProgress);
      h.engine.run();
    }
    std::vector<unsigned> used;
    for (size_t i = before; i < h.engine.executed.size(); ++i) used.push_back(h.engine.executed[i].first);
    EXPECT_EQ(used, (std::vector<unsigned>{1, 2, 3, 0, 1, 2}));
  }
}

// T31: a burst of packets with the engine stalled, across a channel reset: every IV that the engine sees is its own.
TEST(Order, IvsInABurstStayApart) {
  Harness h;
  h.device->set_request_timeout_ns(1000);
  Burst b(h, "cbc(aes)");
  h.engine.fate = [](unsigned, uint64_t number) { return number == 40 ? Fate::Hang : Fate::Run; };
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(accepted(b.submit(64, crypto::kMayBacklog)));
  h.engine.run();
  for (int i = 0; i < 3; ++i) {
    h.device->poll_timeouts();
    h.engine.advance_ns(2000);
  }
  h.engine.run();
  std::set<std::array<uint8_t, 16>> seen(h.engine.ivs_seen.begin(), h.engine.ivs_seen.end());
  EXPECT_EQ(seen.size(), 199u);
  EXPECT_EQ(h.engine.ivs_seen.size(), 199u);
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(b.jobs[i]->status, i == 40 ? Status::TimedOut : Status::Ok) << i;
    if (i != 40) {
      EXPECT_TRUE(b.right(i));
    }
  }
}

// --- Interrupts ------------------------------------------------------------------------------------------------

// T29: completions at every point between interrupt and unmask are served by one more interrupt at most.
TEST(Interrupts, NoCompletionIsLost) {
  for (unsigned first = 1; first <= 20; ++first)
    for (unsigned during = 0; during <= 20; ++during) {
      Harness h;
      Burst b(h, "ecb(aes)");
      for (int i = 0; i < 60; ++i) ASSERT_TRUE(accepted(b.submit(16, crypto::kMayBacklog)));
      for (unsigned i = 0; i < first; ++i) h.engine.step(1);
      h.engine.deliver();
      for (unsigned i = 0; i < during; ++i) h.engine.step(1);
      const uint64_t before = h.engine.handler_calls;
      h.engine.deliver();
      const size_t done = b.order.size();
      EXPECT_EQ(done, first + during);  // the ring is refilled from the backlog meanwhile
      EXPECT_LE(h.engine.handler_calls - before, 2u);
      h.engine.run();
      b.expect_all_good();
    }
}

/// Steps the engine from inside completion callbacks, while done interrupts are masked.
struct Stepper {
  Harness* h;
  unsigned step_after = 0;  // completions
  unsigned steps = 0;
  unsigned seen = 0;
  static void complete(void* c, Status s) {
    if (s == Status::InProgress) return;
    auto* x = static_cast<Stepper*>(c);
    EXPECT_EQ(s, Status::Ok);
    if (x->seen++ == x->step_after)
      for (unsigned i = 0; i < x->steps; ++i) x->h->engine.step(1);
  }
};

TEST(Interrupts, CompletionsDuringTheDoneTaskAreServed) {
  for (unsigned after = 0; after < 6; ++after)
    for (unsigned steps = 1; steps < 20; ++steps) {
      Harness h;
      auto t = h.cipher("ecb(aes)", Bytes(16, 1));
      Stepper stepper{&h, after, steps};
      std::vector<std::unique_ptr<Job>> jobs;
      for (int i = 0; i < 23; ++i) {
        jobs.push_back(std::make_unique<Job>(h, Bytes(16, uint8_t(i)), Bytes{}));
        jobs.back()->request.complete = Stepper::complete;
        jobs.back()->request.context = &stepper;
        ASSERT_EQ(t->encrypt(jobs.back()->request), Status::InProgress);
      }
      for (int i = 0; i < 6; ++i) h.engine.step(1);
      h.engine.deliver();
      EXPECT_EQ(stepper.seen, std::min(6 + steps, 23u));
      h.engine.run();
      EXPECT_EQ(stepper.seen, 23u);
    }
}

// More than 15 stored events: the engine loses some, the headers tell all the same.
TEST(Interrupts, DoneOverflowLosesNothing) {
  Harness h;
  Burst b(h, "ecb(aes)");
  for (int i = 0; i < 23; ++i) ASSERT_EQ(b.submit(16), Status::InProgress);
  for (int i = 0; i < 23; ++i) h.engine.step(1);
  h.engine.deliver();
  b.expect_all_good();
  EXPECT_EQ(b.order.size(), 23u);
  EXPECT_GE(h.device->stats().done_overflows, 1u);
  EXPECT_EQ(h.device->stats().max_dones_per_task, 23u);
}

TEST(Interrupts, BothLinesServeTheirChannels) {
  for (const regs::Part& part : regs::kParts) {
    Harness h({.part = &part});
    std::vector<std::unique_ptr<Burst>> bursts;
    for (int i = 0; i < 4; ++i)
      bursts.push_back(std::make_unique<Burst>(h, i % 2 ? "cbc(aes)" : "ctr(aes)", uint64_t(i)));
    for (int k = 0; k < 40; ++k)
      for (auto& b : bursts) ASSERT_TRUE(accepted(b->submit(size_t(16 * (k + 1)), crypto::kMayBacklog)));
    h.engine.run();
    for (auto& b : bursts) b->expect_all_good();
  }
}

// --- Errors ----------------------------------------------------------------------------------------------------

// T27: the failing descriptor at every position, across the ring's wrap; neighbours unharmed; one block of text.
TEST(Errors, OnlyTheOffenderFails) {
  for (const Fate fate : {Fate::UnitError, Fate::BusError, Fate::IllegalHeader})
    for (const unsigned start : {0u, 25u})
      for (unsigned bad = 0; bad < 20; ++bad)
        for (const bool stepwise : {false, true}) {
          Harness h;
          Burst b(h, "cbc(aes)");
          for (unsigned i = 0; i < start; ++i) {
            ASSERT_EQ(b.submit(16), Status::InProgress);
            h.engine.run();
          }
          h.engine.fate = [&](unsigned, uint64_t n) { return n == start + bad ? fate : Fate::Run; };
          const size_t lines = h.engine.log_lines.size();
          for (int i = 0; i < 20; ++i) ASSERT_EQ(b.submit(32), Status::InProgress);
          if (stepwise)
            h.engine.run();
          else  // everything up to the halt, then one interrupt with done and error bits
            while (h.engine.step(1)) {
            }
          h.engine.run();
          h.engine.deliver();
          h.engine.run();
          for (size_t i = start; i < b.jobs.size(); ++i) {
            ASSERT_EQ(b.jobs[i]->finished, 1u) << i;
            ASSERT_EQ(b.jobs[i]->status, i == start + bad ? Status::Invalid : Status::Ok) << i;
            if (i != start + bad) {
              ASSERT_TRUE(b.right(i)) << i;
            }
          }
          EXPECT_TRUE(std::is_sorted(b.order.begin(), b.order.end()));
          ASSERT_EQ(h.engine.log_lines.size(), lines + 1);
          if (fate == Fate::UnitError) {
            EXPECT_NE(h.engine.log_lines.back().find("AESU interrupt status 00000100 (DSE)"), std::string::npos);
            EXPECT_EQ(h.engine.log_lines.back().find("MDEU"), std::string::npos);
          }
          EXPECT_EQ(h.device->stats().descriptor_errors, 1u);
          // The IV of a failed request is not touched.
          EXPECT_EQ(b.jobs[start + bad]->iv, b.ivs[start + bad]);
        }
}

TEST(Errors, SeveralOffendersInARow) {
  Harness h;
  Burst b(h, "cbc(aes)");
  h.engine.fate = [](unsigned, uint64_t n) { return n % 3 == 1 || n % 7 == 2 ? Fate::UnitError : Fate::Run; };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(accepted(b.submit(32, crypto::kMayBacklog)));
  h.engine.run();
  for (size_t i = 0; i < 100; ++i)
    EXPECT_EQ(b.jobs[i]->status, i % 3 == 1 || i % 7 == 2 ? Status::Invalid : Status::Ok) << i;
}

TEST(Errors, UnitIsNamed) {
  for (const auto& [alg, unit] :
       {std::pair{"cbc(des)", "DEU interrupt status"}, std::pair{"ctr(aes)", "AESU interrupt status"}}) {
    Harness h;
    h.engine.fate = [](unsigned, uint64_t) { return Fate::UnitError; };
    Burst b(h, alg);
    ASSERT_EQ(b.submit(16), Status::InProgress);
    h.engine.run();
    EXPECT_EQ(b.jobs[0]->status, Status::Invalid);
    EXPECT_NE(h.engine.log_lines.back().find(std::string("; ") + unit), std::string::npos) << h.engine.log_lines.back();
  }
}

TEST(Errors, ChannelThatWillNotContinueResetsTheEngine) {
  Harness h;
  Burst b(h, "cbc(aes)");
  h.engine.fate = [](unsigned, uint64_t n) { return n == 3 ? Fate::UnitError : Fate::Run; };
  h.engine.ignore_continue = true;
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(accepted(b.submit(32, crypto::kMayBacklog)));
  h.engine.run();
  for (size_t i = 0; i < 40; ++i) {
    // Three of the backlog had taken the places of the first three.
    const Status want = i < 3 || i >= 26 ? Status::Ok : i == 3 ? Status::Invalid : Status::Io;
    EXPECT_EQ(b.jobs[i]->status, want) << i;
    EXPECT_EQ(b.jobs[i]->finished, 1u);
    if (want == Status::Ok) {
      EXPECT_TRUE(b.right(i));
    }
  }
  EXPECT_EQ(h.device->stats().device_resets, 1u);
  ASSERT_EQ(b.submit(32), Status::InProgress);
  h.engine.run();
  EXPECT_EQ(b.jobs.back()->status, Status::Ok);
}

TEST(Errors, DeadEngineFailsEverythingAndSaysSo) {
  Harness h;
  Burst b(h, "cbc(aes)");
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(accepted(b.submit(32, crypto::kMayBacklog)));
  ASSERT_TRUE(accepted(b.submit(300'000, crypto::kMayBacklog)));
  h.engine.ignore_reset = true;
  h.engine.raise_device_error(0x10000, 0);
  h.engine.deliver();
  for (const auto& j : b.jobs) {
    EXPECT_EQ(j->finished, 1u);
    EXPECT_EQ(j->status, Status::Io);
  }
  EXPECT_EQ(h.device->outstanding(), 0u);
  EXPECT_EQ(b.submit(32), Status::Io);
  h.engine.ignore_reset = false;
}

TEST(Errors, FailedPieceEndsALongRequestOnce) {
  for (const unsigned fifo : {24u, 4u})
    for (unsigned bad = 0; bad < 7; ++bad) {
      Harness h({.fifo_entries = fifo});
      const size_t memory = h.dma().allocated_bytes();
      {
        Burst b(h, "cbc(aes)");
        h.engine.fate = [&](unsigned, uint64_t n) { return n == bad ? Fate::UnitError : Fate::Run; };
        ASSERT_EQ(b.submit(400'000), Status::InProgress);
        ASSERT_TRUE(accepted(b.submit(64, crypto::kMayBacklog)));
        h.engine.run();
        EXPECT_EQ(b.jobs[0]->finished, 1u);
        EXPECT_EQ(b.jobs[0]->status, Status::Invalid);
        EXPECT_EQ(b.jobs[0]->iv, b.ivs[0]);
        EXPECT_EQ(b.jobs[1]->status, Status::Ok);
        EXPECT_TRUE(b.right(1));
        EXPECT_EQ(h.device->outstanding(), 0u);
      }
      EXPECT_EQ(h.dma().allocated_bytes(), memory);
    }
}

// --- Overflow --------------------------------------------------------------------------------------------------

TEST(Overflow, DroppedDescriptorAloneMayBeSentAgain) {
  for (unsigned lost = 0; lost < 23; ++lost)
    for (const bool sec3 : {true, false}) {
      Harness h({.part = regs::find_part(sec3 ? "p2020" : "mpc8548")});
      Burst b(h, "cbc(aes)");
      h.engine.drop = [&](unsigned, uint64_t n) { return n == lost; };
      for (int i = 0; i < 23; ++i) ASSERT_EQ(b.submit(32), Status::InProgress);
      h.engine.deliver();
      h.engine.run();
      for (size_t i = 0; i < 23; ++i) {
        ASSERT_EQ(b.jobs[i]->status, i == lost ? Status::Again : Status::Ok) << i << " lost " << lost;
        if (i != lost) {
          EXPECT_TRUE(b.right(i));
        }
      }
      EXPECT_EQ(h.device->stats().single_overflows, 1u);
      EXPECT_EQ(h.device->stats().dropped, 1u);
      EXPECT_EQ(h.device->stats().channel_resets, 0u);
      ASSERT_EQ(b.submit(32), Status::InProgress);
      h.engine.run();
      EXPECT_TRUE(b.right(23));
    }
}

TEST(Overflow, DoubleOverflowResetsTheChannelOnly) {
  Harness h;
  Burst other(h, "ecb(aes)");  // channel 1
  Burst b(h, "cbc(aes)");      // channel 2
  h.engine.drop = [](unsigned ch, uint64_t n) { return ch == 2 && (n == 5 || n == 6); };
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(other.submit(16), Status::InProgress);
    ASSERT_EQ(b.submit(32), Status::InProgress);
  }
  h.engine.run();
  other.expect_all_good();
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(b.jobs[i]->finished, 1u);
    EXPECT_EQ(b.jobs[i]->status, Status::Again) << i;
  }
  EXPECT_EQ(h.device->stats().double_overflows, 1u);
  h.engine.drop = nullptr;
  ASSERT_EQ(b.submit(32), Status::InProgress);
  h.engine.run();
  EXPECT_TRUE(b.right(8));
}

// --- Time limit ------------------------------------------------------------------------------------------------

TEST(Timeout, HungRequestEndsAndNeighboursRun) {
  Harness h;
  h.device->set_request_timeout_ns(1'000'000);
  Burst b(h, "cbc(aes)");
  h.engine.fate = [](unsigned, uint64_t n) { return n == 5 ? Fate::Hang : Fate::Run; };
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(accepted(b.submit(32, crypto::kMayBacklog)));
  h.engine.run();
  EXPECT_EQ(b.order.size(), 5u);
  EXPECT_FALSE(h.device->poll_timeouts());  // starts to watch
  h.engine.advance_ns(900'000);
  EXPECT_FALSE(h.device->poll_timeouts());
  h.engine.advance_ns(200'000);
  EXPECT_TRUE(h.device->poll_timeouts());
  h.engine.run();
  for (size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(b.jobs[i]->status, i == 5 ? Status::TimedOut : Status::Ok) << i;
    EXPECT_EQ(b.jobs[i]->finished, 1u);
    if (i != 5) {
      EXPECT_TRUE(b.right(i));
    }
  }
  EXPECT_TRUE(std::is_sorted(b.order.begin(), b.order.end()));
  EXPECT_EQ(h.device->stats().timeouts, 1u);
}

TEST(Timeout, IsOffByDefault) {
  Harness h;
  Burst b(h, "cbc(aes)");
  h.engine.fate = [](unsigned, uint64_t) { return Fate::Hang; };
  ASSERT_EQ(b.submit(32), Status::InProgress);
  h.engine.run();
  h.engine.advance_ns(~uint64_t{0} / 2);
  EXPECT_FALSE(h.device->poll_timeouts());
  EXPECT_FALSE(h.device->poll_timeouts());
  EXPECT_EQ(b.jobs[0]->finished, 0u);
  b.transform.reset();
  h.device.reset();  // unloading ends it
  EXPECT_EQ(b.jobs[0]->status, Status::Io);
}

// --- Lifetimes and resources -----------------------------------------------------------------------------------

// S06: the callback frees the request and, the last one, the transform; or submits the same request again.
TEST(Lifetime, CallbackFreesRequestAndTransform) {
  for (const bool automatic : {false, true}) {
    Harness h({.automatic = automatic});
    const size_t memory = h.dma().allocated_bytes();
    struct Owned {
      std::unique_ptr<Job> job;
      std::shared_ptr<crypto::Skcipher> transform;
      unsigned* freed;
    };
    unsigned freed = 0;
    {
      std::shared_ptr<crypto::Skcipher> t = h.cipher("cbc(aes)", Bytes(16, 1));
      for (int i = 0; i < 50; ++i) {
        auto* o = new Owned{std::make_unique<Job>(h, Bytes(64, 1), Bytes(16, 2), crypto::kMayBacklog), t, &freed};
        o->job->request.context = o;
        o->job->request.complete = [](void* c, Status s) {
          if (s == Status::InProgress) return;
          auto* x = static_cast<Owned*>(c);
          ++*x->freed;
          delete x;
        };
        ASSERT_TRUE(accepted(t->encrypt(o->job->request)));
      }
    }
    h.engine.run();
    EXPECT_EQ(freed, 50u);
    EXPECT_EQ(h.dma().allocated_bytes(), memory);
  }
}

TEST(Lifetime, CallbackSubmitsTheSameRequestAgain) {
  for (const bool automatic : {false, true}) {
    Harness h({.automatic = automatic});
    auto t = h.cipher("ctr(aes)", Bytes(16, 1));
    struct Loop {
      crypto::Skcipher* t;
      crypto::SkcipherRequest* r;
      unsigned left;
    };
    Job j(h, Bytes(100, 1), Bytes(16, 2));
    Loop loop{t.get(), &j.request, 5000};
    j.request.context = &loop;
    j.request.complete = [](void* c, Status s) {
      auto* l = static_cast<Loop*>(c);
      EXPECT_EQ(s, Status::Ok);
      if (--l->left) {
        EXPECT_EQ(l->t->encrypt(*l->r), Status::InProgress);
      }
    };
    ASSERT_EQ(t->encrypt(j.request), Status::InProgress);
    while (loop.left && h.engine.run()) {
    }
    EXPECT_EQ(loop.left, 0u);
  }
}

// Interrupts may come between the two words of the doorbell, and their callbacks submit: ring and FIFO stay in step.
TEST(Order, CallbackThatSubmitsInsideADoorbell) {
  Harness h;
  auto t = h.cipher("ecb(aes)", Bytes(16, 1));
  Job first(h, Bytes(16, 1), {}), second(h, Bytes(16, 2), {}), inner(h, Bytes(16, 3), {});
  struct Chain {
    crypto::Skcipher* t;
    Job* inner;
  } chain{t.get(), &inner};
  first.request.context = &chain;
  first.request.complete = [](void* c, Status) {
    auto* x = static_cast<Chain*>(c);
    EXPECT_EQ(x->t->encrypt(x->inner->request), Status::InProgress);
  };
  ASSERT_EQ(t->encrypt(first.request), Status::InProgress);
  h.engine.step(1);  // done, but nobody has been told yet
  h.engine.deliver_on_write = true;
  h.engine.fate = [](unsigned, uint64_t n) { return n == 1 ? Fate::UnitError : Fate::Run; };
  ASSERT_EQ(t->encrypt(second.request), Status::InProgress);
  h.engine.run();
  EXPECT_LT(h.engine.executed[1].second, h.engine.executed[2].second);
  EXPECT_EQ(inner.status, Status::Invalid);
  EXPECT_EQ(second.status, Status::Ok);
}

// Completions come before submit returns.
TEST(Lifetime, EngineThatFinishesWithinTheDoorbell) {
  Harness h({.dma_bytes = 32 << 20, .automatic = true}, true);
  for (const auto& a : h.registry.list()) EXPECT_EQ(a.selftest, crypto::SelfTest::Passed);
  Burst b(h, "cbc(aes)");
  for (size_t n : {16u, 4096u, 65520u, 65536u, 1000000u, 16u}) {
    EXPECT_EQ(b.submit(n), Status::InProgress);
    EXPECT_EQ(b.jobs.back()->finished, 1u) << n;
  }
  b.expect_all_good();
  EXPECT_EQ(h.device->outstanding(), 0u);
}

// T34: the DMA memory runs out at the n-th allocation of probe, registration and requests.
TEST(Resources, FailingAllocationsAreCleanErrors) {
  unsigned probed = 0, refused = 0;
  for (size_t leave = 0; leave < 400'000; leave += 1500) {
    FakeEngine engine({.dma_bytes = 1 << 20, .bounce_slots = 8});
    driver::DmaSpace& dma = engine.dma();
    const size_t start = dma.allocated_bytes();
    void* hog = dma.alloc(dma.size_bytes() - start - leave);
    if (!hog) continue;
    const size_t with_hog = dma.allocated_bytes();
    {
      crypto::Registry registry;
      registry.set_selftest_enabled(false);
      driver::Device device(engine);
      const Status s = device.probe(engine.properties());
      if (s != Status::Ok) {
        EXPECT_EQ(s, Status::NoMemory);
        EXPECT_EQ(device.register_algorithms(registry), Status::Invalid);
        EXPECT_EQ(dma.allocated_bytes(), with_hog);
        ++refused;
        continue;
      }
      ++probed;
      EXPECT_EQ(device.register_algorithms(registry), Status::Ok);
      {
        auto t = registry.alloc_skcipher("cbc(aes)");
        const Status k = t->set_key(Bytes(16, 1));
        EXPECT_TRUE(k == Status::Ok || k == Status::NoMemory);
        // 40 segments need a table of their own; the memory lies outside, so that every piece bounces.
        Bytes memory(640, 3), iv(16, 4);
        std::vector<crypto::Segment> v;
        for (size_t i = 0; i < 40; ++i) v.push_back({memory.data() + 16 * i, 16});
        crypto::ScatterList list(v.data(), v.size());
        unsigned done = 0;
        crypto::SkcipherRequest r{.src = &list,
                                  .dst = &list,
                                  .size_bytes = 640,
                                  .iv = iv.data(),
                                  .complete = [](void* c, Status) { ++*static_cast<unsigned*>(c); },
                                  .context = &done};
        const Status e = t->encrypt(r);
        EXPECT_EQ(e, k == Status::Ok ? Status::NoMemory : Status::NoKey);  // 40 pieces, 8 slots
        EXPECT_EQ(dma.bounce_slots_used(), 0u);
        list.count = 4;
        r.size_bytes = 64;
        if (k == Status::Ok) {
          EXPECT_EQ(t->encrypt(r), Status::InProgress);
          engine.run();
          EXPECT_EQ(done, 1u);
        }
      }
    }
    EXPECT_EQ(dma.allocated_bytes(), with_hog);
  }
  EXPECT_GT(probed, 10u);
  EXPECT_GT(refused, 10u);
}

// T40
TEST(Resources, LoadAndUnloadManyTimes) {
  FakeEngine engine({.part = regs::find_part("mpc8548")});
  const size_t memory = engine.dma().allocated_bytes();
  size_t all = 0, fewer = 0;
  for (int i = 0; i < 1000; ++i) {
    crypto::Registry registry;
    registry.set_selftest_enabled(i % 50 == 0);
    registry.set_pump([&] { return engine.run(); });
    driver::Device device(engine);
    driver::DeviceProperties p = engine.properties();
    if (i % 3 == 1) p.exec_units_mask = 0x40;  // some algorithms are skipped
    ASSERT_EQ(device.probe(p), Status::Ok);
    ASSERT_EQ(device.register_algorithms(registry), Status::Ok);
    if (i == 0) all = registry.list().size();
    if (i == 1) fewer = registry.list().size();
    ASSERT_EQ(registry.list().size(), i % 3 == 1 ? fewer : all);
    ASSERT_TRUE(i < 1 || fewer < all);
    if (i % 2) device.unregister();
    if (i % 2) {
      ASSERT_TRUE(registry.list().empty());
    }
  }
  EXPECT_EQ(engine.dma().allocated_bytes(), memory);
}

TEST(Resources, SelfTestThatNeverEndsFailsByName) {
  FakeEngine engine;
  crypto::Registry registry;
  unsigned pumps = 0;
  registry.set_pump([&] {
    engine.run();
    return ++pumps < 100;
  });
  engine.fate = [](unsigned, uint64_t) { return Fate::Hang; };
  driver::Device device(engine);
  ASSERT_EQ(device.probe(engine.properties()), Status::Ok);
  ASSERT_EQ(device.register_algorithms(registry), Status::Ok);
  for (const auto& a : registry.list()) {
    EXPECT_EQ(a.selftest, crypto::SelfTest::Failed);
    EXPECT_NE(registry.selftest_failure(a.driver).find("never completed"), std::string::npos);
  }
  EXPECT_EQ(registry.alloc_skcipher("cbc(aes)"), nullptr);
}

}  // namespace
}  // namespace sec::test
