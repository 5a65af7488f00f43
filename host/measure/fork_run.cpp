#include "host/measure/fork_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>

#include <fmt/format.h>

namespace sec::host {
namespace {
using Clock = std::chrono::steady_clock;
struct Child {
  pid_t pid = -1;
  int fd = -1;
  size_t job = 0;
  std::string data;
  Clock::time_point deadline;
};

void write_all(int fd, const std::string& s) {
  for (size_t at = 0; at < s.size();) {
    const ssize_t n = ::write(fd, s.data() + at, s.size() - at);
    if (n <= 0) _exit(3);
    at += static_cast<size_t>(n);
  }
}
}  // namespace

std::vector<ChildResult> run_in_children(const std::vector<std::function<std::string()>>& jobs, unsigned parallel, unsigned limit_s,
                                         const std::function<void(size_t)>& progress) {
  std::vector<ChildResult> results(jobs.size());
  std::vector<Child> live;
  size_t next = 0, finished = 0;
  while (finished < jobs.size()) {
    while (next < jobs.size() && live.size() < parallel) {
      int p[2];
      if (pipe2(p, O_CLOEXEC)) {
        results[next++].error = "cannot create a pipe";
        ++finished;
        continue;
      }
      std::fflush(nullptr);
      const pid_t pid = fork();
      if (pid == 0) {
        ::close(p[0]);
        try {
          write_all(p[1], "+" + jobs[next]());
        } catch (const std::exception& e) {
          write_all(p[1], std::string("-") + e.what());
        }
        _exit(0);
      }
      ::close(p[1]);
      live.push_back({pid, p[0], next, {}, Clock::now() + std::chrono::seconds(limit_s)});
      ++next;
    }
    std::vector<pollfd> fds;
    for (const Child& c : live) fds.push_back({c.fd, POLLIN, 0});
    ::poll(fds.data(), fds.size(), 200);
    for (size_t i = live.size(); i-- > 0;) {
      Child& c = live[i];
      bool end = false, late = false;
      if (fds[i].revents) {
        char buffer[65536];
        const ssize_t n = ::read(c.fd, buffer, sizeof buffer);
        if (n > 0)
          c.data.append(buffer, static_cast<size_t>(n));
        else
          end = true;
      } else if (Clock::now() > c.deadline) {
        ::kill(c.pid, SIGKILL);
        end = late = true;
      }
      if (!end) continue;
      int status = 0;
      ::waitpid(c.pid, &status, 0);
      ::close(c.fd);
      ChildResult& r = results[c.job];
      if (late)
        r.error = fmt::format("the run did not finish within its limit of {} s", limit_s);
      else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || c.data.empty())
        r.error = fmt::format("the run ended abnormally (wait status {:#x})", status);
      else if (c.data[0] == '-')
        r.error = c.data.substr(1);
      else
        r.ok = true, r.output = c.data.substr(1);
      live.erase(live.begin() + static_cast<long>(i));
      ++finished;
      if (progress) progress(finished);
    }
  }
  return results;
}

}  // namespace sec::host
