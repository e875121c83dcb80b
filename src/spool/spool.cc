#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <beeline/spool.h>

#include "src/spool/spool_core.h"

namespace beeline::spool {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

Failure ended() {
  return {Code::kTaskNotFound, 0,
          fmt::format("{}: this claim has ended, was kept or was moved away",
                      text_of(Code::kTaskNotFound))};
}

Options with_defaults(Options options) {
  const Environment environment = Environment::read();
  if (options.dir.empty()) options.dir = environment.dir;
  if (!options.outbox_retention) options.outbox_retention = environment.outbox_retention;
  if (!options.failed_retention) options.failed_retention = environment.failed_retention;
  if (options.worker.empty()) {
    const pid_t process = options.process > 0 ? options.process : ::getpid();
    options.worker = fmt::format("{}:{}", host_name(), process);
  }
  if (options.poll_every < std::chrono::milliseconds(1)) {
    options.poll_every = std::chrono::milliseconds(1);
  }
  return options;
}

}  // namespace

Outcome<Spool> Spool::open(const Options& options) {
  Options full = with_defaults(options);
  const auto use = full.read_only ? FolderFiles::Use::kRead : FolderFiles::Use::kWork;
  auto files = FolderFiles::open(full.dir, full.sync, use);
  if (!files) return tl::unexpected(files.error());
  full.dir = files->dir();
  if (full.shared) files->set_shared();
  return Spool(std::make_unique<SpoolCore>(std::move(*files), std::move(full)));
}

Spool::Spool(std::unique_ptr<SpoolCore> core) : core_(std::move(core)) {}
Spool::Spool(Spool&&) noexcept = default;
Spool& Spool::operator=(Spool&&) noexcept = default;
Spool::~Spool() = default;

const Options& Spool::options() const { return core_->options(); }
Outcome<std::string> Spool::put(Task task) { return core_->put(std::move(task)); }
Outcome<Claim> Spool::try_claim() { return core_->try_claim(); }
Outcome<Claim> Spool::claim(Deadline deadline) { return core_->claim(deadline); }
Outcome<Claim> Spool::held(std::string_view id) { return core_->held(id); }
Outcome<std::vector<Claim>> Spool::take_over() { return core_->take_over(); }
Outcome<std::vector<Listed>> Spool::list(Folder folder) { return core_->list(folder); }
Outcome<Listed> Spool::find(std::string_view id) { return core_->find(id); }
Outcome<Swept> Spool::sweep() { return core_->sweep(); }
int Spool::fd() { return core_->fd(); }
std::vector<std::string> Spool::take_remarks() { return core_->take_remarks(); }

Claim::Claim(Claim&& other) noexcept
    : core_(std::exchange(other.core_, nullptr)),
      task_(std::move(other.task_)),
      note_(std::move(other.note_)),
      inode_(other.inode_),
      written_ns_(other.written_ns_),
      made_ns_(other.made_ns_) {}

Claim& Claim::operator=(Claim&& other) noexcept {
  if (this == &other) return *this;
  if (valid()) (void)retry({});
  core_ = std::exchange(other.core_, nullptr);
  task_ = std::move(other.task_);
  note_ = std::move(other.note_);
  inode_ = other.inode_;
  written_ns_ = other.written_ns_;
  made_ns_ = other.made_ns_;
  return *this;
}

Claim::~Claim() {
  if (valid()) (void)retry({});
}

Outcome<void> Claim::complete(Completion completion) {
  if (!valid()) return tl::unexpected(ended());
  auto done = core_->claims().complete(SpoolCore::file_of(*this), std::move(completion));
  if (done || done.error().code == Code::kTaskNotFound) keep();
  return done;
}

Outcome<void> Claim::fail(std::string_view error) {
  if (!valid()) return tl::unexpected(ended());
  auto done = core_->claims().fail(SpoolCore::file_of(*this), error);
  if (done || done.error().code == Code::kTaskNotFound) keep();
  return done;
}

Outcome<bool> Claim::retry(std::string_view error) {
  if (!valid()) return tl::unexpected(ended());
  auto done = core_->claims().retry(SpoolCore::file_of(*this), error);
  if (done || done.error().code == Code::kTaskNotFound) keep();
  return done;
}

Outcome<void> Claim::heartbeat() {
  if (!valid()) return tl::unexpected(ended());
  ClaimedFile file = SpoolCore::file_of(*this);
  auto done = core_->claims().heartbeat(file);
  SpoolCore::store(*this, std::move(file));
  return done;
}

Outcome<void> Claim::write_note(std::string_view note) {
  if (!valid()) return tl::unexpected(ended());
  ClaimedFile file = SpoolCore::file_of(*this);
  auto done = core_->claims().rewrite(file, note);
  SpoolCore::store(*this, std::move(file));
  return done;
}

void Claim::keep() { core_ = nullptr; }

}  // namespace beeline::spool
