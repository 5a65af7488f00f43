// Coroutine plumbing for the channels: an eager Task<T> and a pool for its frames. Knows nothing of time
// and nothing of the engine.
//
// A Task starts at the call and runs until its first real suspension; destroying it destroys the whole
// chain of frames below it. That is how a channel reset abandons a descriptor wherever it is, so a task
// must never be destroyed from inside itself.
#pragma once
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <utility>

namespace sec::hw {

/// Free lists of coroutine frames in 64-byte classes. One engine runs in one thread, so the lists are per thread.
class FramePool {
 public:
  static void* get(size_t n) {
#if defined(__SANITIZE_ADDRESS__)
    return ::operator new(n);  // let the sanitizer see stale frames
#else
    const size_t c = (n + 63) / 64;
    if (c >= kClasses) return ::operator new(n);
    if (void* p = heads_[c]) {
      heads_[c] = *static_cast<void**>(p);
      return p;
    }
    return ::operator new(c * 64);
#endif
  }
  static void put(void* p, size_t n) {
#if defined(__SANITIZE_ADDRESS__)
    (void)n;
    ::operator delete(p);
#else
    const size_t c = (n + 63) / 64;
    if (c >= kClasses) return ::operator delete(p);
    *static_cast<void**>(p) = heads_[c];
    heads_[c] = p;
#endif
  }

 private:
  static constexpr size_t kClasses = 64;
  static inline thread_local void* heads_[kClasses] = {};
};

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type {
    T value{};
    std::coroutine_handle<> next{};

    static void* operator new(size_t n) { return FramePool::get(n); }
    static void operator delete(void* p, size_t n) { FramePool::put(p, n); }
    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_never initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
        auto n = h.promise().next;
        return n ? n : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_value(T v) { value = v; }
    void unhandled_exception() { std::terminate(); }
  };
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle h) : h_(h) {}
  Task(Task&& o) noexcept : h_(std::exchange(o.h_, {})) {}
  Task& operator=(Task&& o) noexcept {
    if (this != &o) {
      if (h_) h_.destroy();
      h_ = std::exchange(o.h_, {});
    }
    return *this;
  }
  ~Task() {
    if (h_) h_.destroy();
  }

  bool await_ready() const { return h_.done(); }
  void await_suspend(std::coroutine_handle<> n) { h_.promise().next = n; }
  T await_resume() { return h_.promise().value; }
  explicit operator bool() const { return static_cast<bool>(h_); }
  bool done() const { return h_ && h_.done(); }

 private:
  Handle h_{};
};

}  // namespace sec::hw
