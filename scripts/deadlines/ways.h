#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

/// Five ways to find out which clients are late. Each has the clients by number, as the server has
/// them by descriptor, and whatever else it needs:
///
///     add(client, limit, now)       adds a client, which has until now + the limit's length
///     refresh(client, limit, now)   the client has done something
///     erase(client)                 the client has disconnected
///     tick(now, found)              adds the late clients to `found`, and erases them
///
/// None of them reports a client too early; `lateness` is how much later a way may report it.
namespace deadlines {

using namespace std::chrono_literals;
using Time = std::chrono::steady_clock::time_point;

inline constexpr Time start{std::chrono::hours(1)};  // no client is added earlier

enum class Limit { idle, head, progress };

inline constexpr std::array lengths{60s, 30s, 10s};

inline constexpr Time after(Limit limit, Time now) {
    return now + lengths[static_cast<std::size_t>(limit)];
}

/// What else a client of the server consists of, and what is accessed when it is served.
struct Served {
    std::array<std::byte, 328> connection{};
    unsigned requests = 0;
    unsigned nothing = 0;
};

/// The clients, each with the data that a way keeps for it.
template <typename Notes>
class Clients {
public:
    struct Client : Served, Notes {};

    Client& operator[](std::size_t client) { return *clients_[client]; }
    Served& served(std::size_t client) { return *clients_[client]; }
    auto& all() { return clients_; }

    Client& add(std::size_t client) {
        if (client >= clients_.size()) clients_.resize(client + 1);
        clients_[client] = std::make_unique<Client>();
        return *clients_[client];
    }

    void erase(std::size_t client) { clients_[client].reset(); }

private:
    std::vector<std::unique_ptr<Client>> clients_;
};

struct Deadline {
    Time deadline{};
};

/// Checks every client.
class Sweep {
public:
    static constexpr auto lateness = 0s;

    Served& served(std::size_t client) { return clients_.served(client); }

    void add(std::size_t client, Limit limit, Time now) {
        clients_.add(client).deadline = after(limit, now);
    }

    void refresh(std::size_t client, Limit limit, Time now) {
        clients_[client].deadline = after(limit, now);
    }

    void erase(std::size_t client) { clients_.erase(client); }

    void tick(Time now, std::vector<std::size_t>& found) {
        for (std::size_t client = 0; client < clients_.all().size(); ++client) {
            const auto& one = clients_.all()[client];
            if (!one || now < one->deadline) continue;
            found.push_back(client);
            erase(client);
        }
    }

private:
    Clients<Deadline> clients_;
};

/// Checks every deadline; the deadlines are next to each other in memory.
class DenseSweep {
public:
    static constexpr auto lateness = 0s;

    Served& served(std::size_t client) { return clients_.served(client); }

    void add(std::size_t client, Limit limit, Time now) {
        clients_.add(client);
        deadlines_.resize(clients_.all().size(), never);
        refresh(client, limit, now);
    }

    void refresh(std::size_t client, Limit limit, Time now) {
        deadlines_[client] = after(limit, now);
    }

    void erase(std::size_t client) {
        clients_.erase(client);
        deadlines_[client] = never;
    }

    void tick(Time now, std::vector<std::size_t>& found) {
        for (std::size_t client = 0; client < deadlines_.size(); ++client) {
            if (now < deadlines_[client]) continue;
            found.push_back(client);
            erase(client);
        }
    }

private:
    struct Nothing {};
    static constexpr Time never = Time::max();

    Clients<Nothing> clients_;
    std::vector<Time> deadlines_;
};

/// A ring of links, in which one link that belongs to no client represents the list.
struct Link : Deadline {
    Link* before = this;
    Link* behind = this;
    std::size_t client = 0;

    Link() = default;
    Link(const Link&) = delete;
    ~Link() { unlink(); }

    bool empty() const { return behind == this; }

    void unlink() {
        before->behind = behind;
        behind->before = before;
        before = behind = this;
    }

    void push_back(Link& link) {
        link.before = std::exchange(before, &link);
        link.behind = this;
        link.before->behind = &link;
    }

    /// Takes over all elements of `list`, which is empty afterwards.
    void take_place_of(Link& list) {
        list.push_back(*this);
        list.unlink();
    }
};

/// A list for each limit. All clients in a list have the same limit, so a refreshed client moves to
/// the end: the list stays sorted, and only its front is checked.
class Lists {
public:
    static constexpr auto lateness = 0s;

    Served& served(std::size_t client) { return clients_.served(client); }

    void add(std::size_t client, Limit limit, Time now) {
        clients_.add(client).client = client;
        refresh(client, limit, now);
    }

    void refresh(std::size_t client, Limit limit, Time now) {
        auto& one = clients_[client];
        one.unlink();
        one.deadline = after(limit, now);
        lists_[static_cast<std::size_t>(limit)].push_back(one);
    }

