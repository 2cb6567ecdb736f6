#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "files.h"
#include "sieve.h"

namespace web {

/// The limits of a cache.
struct CacheBounds {
    std::size_t bytes = 0;  // total of names and contents
    std::size_t descriptors = 0;
};

/// The files beneath one directory, checked once per second instead of once per request. Lookups
/// are cached while there is space: small files as bytes, large ones as open descriptors, and also
/// the fact that a file is missing. A file changed a moment ago is not cached, because it may
/// change again without a new modification time. Belongs to one thread.
class FileCache {
public:
    using Found = std::expected<OpenFile, FileError>;

    /// Files of up to this many bytes are kept in memory.
    static constexpr std::size_t max_in_memory = 64 * 1024;

    /// Throws std::system_error, with --root in its message.
    FileCache(const std::string& root, const CacheBounds& bounds);

    /// Like Files::open(), but may return a result from earlier in this second.
    Found open(const char* name);

    void on_new_second(std::chrono::sys_seconds now);

    bool empty() const { return entries_.empty(); }

    /// Empties the cache; files being sent are still sent to the end. Returns false if the cache
    /// was empty.
    bool release_caches();

private:
    struct Entry : SieveLinks<Entry> {
        Found found = std::unexpected(FileError::missing);
        std::uint64_t checked_in = 0;  // the second of the last check
        std::size_t weight = 0;
        const std::string* name = nullptr;
    };
    // A tree, because a client that knows the hash function of a hash table could fill one of its
    // buckets with names of missing files.
    using Entries = std::map<std::string, Entry, std::less<>>;

    Found open_uncached(const char* name);
    bool is_cacheable(const Found& found) const;
    std::size_t weight_of(std::string_view name, const Found& found) const;
    void insert(std::string_view name, Found& found);
    void erase(Entries::iterator entry);
    void evict();

    Files files_;
    const std::size_t max_weight_;
    const std::size_t descriptor_weight_;
    Entries entries_;
    Sieve<Entry> sieve_;
    std::size_t weight_ = 0;
    std::uint64_t second_ = 0;         // a counter, because the time of day may be set back
    std::int64_t settled_before_ = 0;  // ns since 1970; a file changed later may change again
};

}  // namespace web
