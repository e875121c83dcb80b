// The floor: Boost.Lockfree's spsc_queue in shared memory, one for each sender and direction. It
// has no sleep, no order, no access rights and no memory management. Payloads of up to 64 bytes lie
// in the ring. For larger ones it carries the number of a buffer, which the reader reads in place.

#include <boost/lockfree/spsc_queue.hpp>
#include <boost/version.hpp>

#include "bench/peers/driver.h"
#include "bench/peers/registry.h"

namespace beeline::bench::peers {
namespace {

constexpr std::size_t kRingCell = 64;
constexpr std::size_t kRingPlaces = 1024;
constexpr std::size_t kBufferPlaces = 64;
// All buffers in the ring and the one that is being written; spsc_queue::consume_one() frees a
// place only after it was read.
constexpr std::size_t kBuffers = kBufferPlaces + 1;

struct Cell {
  alignas(8) std::array<std::byte, kRingCell> bytes;
};

struct Rings {
  using Cells = boost::lockfree::spsc_queue<Cell, boost::lockfree::capacity<kRingPlaces>>;
  using Numbers =
      boost::lockfree::spsc_queue<std::uint32_t, boost::lockfree::capacity<kBufferPlaces>>;

  std::array<Cells, kFaninSenders + 1> cells;  // the last: from the pong side
  std::array<Numbers, kFaninSenders + 1> numbers;
};

class BoostRings {
 public:
  static constexpr bool kPinnedFirst = true;
  class Port;

  static Result<BoostRings> create(const PeerCase& what) {
    auto rings = Shared<Rings>::create();
    if (!rings) return tl::unexpected(rings.error());
    auto buffers = SharedMemory::create((kFaninSenders + 1) * kBuffers * stride(what.size));
    if (!buffers) return tl::unexpected(buffers.error());
    return BoostRings(std::move(*rings), std::move(*buffers));
  }

 private:
  BoostRings(Shared<Rings> rings, SharedMemory buffers)
      : rings_(std::move(rings)), buffers_(std::move(buffers)) {}

  static std::size_t stride(std::size_t size) { return (size + 127) / 128 * 128; }
  [[nodiscard]] std::byte* buffer(std::size_t ring, std::size_t number, std::size_t size) const {
    return buffers_.data() + (ring * kBuffers + number) * stride(size);
  }

  Shared<Rings> rings_;
  SharedMemory buffers_;
};

class BoostRings::Port : public PortBase {
 public:
  Port(const BoostRings& rings, const PeerCase& what, const Place& place)
      : PortBase(what, place),
        rings_(rings),
        out_(place.side == Side::kPing ? place.sender : kFaninSenders),
        in_(place.side == Side::kPing ? kFaninSenders : 0) {}

  bool send(std::uint64_t number, bool) {
    if (size() <= kRingCell) {
      Cell cell{};
      write_payload(cell.bytes.data(), number);
      while (!rings_.rings_->cells[out_].push(cell)) {
      }
      return true;
    }
    auto& ring = rings_.rings_->numbers[out_];
    while (ring.write_available() == 0) {
    }
    write_payload(rings_.buffer(out_, next_, size()), number);
    (void)ring.push(next_);
    next_ = (next_ + 1) % kBuffers;
    return true;
  }

  bool receive(std::uint64_t& number) {
    for (;;) {
      bool is_good = true;
      const std::size_t ring = in_;
      // Several senders take turns, one message each.
      if (what().senders > 1) in_ = (in_ + 1) % what().senders;
      if (take(ring, number, is_good)) return is_good;
    }
  }

 private:
  bool take(std::size_t ring, std::uint64_t& number, bool& is_good) {
    if (size() <= kRingCell) {
      return rings_.rings_->cells[ring].consume_one(
          [&](const Cell& cell) { is_good = read_payload(cell.bytes.data(), size(), number); });
    }
    return rings_.rings_->numbers[ring].consume_one([&](std::uint32_t buffer) {
      is_good = read_payload(rings_.buffer(ring, buffer, size()), size(), number);
    });
  }

  const BoostRings& rings_;
  std::size_t out_;
  std::size_t in_;
  std::uint32_t next_ = 0;
};

}  // namespace

PeerEntry boost_ring_entry() {
  return {"boost-ring",
          "",
          true,
          false,
          measure_peer<BoostRings>,
          [] { return std::string("Boost " BOOST_LIB_VERSION); },
          nullptr};
}

}  // namespace beeline::bench::peers
