// Aeron's shared-memory transport (aeron:ipc): an exclusive publication for each sender, one
// subscription for each receiver. Payloads are written into claimed frames and read where they lie,
// where they fit one; larger ones are copied into frames and out of them. The media driver, which
// moves the limits of the senders, runs inside the pong side, between two polls. A receiver cannot
// sleep until a message comes. Aeron is not in Debian: see docs/peers.md.

#include <aeronc.h>
#include <aeronmd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/peers/driver.h"
#include "bench/peers/registry.h"

namespace beeline::bench::peers {
namespace {

constexpr auto kChannel = "aeron:ipc";
constexpr std::size_t kTermBytes = 16 << 20;
constexpr std::size_t kFrameBytes = 65'504;  // the largest of this transport
constexpr std::size_t kMostInOneFrame = kFrameBytes - 32;
constexpr std::size_t kMostBytes = kTermBytes / 8;
constexpr std::size_t kFragments = 64;  // of one poll
constexpr std::uint32_t kPollsPerDuty = 16;
// Clients send no keepalive during a row, so the driver must not take them for dead.
constexpr std::uint64_t kPatienceNs = 3'600'000'000'000;

template <typename T, int (*kClose)(T*)>
struct Closer {
  void operator()(T* what) const { (void)kClose(what); }
};
template <typename T, int (*kClose)(T*)>
using Owned = std::unique_ptr<T, Closer<T, kClose>>;

// The media driver. It works in a thread until the first poll, and between polls after that.
class MediaDriver {
 public:
  bool start(const std::string& place) {
    place_ = place;
    aeron_driver_context_t* context = nullptr;
    if (aeron_driver_context_init(&context) != 0) return false;
    context_.reset(context);
    (void)aeron_driver_context_set_dir(context, place.c_str());
    (void)aeron_driver_context_set_dir_delete_on_start(context, true);
    (void)aeron_driver_context_set_dir_delete_on_shutdown(context, true);
    (void)aeron_driver_context_set_threading_mode(context, AERON_THREADING_MODE_INVOKER);
    (void)aeron_driver_context_set_ipc_term_buffer_length(context, kTermBytes);
    (void)aeron_driver_context_set_ipc_mtu_length(context, kFrameBytes);
    // No page is met for the first time in a measurement.
    (void)aeron_driver_context_set_term_buffer_sparse_file(context, false);
    (void)aeron_driver_context_set_client_liveness_timeout_ns(context, kPatienceNs);
    (void)aeron_driver_context_set_publication_unblock_timeout_ns(context, 2 * kPatienceNs);
    aeron_driver_t* driver = nullptr;
    if (aeron_driver_init(&driver, context) != 0) return false;
    driver_.reset(driver);
    if (aeron_driver_start(driver, true) != 0) return false;
    thread_ = std::thread([this] {
      while (!is_taken_over_.load(std::memory_order_relaxed)) {
        work();
        os::yield();
      }
    });
    return true;
  }
  ~MediaDriver() { take_over(); }

  // All clients have connected. Nothing is opened by its name from now on, so that a bench that is
  // killed leaves no files.
  void take_over() {
    is_taken_over_.store(true, std::memory_order_relaxed);
    if (thread_.joinable()) thread_.join();
    std::error_code ignored;
    std::filesystem::remove_all(place_, ignored);
  }
  void work() { (void)aeron_driver_main_do_work(driver_.get()); }

 private:
  std::string place_;
  Owned<aeron_driver_context_t, aeron_driver_context_close> context_;
  Owned<aeron_driver_t, aeron_driver_close> driver_;
  std::atomic<bool> is_taken_over_{false};
  std::thread thread_;
};

class Aeron {
 public:
  static constexpr bool kPinnedFirst = true;
  class Port;

  static Result<Aeron> create(const PeerCase& what) {
    if (what.size <= kMostBytes) return Aeron();
    return beeline::fail(
        ErrorCode::kTooBig,
        fmt::format("a term of {} bytes has messages of {} bytes at most", kTermBytes, kMostBytes));
  }
};

class Aeron::Port : public PortBase {
 public:
  Port(const Aeron&, const PeerCase& what, const Place& place) : PortBase(what, place) {}
  ~Port() {
    assembler_.reset();
    client_.reset();  // with its publication and its subscription
  }

  bool listen() {
    const std::string folder = "/dev/shm/" + what().scope;
    if (place().side == Side::kPong) {
      driver_ = std::make_unique<MediaDriver>();
      if (!driver_->start(folder)) return fail_by_library("the driver does not start");
    }
    aeron_context_t* context = nullptr;
    if (aeron_context_init(&context) != 0) return fail_by_library("no context");
    context_.reset(context);
    (void)aeron_context_set_dir(context, folder.c_str());
    (void)aeron_context_set_use_conductor_agent_invoker(context, true);
    (void)aeron_context_set_pre_touch_mapped_memory(context, true);
    aeron_t* client = nullptr;
    if (aeron_init(&client, context) != 0) return fail_by_library("no client");
    client_.reset(client);
    if (aeron_start(client) != 0) return fail_by_library("the client does not start");
    return !place().receives() || subscribe();
  }

