// The main.cpp of a server that differs from 08's only in its threads: the clients are those of the
// lab's pool, with 08's connections, application and sockets. Its options are for experiments, and
// it has no deadlines.
#include <getopt.h>
#include <poll.h>
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app.h"
#include "connection.h"
#include "fd.h"
#include "socket.h"
#include "thread_pool.h"

namespace web {
namespace {

using Add = std::function<void(std::unique_ptr<Client>)>;

// A client of 08's server. Where the kernel reports each change once, it receives until there is
// nothing left; otherwise once, as a loop does. Then it answers.
class ClientSession final : public Client {
public:
    ClientSession(Fd socket, Handler& handler, BufferPool& pool, Trigger trigger)
        : socket_(std::move(socket)), connection_(handler, pool), all_(trigger == Trigger::edge) {}

    int fd() const override { return socket_.number(); }

    bool serve() noexcept override try {
        return take() && answer();
    } catch (const std::bad_alloc&) {
        return false;
    }

private:
    // Returns false if the socket failed.
    bool take() {
        do {
            const auto got = receive(socket_, connection_.receive_buffer());
            if (got == 0) {
                connection_.end_of_input();
                return true;
            }
            connection_.received(got.value_or(0));
            if (!got) return got.error() != IoError::failed;
        } while (all_);
        return true;
    }

    // Sends everything; the thread may block. Returns whether the connection continues.
    bool answer() {
        while (connection_.has_output()) {
            const auto took = send(socket_, connection_.output().bytes);
            if (!took && took.error() == IoError::failed) return false;
            if (took) {
                connection_.sent(*took);
            } else {
                pollfd writable{socket_.number(), POLLOUT, 0};
                ::poll(&writable, 1, -1);
            }
        }
        const Waiting waiting = connection_.state().waiting;
        if (waiting == Waiting::peer_close && !std::exchange(half_closed_, true))
            half_close(socket_);
        return waiting != Waiting::nothing;
    }

    Fd socket_;
    Connection connection_;
    const bool all_;
    bool half_closed_ = false;
};

// Accepts all waiting clients.
class ListenerEntry final : public Client {
public:
    ListenerEntry(Fd listener, Trigger trigger, Add add)
        : listener_(std::move(listener)), trigger_(trigger), add_(std::move(add)) {}

    int fd() const override { return listener_.number(); }

    bool serve() noexcept override {
        while (auto socket = accept_client(listener_)) {
            add_(std::make_unique<ClientSession>(std::move(*socket), *handler_, pool_, trigger_));
        }
        return true;
    }

private:
    Fd listener_;
    const Trigger trigger_;
    const Add add_;
    const std::unique_ptr<Handler> handler_ = make_app();  // keeps no state between requests
    BufferPool pool_;                                      // one per thread, for all of its clients
};

// An alternative: all threads wait for the same events and serve the clients that they receive.
class Shared {
public:
    explicit Shared(unsigned threads) {
        for (unsigned i = 0; i < threads; ++i) {
            threads_.emplace_back([this] { run(); });
        }
    }

    ~Shared() {
        stopping_ = true;
        for (std::thread& thread : threads_) {
            events_.wake();
            thread.join();
        }
    }

    void add(std::unique_ptr<Client> client) {
        events_.add(clients_.add(std::move(client)), Trigger::oneshot);
    }

private:
    void run() {
        std::array<Client*, max_events> ready;
        while (!stopping_) {
            for (Client* const client : events_.wait(ready)) {
                if (client->serve()) {
                    events_.rearm(*client);
                } else {
                    clients_.take(*client);
                }
            }
        }
        events_.wake();  // wakes the next thread too
    }

    Events events_;
    Clients clients_;
    std::atomic<bool> stopping_ = false;
    std::vector<std::thread> threads_;
};

struct Options {
    std::uint16_t port = 0;
    unsigned threads = 1;
    std::string guard;
};

Options parse(int argc, char** argv) {
    const option known[] = {{"port", required_argument, nullptr, 'p'},
                            {"threads", required_argument, nullptr, 't'},
                            {"guard", required_argument, nullptr, 'g'},
                            {}};
    Options options;
    for (int found; (found = ::getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (found) {
            case 'p': options.port = static_cast<std::uint16_t>(std::atoi(optarg)); break;
            case 't': options.threads = static_cast<unsigned>(std::atoi(optarg)); break;
            case 'g': options.guard = optarg; break;
            default: throw std::invalid_argument("there are --port, --threads and --guard");
        }
    }
    return options;
}

template <class Server>
void serve(const Options& options, Trigger trigger, const sigset_t& stop) {
    Fd listener = std::move(listen_on("127.0.0.1", options.port, 1).front());
    const unsigned port = local_port(listener);
    Server server(options.threads);
    const Add add = [&server](std::unique_ptr<Client> client) { server.add(std::move(client)); };
    server.add(std::make_unique<ListenerEntry>(std::move(listener), trigger, add));
    std::printf("listening on http://127.0.0.1:%u\n", port);
    std::fflush(stdout);
    int signal = 0;
    ::sigwait(&stop, &signal);
}

void run(const Options& options) {
    sigset_t stop;  // for this thread, which waits for it here
    ::sigemptyset(&stop);
    ::sigaddset(&stop, SIGTERM);
    ::sigaddset(&stop, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    if (options.guard == "one-shot") return serve<Pool<OneShot>>(options, Trigger::oneshot, stop);
    if (options.guard == "counting") return serve<Pool<Counting>>(options, Trigger::edge, stop);
    if (options.guard == "forgetful") return serve<Pool<Forgetful>>(options, Trigger::edge, stop);
    if (options.guard == "shared") return serve<Shared>(options, Trigger::oneshot, stop);
    throw std::invalid_argument("--guard is one-shot, counting, forgetful or shared");
}

}  // namespace
}  // namespace web

int main(int argc, char** argv) {
    try {
        web::run(web::parse(argc, argv));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "server: %s\n", error.what());
        return 1;
    }
}
