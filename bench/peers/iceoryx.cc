// iceoryx: one untyped publisher and subscriber for each direction, payloads in loans, a publisher
// that waits for its subscriber. Polling takes repeatedly; sleeping waits in a WaitSet. The bench
// starts its daemon, with memory pools for these tests.

#include <iceoryx_hoofs/log/logmanager.hpp>
#include <iceoryx_posh/internal/runtime/posh_runtime_impl.hpp>
#include <iceoryx_posh/popo/untyped_publisher.hpp>
#include <iceoryx_posh/popo/untyped_subscriber.hpp>
#include <iceoryx_posh/popo/wait_set.hpp>
#include <iceoryx_versions.hpp>

#include <fstream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/peers/driver.h"
#include "bench/peers/registry.h"

namespace beeline::bench::peers {
namespace {

constexpr std::size_t kLargestChunk = 1 << 20;
// Messages that wait for a subscriber; the default of 256 would take hundreds of megabytes.
constexpr std::uint64_t kFewLargeChunks = 16;

// The runtime of this process. The library's own runtime ends in exit(), which the processes of a
// run do not call; the daemon would then take the process for dead.
class Runtime : public iox::runtime::PoshRuntimeImpl {
 public:
  static void start(const std::string& name) {
    iox::log::LogManager::GetLogManager().SetDefaultLogLevel(
        iox::log::LogLevel::kFatal, iox::log::LogLevelOutput::kHideLogLevel);
    setRuntimeFactory([](auto given) -> PoshRuntime& {
      if (!own_) own_.reset(new Runtime(given));
      return *own_;
    });
    initRuntime(iox::RuntimeName_t(iox::cxx::TruncateToCapacity, name.c_str()));
  }
  static void end() { own_.reset(); }

 private:
  using PoshRuntimeImpl::PoshRuntimeImpl;
  static inline std::unique_ptr<Runtime> own_;
};

class Topics {
 public:
  static constexpr bool kPinnedFirst = true;
  class Port;

  static Result<Topics> create(const PeerCase& what) {
    if (what.size <= kLargestChunk) return Topics();
    return beeline::fail(
        ErrorCode::kTooBig,
        fmt::format("the daemon that we start has chunks of {} bytes at most", kLargestChunk));
  }
};

class Topics::Port : public PortBase {
 public:
  Port(const Topics&, const PeerCase& what, const Place& place) : PortBase(what, place) {
    Runtime::start(fmt::format("{}-{}", what.scope, ::getpid()));
  }
  ~Port() {
    bells_.reset();
    out_.reset();
    in_.reset();
    Runtime::end();
  }

  bool listen() {
    if (!place().receives()) return true;
    iox::popo::SubscriberOptions options;
    if (size() >= 4096) options.queueCapacity = kFewLargeChunks;
    options.queueFullPolicy = iox::popo::QueueFullPolicy::BLOCK_PRODUCER;
    in_.emplace(topic(place().in()), options);
    if (!what().sleeps()) return true;
    bells_.emplace();
    return !bells_->attachState(*in_, iox::popo::SubscriberState::HAS_DATA).has_error() ||
           fail("a WaitSet does not take the subscriber");
  }

  bool connect() {
    if (place().sends()) {
      iox::popo::PublisherOptions options;
      options.subscriberTooSlowPolicy = iox::popo::ConsumerTooSlowPolicy::WAIT_FOR_CONSUMER;
      out_.emplace(topic(place().out()), options);
      // The daemon does not report that it has connected the two.
      while (!out_->hasSubscribers()) os::yield();
    }
    return true;
  }

  bool send(std::uint64_t number, bool) {
    auto loan = out_->loan(static_cast<std::uint32_t>(size()));
    if (loan.has_error()) return fail("no chunk could be loaned");
    write_payload(loan.value(), number);
    out_->publish(loan.value());
    return true;
  }

  bool receive(std::uint64_t& number) {
    for (;;) {
      const auto chunk = in_->take();
      if (!chunk.has_error()) {
        const bool is_good = read_payload(chunk.value(), size(), number);
        in_->release(chunk.value());
        return is_good;
      }
      if (chunk.get_error() != iox::popo::ChunkReceiveResult::NO_CHUNK_AVAILABLE) {
        return fail("too many chunks are held");
      }
      if (bells_) (void)bells_->wait();
    }
  }

 private:
  [[nodiscard]] iox::capro::ServiceDescription topic(std::size_t channel) const {
    const auto text = [](const std::string& word) {
      return iox::capro::IdString_t(iox::cxx::TruncateToCapacity, word.c_str());
    };
    return {text("beeline-bench"), text(what().scope), text(std::to_string(channel))};
  }

  std::optional<iox::popo::UntypedSubscriber> in_;
  std::optional<iox::popo::UntypedPublisher> out_;
  std::optional<iox::popo::WaitSet<>> bells_;
};

// One pool for each default size, larger than three senders and a queue need.
constexpr auto kPools = R"([general]
version = 1
[[segment]]
[[segment.mempool]]
size = 128
count = 4096
[[segment.mempool]]
size = 2048
count = 2048
[[segment.mempool]]
size = 66048
count = 64
[[segment.mempool]]
size = 1048704
count = 64
)";

Result<Server> start_daemon() {
  return Server::start(
      "iox-roudi",
      [](const std::string& place) {
        const std::string config = place + "/roudi.toml";
        std::ofstream(config) << kPools;
        return std::vector<std::string>{"--config-file", config};
      },
      "ready for clients");
}

}  // namespace

PeerEntry iceoryx_entry() {
  return {"iceoryx",
          "libiceoryx-posh-dev iceoryx",
          true,
          true,
          measure_peer<Topics>,
          [] { return std::string(ICEORYX_LATEST_RELEASE_VERSION); },
          start_daemon};
}

}  // namespace beeline::bench::peers