  bool connect() {
    if (place().sends() && !publish()) return false;
    // A receiver maps the log of each sender once it has heard of it.
    const int senders = place().receives() ? static_cast<int>(what().senders) : 0;
    while (senders != 0 && aeron_subscription_image_count(in_) < senders) keep_up();
    return true;
  }

  bool send(std::uint64_t number, bool) {
    if (size() > kMostInOneFrame) return send_in_parts(number);
    aeron_buffer_claim_t claim;
    for (;;) {
      const std::int64_t end = aeron_exclusive_publication_try_claim(out_, size(), &claim);
      if (end > 0) break;
      if (!may_try_again(end)) return fail_by_library("no frame could be claimed");
    }
    write_payload(claim.data, number);
    (void)aeron_buffer_claim_commit(&claim);
    return true;
  }

  bool receive(std::uint64_t& number) {
    while (next_ == taken_.size()) {
      if (!is_good_) return false;
      poll();
    }
    number = taken_[next_++];
    return true;
  }

 private:
  [[nodiscard]] static std::int32_t stream(std::size_t channel) {
    return 1001 + static_cast<std::int32_t>(channel);
  }
  bool fail_by_library(std::string_view what) {
    return fail(fmt::format("{}: {}", what, aeron_errmsg()));
  }

  // The client hears what the driver says.
  void keep_up() {
    (void)aeron_main_do_work(client_.get());
    os::yield();
  }
  // Calls `ask` until it has an answer: 1, or less than 0 for an error.
  template <typename Ask>
  bool finish(Ask&& ask) {
    for (;;) {
      keep_up();
      if (const int found = ask(); found != 0) return found > 0;
    }
  }

  bool publish() {
    aeron_async_add_exclusive_publication_t* order = nullptr;
    if (aeron_async_add_exclusive_publication(&order, client_.get(), kChannel,
                                              stream(place().out())) != 0 ||
        !finish([&] { return aeron_async_add_exclusive_publication_poll(&out_, order); })) {
      return fail_by_library("no publication");
    }
    while (!aeron_exclusive_publication_is_connected(out_)) keep_up();
    return true;
  }

  bool subscribe() {
    aeron_async_add_subscription_t* order = nullptr;
    if (aeron_async_add_subscription(&order, client_.get(), kChannel, stream(place().in()), nullptr,
                                     nullptr, nullptr, nullptr) != 0 ||
        !finish([&] { return aeron_async_add_subscription_poll(&in_, order); })) {
      return fail_by_library("no subscription");
    }
    if (size() <= kMostInOneFrame) return true;
    aeron_fragment_assembler_t* assembler = nullptr;
    if (aeron_fragment_assembler_create(&assembler, take, this) != 0) {
      return fail_by_library("no assembler");
    }
    assembler_.reset(assembler);
    return true;
  }

  bool send_in_parts(std::uint64_t number) {
    whole_.resize(size());
    write_payload(whole_.data(), number);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(whole_.data());
    for (;;) {
      const std::int64_t end =
          aeron_exclusive_publication_offer(out_, bytes, size(), nullptr, nullptr);
      if (end > 0) return true;
      if (!may_try_again(end)) return fail_by_library("nothing could be offered");
    }
  }

  // The term is full, or another one begins. A sender that hosts the driver lets it work.
  bool may_try_again(std::int64_t error) {
    if (driver_) driver_->work();
    return error == AERON_PUBLICATION_BACK_PRESSURED || error == AERON_PUBLICATION_ADMIN_ACTION;
  }

  void poll() {
    if (polls_++ % kPollsPerDuty == 0 && driver_) {
      if (polls_ == 1) driver_->take_over();
      driver_->work();
    }
    taken_.clear();
    next_ = 0;
    const int found = assembler_ ? aeron_subscription_poll(in_, aeron_fragment_assembler_handler,
                                                           assembler_.get(), kFragments)
                                 : aeron_subscription_poll(in_, take, this, kFragments);
    if (found < 0) is_good_ = fail_by_library("poll");
    if (found == 0 && polls_ % 1024 == 0) (void)aeron_main_do_work(client_.get());
  }

  static void take(void* port, const std::uint8_t* bytes, std::size_t length, aeron_header_t*) {
    auto& own = *static_cast<Port*>(port);
    std::uint64_t number = 0;
    own.is_good_ = own.read_payload(bytes, length, number) && own.is_good_;
    if (own.is_good_) own.taken_.push_back(number);
  }

  std::unique_ptr<MediaDriver> driver_;  // outlives the client
  Owned<aeron_context_t, aeron_context_close> context_;
  Owned<aeron_t, aeron_close> client_;
  Owned<aeron_fragment_assembler_t, aeron_fragment_assembler_delete> assembler_;
  aeron_subscription_t* in_ = nullptr;
  aeron_exclusive_publication_t* out_ = nullptr;
  std::vector<std::uint64_t> taken_;  // by the last poll
  std::size_t next_ = 0;
  std::vector<std::byte> whole_;
  std::uint32_t polls_ = 0;
  bool is_good_ = true;
};

}  // namespace

PeerEntry aeron_entry() {
  return {"aeron",
          "",
          true,
          false,
          measure_peer<Aeron>,
          [] { return std::string(aeron_version_text()); },
          nullptr};
}

}  // namespace beeline::bench::peers
