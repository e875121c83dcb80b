#pragma once

namespace beeline::c {

class Dependents;

// A handle that is of no use without its agent.
class Dependent {
 public:
  explicit Dependent(Dependents& owner);
  Dependent(const Dependent&) = delete;
  Dependent& operator=(const Dependent&) = delete;
  virtual ~Dependent();

  [[nodiscard]] bool is_orphan() const { return owner_ == nullptr; }

 protected:
  // Ends everything that needs the agent.
  virtual void end() = 0;

 private:
  friend class Dependents;
  Dependents* owner_;
  Dependent* next_;
  Dependent* previous_ = nullptr;
};

// The dependents of an agent.
class Dependents {
 public:
  Dependents() = default;
  Dependents(const Dependents&) = delete;
  Dependents& operator=(const Dependents&) = delete;
  ~Dependents() { end(); }

  // The agent is closed.
  void end();

 private:
  friend class Dependent;
  void remove(Dependent& one);
  Dependent* first_ = nullptr;
};

}  // namespace beeline::c
