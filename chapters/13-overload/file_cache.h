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

/// How much a cache may hold.
struct CacheBounds {
    std::size_t bytes = 0;  // of names and contents
    std::size_t descriptors = 0;
};

/// The files beneath one directory, looked at once a second and not once a request. What was found
/// is kept as long as there is room: small files whole, large ones open, and that there is none.
/// What changed a moment ago is not kept, for it may change again without another time. Belongs to
/// one thread.
class FileCache {
public:
    using Found = std::expected<OpenFile, FileError>;

    /// Files of up to so many bytes are kept whole.
    static constexpr std::size_t max_in_memory = 64 * 1024;

    /// Throws std::system_error naming --root.
    FileCache(const std::string& root, const CacheBounds& bounds);

    /// As Files::open(), or what that said within this second.
    Found open(const char* name);

    void on_new_second(std::chrono::sys_seconds now);

    /// Forgets everything; who is being sent a file has it to the end. False if there was nothing.
    bool release_caches();

private:
    struct Entry : SieveLinks<Entry> {
        Found found = std::unexpected(FileError::missing);
        std::uint64_t checked_in = 0;  // in which second
        std::size_t weight = 0;
        const std::string* name = nullptr;
    };
    // A tree: whoever knows how a hash table hashes can fill one of its rows with names that are
    // not there.
    using Entries = std::map<std::string, Entry, std::less<>>;

    Found open_uncached(const char* name);
    bool is_cacheable(const Found& found) const;
    std::size_t weight_of(std::string_view name, const Found& found) const;
    void insert(std::string_view name, Found& found);
    void erase(Entries::iterator entry);
    void evict();

    const Files files_;
    const std::size_t max_weight_;
    const std::size_t descriptor_weight_;
    Entries entries_;
    Sieve<Entry> sieve_;
    std::size_t weight_ = 0;
    std::uint64_t second_ = 0;         // counted, for the time of day may be set back
    std::int64_t settled_before_ = 0;  // since 1970, in ns: what changed later may change again
};

}  // namespace web
