#include "file_cache.h"

#include <algorithm>
#include <utility>

namespace web {
namespace {

// Approximate size in bytes of an entry, without its name and its file.
constexpr std::size_t entry_weight = 256;

// File systems store times in ticks of up to two seconds (FAT), and a file may change twice within
// one tick.
constexpr std::chrono::seconds settling{2};

// Entries that were not requested for this many seconds are forgotten.
constexpr std::uint64_t cold_after = 5;

bool is_same(const FileCache::Found& now, const FileCache::Found& before) {
    if (now && before) return now->is_unchanged_from(*before);
    return !now && !before && now.error() == before.error();
}

}  // namespace

FileCache::FileCache(const std::string& root, const CacheBounds& bounds)
    : files_(root),
      max_weight_(bounds.bytes),
      descriptor_weight_(
          std::max(max_in_memory, bounds.bytes / std::max<std::size_t>(bounds.descriptors, 1))) {}

FileCache::Found FileCache::open(const char* name) {
    const auto known = entries_.find(std::string_view(name));
    if (known == entries_.end() || known->second.checked_in != second_) return open_uncached(name);
    known->second.visited = true;
    return known->second.found;
}

void FileCache::on_new_second(std::chrono::sys_seconds now) {
    ++second_;
    settled_before_ = std::chrono::nanoseconds((now - settling).time_since_epoch()).count();
    if (second_ % cold_after == 0) evict();
}

// A removed file takes up space on the disk as long as it is open, so entries that are no longer
// requested are dropped.
void FileCache::evict() {
    for (auto next = entries_.begin(); next != entries_.end();) {
        const auto entry = next++;
        if (entry->second.checked_in + cold_after < second_) erase(entry);
    }
}

bool FileCache::release_caches() {
    if (entries_.empty()) return false;
    entries_.clear();
    sieve_ = {};
    weight_ = 0;
    return true;
}

// Opening a file may have emptied the cache to free descriptors, so the entry is looked up again
// afterwards.
FileCache::Found FileCache::open_uncached(const char* name) {
    Found found = files_.open(name);
    if (!found && found.error() == FileError::exhausted && release_caches())
        found = files_.open(name);
    const auto known = entries_.find(std::string_view(name));
    if (known != entries_.end()) {
        Entry& entry = known->second;
        if (is_same(found, entry.found)) {
            entry.checked_in = second_;
            entry.visited = true;
            return entry.found;
        }
        erase(known);
    }
    if (is_cacheable(found)) insert(name, found);
    return found;
}

bool FileCache::is_cacheable(const Found& found) const {
    if (!found) return found.error() != FileError::exhausted;
    return found->changed_ns < settled_before_;
}

// A descriptor weighs at least as much as the largest file in memory, so that the limit on weight
// also limits the number of descriptors.
std::size_t FileCache::weight_of(std::string_view name, const Found& found) const {
    const std::size_t weight = entry_weight + name.size();
    if (!found) return weight;
    const std::uint64_t size = found->version.size;
    return weight + (size <= max_in_memory ? static_cast<std::size_t>(size) : descriptor_weight_);
}

// Read the file into memory first, because allocating may empty the cache.
void FileCache::insert(std::string_view name, Found& found) {
    const std::size_t weight = weight_of(name, found);
    if (weight > max_weight_) return;
    if (found && found->version.size <= max_in_memory && !take_into_memory(*found)) return;
    Entries fresh;
    const auto entry = fresh.try_emplace(std::string(name)).first;
    entry->second.found = found;
    entry->second.checked_in = second_;
    entry->second.weight = weight;
    entry->second.name = &entry->first;
    while (weight_ > max_weight_ - weight)
        erase(entries_.find(*sieve_.victim().name));
    weight_ += weight;
    sieve_.add(entry->second);
    entries_.merge(fresh);
}

void FileCache::erase(Entries::iterator entry) {
    weight_ -= entry->second.weight;
    sieve_.remove(entry->second);
    entries_.erase(entry);
}

}  // namespace web
