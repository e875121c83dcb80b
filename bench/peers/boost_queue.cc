// Boost.Interprocess message_queue, one for each direction: a heap by priority under a mutex, with
// condition variables. All messages have one priority.

#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/version.hpp>

#include <vector>

#include <fmt/format.h>

#include "bench/peers/driver.h"
#include "bench/peers/registry.h"

namespace beeline::bench::peers {
namespace {

namespace ipc = boost::interprocess;

constexpr std::size_t kSmallPlaces = 1024;
constexpr std::size_t kLargePlaces = 16;

// The meaning of a failed creation: a size that the queue cannot have is no failure, anything else
// is.
ErrorCode code_of(const ipc::interprocess_exception& error) {
  switch (error.get_error_code()) {
    case ipc::size_error:
      return ErrorCode::kTooBig;
    case ipc::out_of_space_error:
    case ipc::out_of_memory_error:
      return ErrorCode::kNoMemory;
    default:
      return ErrorCode::kSystem;
  }
}

class BoostQueues {
 public:
  static constexpr bool kPinnedFirst = true;
  class Port;

  static Result<BoostQueues> create(const PeerCase& what) {
    BoostQueues queues;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string name = fmt::format("{}-{}", what.scope, i);
      const std::size_t places = what.size <= 4096 ? kSmallPlaces : kLargePlaces;
      try {
        queues.queues_[i] =
            std::make_unique<ipc::message_queue>(ipc::create_only, name.c_str(), places, what.size);
      } catch (const ipc::interprocess_exception& error) {
        return fail(code_of(error), fmt::format("cannot be created: {}", error.what()));
      }
      ipc::message_queue::remove(name.c_str());  // the mapping is inherited
    }
    return queues;
  }

 private:
  std::array<std::unique_ptr<ipc::message_queue>, 2> queues_;
};

class BoostQueues::Port : public PortBase {
 public:
  Port(const BoostQueues& queues, const PeerCase& what, const Place& place)
      : PortBase(what, place),
        out_(*queues.queues_[place.out()]),
        in_(*queues.queues_[place.in()]),
        own_(what.size),
        buffer_(what.size) {}

  bool send(std::uint64_t number, bool) {
    write_payload(own_.data(), number);
    if (what().sleeps()) {
      out_.send(own_.data(), size(), 0);
    } else {
      while (!out_.try_send(own_.data(), size(), 0)) {
      }
    }
    return true;
  }

  bool receive(std::uint64_t& number) {
    ipc::message_queue::size_type length = 0;
    unsigned priority = 0;
    if (what().sleeps()) {
      in_.receive(buffer_.data(), size(), length, priority);
    } else {
      while (!in_.try_receive(buffer_.data(), size(), length, priority)) {
      }
    }
    return read_payload(buffer_.data(), length, number);
  }

 private:
  ipc::message_queue& out_;
  ipc::message_queue& in_;
  std::vector<std::byte> own_;
  std::vector<std::byte> buffer_;
};

}  // namespace

PeerEntry boost_queue_entry() {
  return {"boost-queue",
          "",
          true,
          true,
          measure_peer<BoostQueues>,
          [] { return std::string("Boost " BOOST_LIB_VERSION); },
          nullptr};
}

}  // namespace beeline::bench::peers