    void erase(std::size_t client) { clients_.erase(client); }

    void tick(Time now, std::vector<std::size_t>& found) {
        for (Link& list : lists_) {
            while (!list.empty() && now >= list.behind->deadline) {
                found.push_back(list.behind->client);
                erase(list.behind->client);
            }
        }
    }

private:
    std::array<Link, lengths.size()> lists_;  // destroyed after their clients
    Clients<Link> clients_;
};

/// A list for each second to come, in a ring. A refresh only stores the new deadline unless it is
/// before the second that the client is filed under; when that second comes, the client is filed
/// again.
class Wheel {
public:
    static constexpr auto lateness = 1s;

    Served& served(std::size_t client) { return clients_.served(client); }

    void add(std::size_t client, Limit limit, Time now) {
        auto& one = clients_.add(client);
        one.client = client;
        one.deadline = after(limit, now);
        file(one);
    }

    void refresh(std::size_t client, Limit limit, Time now) {
        auto& one = clients_[client];
        one.deadline = after(limit, now);
        if (one.deadline < one.due) file(one);
    }

    void erase(std::size_t client) { clients_.erase(client); }

    void tick(Time now, std::vector<std::size_t>& found) {
        for (; done_ + 1s <= now; done_ += 1s)
            empty(slot(done_ + 1s), now, found);
    }

private:
    struct Filed : Link {
        Time due{};
    };

    static constexpr std::size_t slots = 64;  // otherwise idle clients are filed more than once

    Link& slot(Time due) {
        return slots_[static_cast<std::size_t>(due.time_since_epoch() / 1s) % slots];
    }

    // Rounded up: when its second has come, the client is late or has been refreshed and is filed
    // again.
    void file(Filed& one) {
        one.unlink();
        one.due = std::chrono::ceil<std::chrono::seconds>(one.deadline);
        slot(one.due).push_back(one);
    }

    // Uses a list of its own: a client that is filed into the slot being emptied would otherwise be
    // found there again.
    void empty(Link& slot, Time now, std::vector<std::size_t>& found) {
        Link due;
        due.take_place_of(slot);
        while (!due.empty()) {
            Filed& one = clients_[due.behind->client];
            if (now < one.deadline) {
                file(one);
            } else {
                found.push_back(one.client);
                erase(one.client);
            }
        }
    }

    std::array<Link, slots> slots_;  // destroyed after their clients
    Clients<Filed> clients_;
    Time done_ = start;  // the last second whose slot is empty
};

/// A heap with the earliest deadline on top; each client knows its index.
class Heap {
public:
    static constexpr auto lateness = 0s;

    Served& served(std::size_t client) { return clients_.served(client); }

    void add(std::size_t client, Limit limit, Time now) {
        clients_.add(client).place = heap_.size();
        heap_.push_back({{Time::max()}, client});
        refresh(client, limit, now);
    }

    void refresh(std::size_t client, Limit limit, Time now) {
        move(clients_[client].place, after(limit, now));
    }

    void erase(std::size_t client) {
        const std::size_t place = clients_[client].place;
        put(place, heap_.back());
        heap_.pop_back();
        if (place < heap_.size()) move(place, heap_[place].deadline);
        clients_.erase(client);
    }

    void tick(Time now, std::vector<std::size_t>& found) {
        while (!heap_.empty() && now >= heap_.front().deadline) {
            found.push_back(heap_.front().client);
            erase(heap_.front().client);
        }
    }

private:
    struct Entry : Deadline {
        std::size_t client = 0;
    };
    struct Place {
        std::size_t place = 0;
    };

    void put(std::size_t place, Entry entry) {
        heap_[place] = entry;
        clients_[entry.client].place = place;
    }

    void move(std::size_t place, Time deadline) {
        const Entry entry{{deadline}, heap_[place].client};
        for (; place > 0 && deadline < heap_[(place - 1) / 2].deadline; place = (place - 1) / 2)
            put(place, heap_[(place - 1) / 2]);
        for (std::size_t min; (min = 2 * place + 1) < heap_.size(); place = min) {
            if (min + 1 < heap_.size() && heap_[min + 1].deadline < heap_[min].deadline) {
                ++min;
            }
            if (deadline <= heap_[min].deadline) break;
            put(place, heap_[min]);
        }
        put(place, entry);
    }

    Clients<Place> clients_;
    std::vector<Entry> heap_;
};

/// Keeps no deadlines, and so measures the remaining costs.
class NoDeadlines {
public:
    Served& served(std::size_t client) { return clients_.served(client); }
    void add(std::size_t client, Limit, Time) { clients_.add(client); }
    void refresh(std::size_t, Limit, Time) { asm volatile(""); }  // not inlined away either
    void tick(Time, std::vector<std::size_t>&) {}

private:
    struct Nothing {};
    Clients<Nothing> clients_;
};

}  // namespace deadlines
