// Encodes row groups of Parquet with several threads. Start at GroupQueue.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "io/codec/modules/parquet_group.hpp"
#include "kernels/thread.hpp"

namespace gpusort {

/// The row groups that are being encoded. A row group gets its rows in chunks. A chunk is divided into its columns, and
/// then each column is encoded, one chunk after the other. A finished row group is written to the file, one at a time.
/// Threads take this work, that of the oldest row group first. All public functions are for the caller's thread, which
/// works only if there are no other threads.
class GroupQueue {
 public:
  /// - threads: how many threads work; 1: the caller's thread; the system may allow fewer
  /// - store: has the rows to which references refer, or null
  /// - memory: how many bytes of rows and of encoded columns the queue holds; more only if one row group needs more
  GroupQueue(const RowSchema& schema, GroupsFile file, const KeptRows* store, unsigned threads, std::uint64_t memory);
  /// Drops the row groups that are not written.
  ~GroupQueue();
  /// Appends rows, or references to rows, to the last row group. The first call, and each call after `ends_group`,
  /// begins a row group. Waits until there is memory. There must be at least one row.
  /// - lent: the rows that follow `rows`. Threads copy them, so they must stay unchanged until the next call of
  /// Return().
  void Add(std::vector<std::byte> rows, std::span<const std::byte> lent, bool ends_group);
  /// Waits until all lent rows are copied, and copies some of them. After a failure, only waits until no thread reads
  /// lent rows.
  void Return() noexcept;
  /// Returns an empty vector for the rows of a chunk.
  std::vector<std::byte> MakeRows();
  /// Writes all row groups and the end of the file. The last call of Add() must have ended its row group.
  void Finish();
  /// Waits until no thread writes to the file. Nothing is written until the next call of Add() or Finish().
  void Pause();

 private:
  struct Chunk {
    std::vector<std::byte> rows;
    std::span<const std::byte> lent;                 ///< the last rows, until they are copied to `rows`
    bool copying = false;                            ///< the caller's thread copies `lent`
    std::uint64_t memory = 0;                        ///< the memory of `rows`, and of the copies of large rows
    std::vector<std::unique_ptr<ColumnPart>> parts;  ///< for each column; null: encoded already
    std::size_t parts_left = 0;
    bool divided = false;
  };
  struct Column {
    std::size_t next = 0;     ///< the chunk to encode next
    bool taken = false;       ///< the column is in Group::ready, or a thread encodes it
    std::uint64_t bytes = 0;  ///< the memory of its encoded values
  };
  struct Group {
    Group(const GroupsFile& file, std::size_t number) : writer(file, number) {}

    GroupWriter writer;
    std::vector<std::unique_ptr<Chunk>> chunks;  ///< null: encoded already
    std::size_t undivided = 0;                   ///< the first chunk that no thread has begun to divide
    bool ended = false;                          ///< no chunk will follow
    std::vector<Column> columns;
    std::deque<std::size_t> ready;  ///< columns whose next chunk is divided
    std::size_t unfinished = 0;     ///< the number of columns that are not encoded to their end
  };
  using Lock = std::unique_lock<std::mutex>;

  void Work();
  /// Does one piece of work, during which the lock is open. Returns false if there is none.
  bool WorkOnce(Lock& lock);
  /// Returns true if the oldest row group is finished and no thread writes.
  bool CanWrite() const;
  /// Returns the oldest row group with a chunk to divide or a column to encode, or null.
  Group* FindGroup() const;
  void WriteOldest(Lock& lock);
  /// Copies the lent rows of a chunk to its other rows. The lock is open meanwhile.
  void CopyLent(Chunk& chunk, Lock& lock);
  /// Returns a chunk that no thread divides and that has lent rows, or null.
  Chunk* FindLent() const;
  void Divide(Group& group, Lock& lock);
  void Encode(Group& group, Lock& lock);
  /// Puts a column into Group::ready if its next chunk is divided.
  static void Offer(Group& group, std::size_t column);
  /// Waits until less than `most` bytes are in memory and at most `most_undivided` chunks are not divided, or until
  /// nothing can be done without more rows. Works if there are no threads. Throws the exception of a thread.
  void MakeRoom(std::uint64_t most, std::size_t most_undivided);

  const RowSchema& schema_;
  const GroupsFile file_;
  const KeptRows* const store_;
  const std::uint64_t memory_;
  std::size_t groups_begun_ = 0;  // only the caller's thread uses this and the next member
  bool begins_group_ = true;      ///< the next chunk begins a row group
  std::mutex mutex_;              // protects all following members
  std::condition_variable work_, done_;
  std::vector<WrittenGroup> written_;
  bool writing_ = false, paused_ = false;      ///< a thread writes; no thread begins to write
  std::deque<std::unique_ptr<Group>> groups_;  ///< the last one gets rows unless it is `ended`
  std::uint64_t bytes_ = 0;                    ///< the memory of all row groups
  std::size_t undivided_ = 0;                  ///< how many chunks no thread has begun to divide
  unsigned busy_ = 0;                          ///< how many threads work
  unsigned copying_ = 0;                       ///< how many threads read lent rows
  bool stop_ = false;
  std::exception_ptr failure_;
  std::vector<std::vector<std::unique_ptr<ColumnPart>>> spare_parts_;  ///< for each column, to be used again
  std::vector<std::vector<std::byte>> spare_rows_;
  Threads workers_;  // its threads end before the other members are destroyed
};

}  // namespace gpusort
