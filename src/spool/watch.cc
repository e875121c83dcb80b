#include <deque>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <beeline/spool.h>

#include "src/spool/failure.h"
#include "src/spool/folder_files.h"
#include "src/spool/id.h"
#include "src/spool/name_watch.h"

namespace beeline::spool {
namespace {

constexpr std::array kFolders = {Folder::kInbox, Folder::kProcessing, Folder::kOutbox,
                                 Folder::kFailed};

}  // namespace

// A Watch without its handle.
class WatchCore {
 public:
  explicit WatchCore(FolderFiles files) : files_(std::move(files)) {}

  [[nodiscard]] bool start() {
    for (const Folder folder : kFolders) {
      if (!watch_.add(files_, place_of(folder))) return false;
    }
    return true;
  }
  [[nodiscard]] int fd() const { return watch_.fd(); }

  [[nodiscard]] std::optional<Change> next() {
    if (changes_.empty()) {
      for (NameWatch::Event& event : watch_.take()) add(event);
    }
    if (changes_.empty()) return std::nullopt;
    Change change = std::move(changes_.front());
    changes_.pop_front();
    return change;
  }

 private:
  void add(const NameWatch::Event& event) {
    if (event.kind == NameWatch::Kind::kLost) {
      changes_.emplace_back();
      return;
    }
    // A file that is only made is not there yet: its writer closes it, or moves it.
    if (event.kind == NameWatch::Kind::kCreated) return;
    const auto folder = static_cast<Folder>(event.place);
    const auto id = id_in(folder, event.name);
    if (id) changes_.push_back({std::string(*id), folder, event.kind == NameWatch::Kind::kCame});
  }

  FolderFiles files_;
  NameWatch watch_;
  std::deque<Change> changes_;
};

Outcome<Watch> Watch::open(const Options& options) {
  const std::string dir = options.dir.empty() ? Environment::read().dir : options.dir;
  auto files = FolderFiles::open(dir, Sync::kNone, FolderFiles::Use::kRead);
  if (!files) return tl::unexpected(files.error());
  auto core = std::make_unique<WatchCore>(std::move(*files));
  if (core->start()) return Watch(std::move(core));
  return failure(Code::kMailboxDir,
                 fmt::format("the kernel tells nothing of {} now: raise "
                             "fs.inotify.max_user_instances or fs.inotify.max_user_watches",
                             dir));
}

Watch::Watch(std::unique_ptr<WatchCore> core) : core_(std::move(core)) {}
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&&) noexcept = default;
Watch::~Watch() = default;

int Watch::fd() const { return core_->fd(); }
std::optional<Change> Watch::next() { return core_->next(); }

}  // namespace beeline::spool
