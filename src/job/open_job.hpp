// Opens the inputs of a job, and finds out how its records are ordered and stored. Sorting, --check and the tasks of
// gpusort_task all start here. Start at OpenJob.
#pragma once

#include <memory>
#include <optional>

#include "base/machine.hpp"
#include "data/inputs.hpp"
#include "formats/keyed_lines.hpp"
#include "io/file.hpp"
#include "io/stream.hpp"
#include "kernels/backend.hpp"
#include "spec/job_spec.hpp"

namespace gpusort {

/// The order in which a job sorts its records, and the objects that compare records. Some orders need a sort key before
/// each record. The JobSpec must outlive this object.
struct Ordered {
  std::unique_ptr<KeyMaker> maker;
  KeyScheme* keyed = nullptr;  ///< makes the sort keys; null: records are sorted without keys
  RecordLayout plain;          ///< the layout of records without keys
  bool table = false;          ///< true: records have columns, and only their sort keys are compared
  bool copies = false;         ///< true: the inputs have the sort keys of records with columns (Source::keyed)
  /// True: sort keys only save time. Comparing records in the layout `plain` gives the same order.
  bool optional = false;
  /// The layout for --split. Records that compare equal in this layout stay in one part of the output.
  RecordLayout groups;

  const RecordFormat& format() const { return *format_; }
  /// Returns the object that makes the sort keys of records with columns. Null if records have no columns.
  KeyScheme* column_keys() const { return table ? keyed : nullptr; }
  /// Returns the layout for comparing two records: with sort keys if records have columns, and `plain` otherwise.
  RecordLayout comparable() const { return table ? keyed->layout() : plain; }
  /// Finds the key columns by their names in `header`, the header of all inputs. Does nothing if records have no
  /// columns or `header` is empty. Throws Error if a key names a column that does not exist.
  void ReadHeader(RecordSpan header) const {
    if (table && !header.empty()) keyed->ReadHeader(header);
  }

  /// `gpu` is true if a GPU may compare the records.
  Ordered(const JobSpec& spec, bool gpu);

 private:
  void FindGroups(const JobSpec& spec);

  std::unique_ptr<RecordFormat> format_;
  std::unique_ptr<KeyedOrder> lines_;
  std::unique_ptr<LineOrdered> group_order_;
  std::unique_ptr<KeyMaker> group_keys_;
  std::unique_ptr<KeyedOrder> group_lines_;
};

/// A job whose inputs are open and whose memory limit is chosen.
struct OpenJob {
  /// Opens the inputs of the job `spec`. `spec`, `cancel` and `files` must outlive this object.
  /// - `gpu`: true if a GPU may compare the records
  /// - `overwritten`: the file that the output will overwrite, if there is one
  /// - `fronts`: the streams that are already open, with the bytes that were read from them
  /// - Throws the errors of Inputs.
  OpenJob(const JobSpec& spec, CancelFlag& cancel, FileSystem& files, bool gpu = true,
          std::optional<FileFacts> overwritten = {}, StreamFronts fronts = {});

  const JobSpec& spec;
  CancelFlag& cancel;
  FileSystem& files;
  const MemoryFacts machine;
  const MemoryChoice memory_choice;
  HostMemory memory;
  const Ordered ordered;
  Inputs inputs;
};

/// Returns the number of cores that the job may use: the number that --threads gives, by default all cores of the
/// process.
CoreFacts CoresFor(const Limits& limits);

/// Returns a job that sorts `source` into `target`, in the order and with the limits of the job `spec`. The new job
/// does only a part of the work of `spec`, so it ignores --resume-dir.
JobSpec SubJob(const JobSpec& spec, Source source, Target target);

}  // namespace gpusort
