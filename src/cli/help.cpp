#include "cli/help.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

#include "cli/option_table.hpp"

namespace gpusort {
namespace {

constexpr const char* kUsage =
    "Usage: gpusort [OPTION...] INPUT OUTPUT\n"
    "       gpusort [OPTION...] -o OUTPUT INPUT...\n"
    "       gpusort [OPTION...] [INPUT] >OUTPUT\n"
    "       gpusort [OPTION...] --check INPUT\n"
    "Sort text lines or binary records that may be larger than memory, on a GPU or\n"
    "without one. INPUT - is standard input, OUTPUT - is standard output.\n"
    "Without --type and --record-size the extension tells: .bin is i32; .i8 to .f64,\n"
    "also .u32be, name their type; any other name, and standard input, means lines.\n"
    "Behind it .gz .bz2 .xz .zst .lz4 say that a file is compressed.\n";

constexpr const char* kShortExamples =
    "\nExamples:\n"
    "  gpusort access.log sorted.log\n"
    "  gpusort -t, -k3,3n -k1,1 -S 1G table.txt by_column_3.txt\n"
    "  gpusort -m -o month.log.zst monday.log.gz tuesday.log.gz\n"
    "  gpusort --record-size 100 --key 0:bytes10 gensort.dat out.dat\n"
    "  producer | gpusort --type u64 - - | consumer\n"
    "\nExit 0: done and proved. After any other code an existing output is as it was,\n"
    "unless the message says otherwise.\n"
    "All options: gpusort --help=all. Tasks: gpusort --help=examples.\n"
    "Manual: man gpusort, or gpusort --help=man | man -l -\n";

constexpr const char* kExitCodes =
    "\nExit codes:\n"
    "  0 done and proved   1 --check: not sorted     2 usage         3 bad input\n"
    "  4 I/O error         5 no space                6 no memory     7 GPU lost\n"
    "  8 integrity         9 internal error          128+N ended by signal N\n"
    "  75 --resume-dir: stopped by a signal; the same command goes on\n"
    "After any code but 0 an existing output is as it was, unless the message says\n"
    "otherwise.\n";

constexpr const char* kCommands =
    R"sh(gpusort access.log sorted.log                                  # lines, by all their bytes, as LC_ALL=C sort
gpusort -t'"' -k2,2 -k3,3n access.log sorted.log               # sort's own keys and letters, the same bytes as the result
gpusort -m -o month.log monday.log tuesday.log                 # merge logs that are sorted already
gpusort -u words.txt once.txt
gpusort -k amount:decimal:desc --top 10 table.csv ten.csv       # the ten largest amounts, below the line of names
cat table.csv | gpusort -k id:int | head -n 3                  # no OUTPUT: standard output, if that is no terminal
gpusort -m -s -k1,1 -o all.log.zst old.log.gz new.log          # merge what is sorted by its first field; -s: equal ones stay as they are
gpusort --decompress gz --compress zst - - <in.gz >out.zst     # streams have no name that tells
gpusort --type i32 input.bin output.bin                        # .bin alone means 32-bit signed integers; .u64, .f32 ... name their type
gpusort --record-size 100 --key 0:bytes10 gensort.dat out.dat  # records of 100 bytes, key = first 10 bytes; no --key: the whole record
gpusort --record-size 32 --key 8:i64:desc --key 0:u32be a.bin b.bin
gpusort --memory 2G --gpu-memory 4G --temp-dir /nvme0 --temp-dir /nvme1 in.bin out.bin
gpusort --explain in.bin out.bin                               # the plan: sizes, runs, levels, memory and temp space; writes nothing
gpusort --resume-dir /scratch/job17 events.log sorted.log      # killed, stopped or out of space: the same line goes on where it was
gpusort --resume-dir /scratch/job17 --status                   # how far it is, and who has it
gpusort --check --type u64 file                                # exit 0: sorted; 1: not, and it names the first bad record
gpusort -m -o all.u64 monday.u64 tuesday.u64                   # merge files that are sorted already
gpusort -u -r --type u64 in.bin out.bin                        # largest first, one of each
producer | gpusort --type u64 - - | consumer                   # pipes on both sides
)sh";

/// A task, as one would write it in a script.
struct Recipe {
  const char* title;
  const char* text;
  const char* script;
};

constexpr Recipe kCookbook[] = {
    {"A web log by time",
     "[01/Nov/2026:06:25:24 +0000] as year, month, day and clock; equal times keep their order (-s). Fields end at the "
     "bracket, so that a user name may have blanks.",
     R"sh(gpusort -s -t'[' -k2.8,2.11n -k2.4,2.6M -k2.1,2.2n -k2.13,2.20 access.log by-time.log)sh"},
    {"By client address", "Numerically, each client's requests in the order of the log.",
     R"sh(gpusort -s -k1,1V access.log by-address.log)sh"},
    {"Top talkers", "The ten addresses with the most requests. --top keeps only what can still be among the first.",
     R"sh(cut -d' ' -f1 access.log | gpusort - - | uniq -c | gpusort -k1,1nr --top 10 - talkers.txt)sh"},
    {"Merge rotated logs",
     "They are in order already, compressed or not; nothing is sorted that need not be, and an input out of order is "
     "exit 3.",
     R"sh(gpusort -m -s -t'[' -k2.8,2.11n -k2.4,2.6M -k2.1,2.2n -k2.13,2.20 -o all.log access.log.2.gz access.log.1 access.log)sh"},
    {"Remove duplicates", "From a list, in place. The old file stays until the new one is complete.",
     R"sh(gpusort -u -o words.txt words.txt)sh"},
    {"gz in, zst out", "With all cores compressing.", R"sh(gpusort -k1,1 access.log.2.gz by-client.log.zst)sh"},
    {"Inside a pipe", "With pipefail, because there the exit code is all that says that the output is whole.",
     R"sh(set -o pipefail
grep ' 404 ' access.log | gpusort -t'"' -k2,2 - - | cut -d'"' -f2 | uniq -c >missing.txt)sh"},
    {"In a Slurm job",
     "Memory a little below what was asked for, temp files on the node's own disk, a report beside the output.",
     R"sh(#!/bin/bash
#SBATCH --mem=8G --cpus-per-task=4 --gres=gpu:1
gpusort --memory 6G --threads "${SLURM_CPUS_PER_TASK:-2}" --temp-dir "${SLURM_TMPDIR:-/tmp}" \
  --stats events.json --log-file events.txt events.log events.sorted.log)sh"},
    {"In cron with a memory limit",
     "Quiet unless it fails; mail from cron then has the reason, and the old output is still there.",
     R"sh(0 3 * * * cd /var/log/app && ionice -c3 nice gpusort --memory 256M --log-level warn events.log events.sorted.log)sh"},
    {"As sort in a script that exists", "No change to the script, same options, same output, same exit codes.",
     R"sh(mkdir -p fast && ln -sf "$(command -v gpusort)" fast/sort
PATH=$PWD/fast:$PATH ./monthly-report.sh)sh"},
    {"Orders by time and amount",
     "CSV with quotes and newlines inside fields; the header stays on top, and every record keeps its bytes.",
     R"sh(gpusort -k created_at:timestamp:desc -k amount:decimal orders.csv sorted.csv)sh"},
    {"Events by user and time", "JSON Lines by paths; compressed in and out.",
     R"sh(gpusort -k user.id:int -k ts:timestamp events.jsonl.gz sorted.jsonl.zst)sh"},
    {"Merge and deduplicate exports", "The first record of each id stays, the header is kept once.",
     R"sh(gpusort -m -u -k id:int -o all.csv monday.csv tuesday.csv)sh"},
    {"Dumps that can be compared", "The rows of every COPY block sorted, all else where it was.",
     R"sh(gpusort --format pgdump dump.sql sorted.sql)sh"},
    {"In a queue with a time limit",
     "Slurm sends SIGUSR1 120 s before the time is up; exit code 75 puts the job back into the queue, where it goes on.",
     R"sh(#!/bin/bash
#SBATCH --time=01:00:00 --signal=USR1@120 --requeue --open-mode=append
srun gpusort --resume-dir "$SCRATCH/sort-events" events.log events.sorted.log
code=$?
[ $code != 75 ] || scontrol requeue "$SLURM_JOB_ID"
exit $code)sh"},
};

// The manual page, in three parts: options stand between the first two, the cookbook between the last two. Lines that
// begin with a dot and a capital are man(7)'s macros; all others are plain text, escaped when the page is made.

constexpr const char* kManualAbove = R"(.SH SYNOPSIS
.SY gpusort
.RI [ OPTION ...] " INPUT OUTPUT"
.YS
.SY gpusort
.RI [ OPTION ...] " \-o OUTPUT INPUT" ...
.YS
.SY gpusort
.RI [ OPTION ...] " " [ INPUT ] " >" OUTPUT
.YS
.SY gpusort
.RI [ OPTION ...] " \-\-check INPUT"
.YS
.SY sort
.RI [ "OPTION OF GNU SORT" ...] " " [ FILE ...]
.YS
.SH DESCRIPTION
gpusort sorts lines of text, CSV, JSON Lines, database dumps or binary records on an NVIDIA GPU or, with the same bytes as the result, on the CPU. Every
sort is stable. Order and content of what it writes are checked while the bytes pass, and the output gets its name only
when it is complete and on the disk.
.PP
INPUT - is standard input, OUTPUT - is standard output; -- ends the options. Long names of options are not shortened.
One INPUT without an OUTPUT is sorted to standard output, and without any name standard input is; on a terminal both are
exit 2 with the command to give. --split, --resume-dir and --verify-output need an OUTPUT. Of two names the second is the
OUTPUT, wherever standard output goes.
.SS Records
Without --type and --record-size the extension tells what a record is: .bin is i32, and .i8 to .f64 (also .u32be and so
on) name their type. Files without a known extension, standard input, and --format lines are lines.
.PP
Floating-point numbers are in IEEE 754 totalOrder: -NaN, -inf, ..., -0, +0, ..., +inf, +NaN; no bit of them is changed.
Records with equal keys keep the order of the input, also with -r.
.SS Lines
Keys, letters of orderings, -t -b -d -f -g -h -i -M -n -R -r -V -s -u -z, --sort, --random-source, --files0-from, -c and
-C mean what they mean to GNU sort in the C locale, and the output has the same bytes; --locale orders as the environment
says. A last line without an end gets one. A line may be as long as --max-record; a longer one is exit 3 with its place.
Where memory cannot hold the long lines of all inputs of -m side by side, they are checked and then sorted, with a
warning.
.SS Records with columns
Inputs named .csv, .tsv, .jsonl, .ndjson or .json (compressed or not), or any with --format csv, tsv, jsonl, pgcopy, pgcopy-csv,
pgcopy-binary, pgdump or mysql, are sorted by columns, and every record comes out with the bytes that it had: quotes,
newlines inside quotes, CR LF, a byte order mark on top. Only a last record without a newline gets one. -t or a key as of
sort (-k2,2) means lines, whatever the name is: a warning names the keys of columns that do the same, unless --format lines
says that lines are meant. Inputs whose names mean different formats are exit 2. If no name tells the format, a key like
id:int means csv; the header must have such a column.
.PP
A key is NAME, #N (columns from 1) or, in JSON, a path (a.b[0], $.a.b[0], or a JSON Pointer, /a/b/0), then any of :TYPE,
:asc or :desc, :nulls-first or :nulls-last; a name with colons stands in double quotes. Up to 64 keys; none: all columns as
text.
.TP
.B text, nocase, natural, locale
unsigned bytes (the default); ASCII capitals as small letters, as SQL's lower(); numbers inside text by value, as sort -V;
by the weights of the environment's locale (LC_ALL, LC_COLLATE or LANG), which strxfrm gives
.TP
.B int, decimal, float
exact at any length (--decimal-point, --thousands); float is rounded to 64 bits and ordered by IEEE totalOrder
.TP
.B amount
a decimal with a currency sign ($, or another one of Unicode) in front or behind, or with % behind; the sign counts for
nothing, so that $2 and 2% are equal; in brackets it is negative
.TP
.B date, timestamp, timestamp(FORMAT)
ISO 8601, RFC 3339, what PostgreSQL and MySQL write, 31/Dec/2026:23:59:59 +0100, seconds (up to 10 digits), milli- or
microseconds since 1970; FORMAT has strptime's letters and %f for a fraction. Compared as instants; without a zone as UTC.
A zone is Z, +hh:mm, or an abbreviation (CET, EST, %Z in FORMAT) with the offset that PostgreSQL's default set gives it:
CST, EST, MST and PST are those of North America, IST is Israel's, BST Britain's; MSK is +3 at all times
.TP
.B bool, ip, uuid, bytes-hex
false before true; v4 before v6, then as PostgreSQL's inet by the bits of the network, the length of the prefix, and the
whole address; as bytes. int8, float8, numeric, timestamptz, bytea, inet, cidr, money, ... are taken as well
.PP
Null is an empty field without quotes, \N (not in pgcopy-csv), --null TEXT, null and what is missing in JSON. Nulls come
last, with desc first, as in PostgreSQL. What is no value of its key's type is ordered as null; a warning says how many
there are, and where the first is; --strict makes it exit 3. A key of which no record has a value of its type is exit 3
with the type that reads its values, if there is one; --force-format sorts all the same. A key without a type whose values
look like numbers or times gets a warning that names the type.
.PP
csv and tsv: --delimiter, --quote, --escape, --comment; fields of tsv have no quotes unless --quote names one; a quote opens
quotes only at the front of a field; text behind a closing quote stays; lines of comments go with the record behind them.
Records with another number of columns than the header, and those with a newline in quotes and text behind the closing
quote, stay as they are and are counted in a warning; --strict makes them exit 3. The first record is the header unless
--no-header (pgcopy-csv has none); --header N: the first N are, and the last of them has the names. jsonl: a line is one
JSON value of RFC 8259; of several members with one name the first counts. pgcopy and mysql: COPY text, SELECT INTO
OUTFILE and mysqldump --tab; keys are #N, or names with --header 1, which COPY ... WITH (HEADER) and mysql --batch need (what
ESCAPED BY '' wrote is csv: --no-header --null NULL). pgcopy-binary: keys are #N with the column's type. pgdump: the rows
of every COPY block are sorted, all else stays where it is; keys are TABLE.COLUMN or SCHEMA.TABLE.COLUMN, also with the
double quotes that the dump has around names.
.PP
Exit 3 names record, line and byte of: a quote that is not closed, malformed JSON, a broken COPY BINARY tuple or missing
trailer, inputs whose headers differ. A name that is not in the header is exit 2 with the names, the nearest first. -m
sorts anew, which gives the same bytes; an input out of order is exit 3. Keys count towards --max-record.
.SS Headers
--header N keeps the first N lines where they are, above everything. All inputs must have the same header, which is kept
once (exit 3 names the two that differ); an empty input has none. It takes part in no order, in no -u and in no --top, and
--check begins behind it.
.SS Inputs of another kind
An input whose first bytes show that it is something else than the job reads is exit 3, and the message names the command
that serves it. Recognised are compressed files, archives, dumps of pg_dump in any format, of mysqldump, mariadb-dump and
SQLite, databases, Parquet, Arrow, ORC and Avro files, workbooks, UTF-16 and UTF-32 text, a JSON array or JSON over several
lines, and, for columns, HTML, XML and text whose lines end with CR alone. A name that ends in .sql needs a format. A
dump with --format pgdump must have a COPY block; COPY ... FROM stdin is found at the front of a line, in any case and
over several lines, and rows that are not in COPY's text format are exit 3.
.PP
--format lines, --format binary, --type and --record-size take any bytes, and look for nothing. --force-format does the
same for every format. Under the name sort nothing is refused.
.SS Compressed files
Inputs and outputs named .gz .bz2 .xz .zst .lz4 are compressed; what is in them is told by the rest of the name
(access.log.gz: lines, ids.u64.zst: numbers). All codecs are built in, and every mix works, also with -m, -c and pipes,
--locale and --debug. A name that only looks compressed (x.GZ, x.tgz) is exit 2 until --decompress or --compress says what
is meant. Names and options decide how an input is read. Its content decides nothing, but may be a reason to refuse the
input (see Inputs of another kind), so standard input is expanded only with --decompress.
.PP
Files of several members (concatenated, or written by pigz, pzstd...) are read to the end. Data that is corrupt, followed
by anything else, or cut short (but not exactly between two members: that is a whole file) is exit 3 with its offset, and
the old output stays. A zst window or an xz dictionary may take a quarter of --memory, and 128 or 256 MiB at most. If a larger --memory
would do, that is exit 2, and the message says how much. One
thread expands; all cores compress, as far as a quarter of --memory allows, and the bytes do not depend on how many.
.PP
A compressed input is a stream: how much it holds is not known before it ends, so that temp space cannot be checked before
the start, and -m sorts such inputs anew. The result is the same, as --explain says, and an input that is not sorted is
exit 3.
.SS Output
An OUTPUT that exists and was not given by -o is replaced only after a question, if a person can answer it: standard input
and standard error are terminals. Any answer but y is exit 2. --force does not ask. --no-clobber refuses. Where no answer
can be read (standard input is an input, the job is in the background, --log-format json) the job is exit 2 and names
--force. A job without a terminal replaces the old output, because jobs run again. Several inputs need -o, also for
standard output: gpusort -o - *.log >all.log. gpusort f >f is exit 2: the shell has emptied f.
.PP
The output may be an input: it is replaced when all is done. After any exit code but 0 an output that was there before is
as it was, unless the message says otherwise. Output goes under a hidden name, or none, into the output's folder, is
synced, and is renamed.
.PP
The new file has the owner, group, mode, ACL and extended attributes (user.* and security.*, but not security.capability,
.ima and .evm, which vouch for the old content) that the old one has when it is replaced; a warning names what could not be
given, and why. One that is new has what its folder gives. Hard links keep the old content. A link is followed if the
kernel follows it.
.PP
In a folder that all can write (/tmp), another user's link is not followed, and another user's file, pipe or report is not
written, if it is not the folder's owner's: exit 2.
.PP
What cannot be replaced like that is written in place, with a warning, once all input that it holds has been read: a mount
point (docker -v file:file), a folder that cannot be written or is sticky or append-only, another's owner or group. A job
that fails while it writes then leaves neither the old content nor the new.
.PP
-, /dev/stdout, /dev/fd/N and links to them are written where the descriptor stands, and may be an input, too. Pipes and
devices are streamed; there the exit code is the only sign that the output is complete.
.SS Parts
--split N writes the sorted records to N files, at most 256: part I is OUTPUT-I and the extension that the (first) input has
when it is expanded. An OUTPUT that is a folder is exit 2: give FOLDER/part. One behind the other, without their headers and what stands behind the records, the parts are what is
written without --split. Each is a complete file: it begins with the header, and ends with what stands behind the records. A
part ends where the key changes first at or behind its share of the bytes of all records, so that records with equal keys
are in one part, and a part may have none. What orders lines whose keys are equal (without -s) is not part of the key. Typed
columns and locales add keys to records, and -u and --top leave records out: then shares differ more. The parts are not
compressed.
.PP
OUTPUT.manifest.json is a JSON object: format (binary, lines, csv...), header_bytes (of each part), records and bytes (of
all parts, headers included), and parts, a list of objects: file (its name, in the manifest's folder), records, bytes, first
and last (its first and last record as they lie, of which 4096 bytes at most; null if it has none). What is not UTF-8 is in
file_base64, first_base64, last_base64 instead.
.PP
All parts are complete and synced before the first is renamed, and the manifest is renamed last: a job that fails before
leaves all old files as they were, and only a crash or an error between these renames leaves new parts beside old ones. Parts
of an earlier job with a larger N stay. Each part takes two file descriptors (ulimit -n).
.SS Jobs that survive
With --resume-dir DIR a job that was killed, stopped, or ran out of space goes on when the same command is given again, so
that a script need not know which time it is. DIR, which is made if it is missing (mode 0700), holds a lock, a manifest,
and the sorted runs; with --temp-dir the runs lie in a folder of the job below each of those. What is done is kept there
once it is on the disk: a kill or a power failure loses the batches that were being sorted, a merge of runs that was under
way, and of the output what was written since the last checkpoint: there are several a second at first, and never much more
than 5 minutes or 32 GiB (--checkpoint says otherwise) between two. Until it is complete the output is a hidden file in its
folder, .gpusort-*.partial, which stays, too. Parts, compressed outputs, those with --top or --debug, and those that are
written in place are written anew. When the job is done,
all of that is removed, and DIR too if there is nothing else in it, unless --keep-resume-dir is given. --resume-dir DIR
--status says how far a job is, whether it runs, and where.
.PP
A job goes on only if it is the same: the inputs (names, sizes, inodes, mtimes, and places of 4 KiB all over each file: one
for each 16 MiB, at least 64 and at most 1024), the output's name, and all options that decide about its bytes. Else it is exit
2, which names the first thing that differs.
.PP
An input whose ctime alone has changed since the last attempt got other rights, another owner or another name, or its content
was written and its mtime set back (touch -r, rsync --inplace -t). What was sorted of such an input is then read again and
compared. If a record differs, a warning says so and the job begins anew. A job begins anew in any case if its records have
keys (with columns, --locale, -g). While an input is read, a ctime that changes alone, with the same rights, owner and names, is
exit 3. Some changes cannot be noticed: changes between the places on a file system that keeps no ctime, changes within a tick of
the kernel's clock (up to 10 ms) or after the clock was set back, and writes to the disk below the file system.
.PP
Memory, threads, device, temp folders, batches, reports, and the host may be others, and the bytes are the same; a temp
folder that is named anew is used beside those from before: if one of these is not there (its disk is not mounted, say),
it is exit 4, and nothing is lost. With far less memory than before the
blocks of the runs may be too large for it: exit 2 says how much would do. Two jobs cannot have one DIR: the second is
exit 2 and names the first.
.PP
Records that are given keys (with columns, --locale, -g) do not know their places in the input: until all of it is read, a
kill loses all that was done; from then on their runs are kept as those of others. All runs are written to the disk and
synced, also if memory would hold them: DIR needs the space that --explain says, and while runs are merged in levels twice
as much as without --resume-dir.
.PP
A signal that ends a process (SIGTERM, SIGINT, SIGUSR1, ...) stops the job within 10 s with exit code 75. Exit 4, 5, 6 and 7
keep DIR as well: free the space, or whatever it was, and give the command again. A manifest whose last line is torn goes on
without it; other damage, there or in runs, is exit 8, and a new begin needs DIR to be removed. What of the output is on the
disk is read once when a job goes on, and written anew if it is not what it was. Who gives a job up removes DIR, the
job's folders in temp folders, and .gpusort-*.partial.
.PP
It needs files: streams, compressed inputs, an output that is a stream, -m, and -R without --random-source are exit 2. Programs
that sort the same records at once need a DIR each. --stats says in attempts what each process did: host, pid, begin (UTC),
runs_kept (that it found), runs_made, and bytes_read (of the input, in those).
.SS What happened when
--trace FILE has Chrome's trace events, which https://ui.perfetto.dev and chrome://tracing show: a track for each thread
(readers, lanes that sort and merge, workers that write), below the phases on that of main; and one for each use at once of
inputs, temp space, output, bus, codecs and GPU streams. A slice is a block, a batch or a window, with its number and bytes;
those of a GPU also tell how long it copied and computed. Counters have memory and temp space in use, bytes per second, and
how full the queues are. It is written while the job runs, also of a job that fails or is stopped, whose end and message
are its last event; of one that is killed outright it lacks the last moments and the closing bracket, which viewers take. It
takes up to 4 MiB of --memory, and about 150 bytes of FILE for each block that is read or written.
.PP
--report FILE is a page for any browser, which needs no network: how the job ended and, if it failed, what to do; a timeline
of phases and of how busy disks, bus, cores or GPU, and codecs were; bytes per second beside the best that the job itself saw;
memory and temp space; the plan, notes, names and statistics. Pointing at a chart, or the arrow keys in it, show values, which
tables below have in sum. A job that fails or is stopped by a signal has one, too; one that is killed outright has none, and
wrong usage may have none. It takes the place of an old FILE as an output does, when the job has ended. A report or a trace
that cannot be written is exit 4 or 5 of a job that is done, whose output is in place, and a warning of one that failed.
A --log-file that takes no more lines (a full disk) is one warning, and the job goes on.
.SS GPUs that fail
A GPU that fails costs time and no more, unless --device gpu asks for GPUs alone and it was the last: the others, or the CPU,
give the same bytes, and a warning and a note in --stats say what it was. Sorted runs in memory and temp files stay; what lay on the GPU is read and sorted again.
.PP
Lost is a GPU with which a call of the driver fails, and one that gives no sign for 60 seconds (--gpu-timeout): no wait for
a batch, for a window of the merge or for the driver's start may take so long. Other programs on the same GPU may make it
that slow; then give it more time. With --device gpu the loss of the last GPU is exit 7, and so is one that hangs. After a hang the process ends without waiting for
the driver; only the system may still keep it for as long as it takes to stop the GPU. A call that does not come back from
the driver holds the job: then it is exit 7 whatever --device says, 5 seconds after another call found the hang, or after five
times --gpu-timeout. Memory that is refused makes the plan smaller, twice, and is exit 6 with --device gpu then.
.PP
Wrong results, of memory without ECC, say, do not come through: a 128-bit sum over all records and the order of what is
written are compared before the output gets its name. If they do not agree, nobody knows which run is wrong. So none that was
made is relied on, a warning names the GPU (its name, UUID and PCI address), and the CPU sorts all of the input again, once.
It is exit 8 if its result is wrong too, with --device gpu, if an input is a stream or compressed, so that it is not read
twice, and if standard output or a pipe has taken a part of the output: what came is not to be relied on. With --resume-dir
exit 8 of this kind drops all runs that were kept, those of processes before too, and the same command begins anew; add
--device cpu until the GPU was looked at (nvidia-smi -q, NVRM: Xid in the kernel log). Exit 8 for a block in a temp file that
is not what was written is the disk's, and drops nothing. Not proved are the order among records with equal keys, and with
--top the bytes of the records.
.PP
--check uses no GPU.
.SS Several GPUs
--device gpu uses all GPUs that CUDA shows the process (CUDA_VISIBLE_DEVICES), gpu:0,2 those of these numbers, and auto all
of them for 8 GiB or more, else the first. Each reads and sorts its part of the input and keeps its runs; a window of the merge
is put together on the GPU that has most of it or has nothing else to do, out of the memory of all, over NVLink where the
machine has it and else through the host. --gpu-memory is of each. Memory is dealt evenly: a GPU that was not named and of
which less than a quarter is free of what another has is left out, and so is one that cannot be opened; a note says so. One that is
lost is done without: the others make again what lay on the GPUs, also with --device gpu. But after one that hangs none is
used, because freeing memory of any may wait for it. The bytes are the same with any number of them.
.SS Watching a job
On a terminal one line says how far the job is: "merge runs: 61 %, 1.2 GiB of 2.0 GiB, 512.0 MiB/s, 5 s left, waits for disk
write". Percent and time left are of the whole job, through all phases: what is to come is expected from what the machine did so
far, and the percentage never falls. Bytes and rate are of the phase that is named; with levels, all merges are one phase. It
waits for what was busiest in the last second: disk read, disk write, bus, GPU or cores; nothing is said where nothing was busy
for half of it. A narrow terminal leaves out first the rate, then what it waits for, then the bytes. Of a stream, whose end
nobody knows, it says bytes and rate only.
.PP
--progress always writes such a line every 5 s and at each phase's end where standard error is no terminal, or one that cannot
draw (TERM=dumb), without escapes. There are no colours anywhere, so NO_COLOR changes nothing. SIGUSR1 (kill -USR1 PID) has one
line written to standard error, whatever --progress says, but with --resume-dir it stops the job (see SIGNALS).
.PP
A job that took more than three seconds ends with a summary of five lines on a terminal: bytes and records, time and rate,
memory and temp files, what limited the job, and where to read more and what would make the job faster. --progress always writes
the summary of every job, in pipes as well; --progress never writes none. The JSON log format has the event "done" instead.
.PP
--explain prints the plan. --explain=full also says how many seconds each phase should take, and what will limit it: it reads
up to 48 MiB of the input, sorts and merges them in memory by what would sort the job, and writes and reads a nameless file in
the temp folder and in the output's for a sixth of a second each. Nothing of it stays. It takes about a second; a disk that is
fast only at first, or is busy with others later, is seen as it is at that moment. Of inputs that are streams or compressed it
says nothing.
.SS Under the name sort
Under the name sort, by a link or a copy of that name, the program takes GNU sort's command line (9.10) and gives its
output, messages and exit codes. It is the same engine: inputs from 32 MiB on go to a GPU if there is one (GPUSORT_DEVICE
says otherwise), what is small is sorted in milliseconds, and the order and content of all output are checked. It keeps to
-S from 4 MiB on (below that --compress-program is only tried), but a longer line takes what it needs, up to 4 GiB. It spills to TMPDIR or /tmp, through any program that
--compress-program names, and compares text as LC_ALL says. -m sorts, so that inputs need not be in order, and may need
temp space. An output file gets its name when it is complete, unless it has several names, attributes, an
owner or group that a new file could not get, or a folder in which it cannot be replaced: then it is rewritten in place, as
by GNU sort, after all input has been read. Messages are in English only. Exit codes are sort's own: 0 done, 1 not in order
(-c, -C), 2 trouble.
.SH OPTIONS
Sizes take K M G T P E (by 1024, also as a fraction: 1.5G) or %; a bare number is bytes, and KiB for -S. An option that is
given twice must say the same twice, but for --key and --temp-dir.
)";

constexpr const char* kManualBetween = R"(.SH EXIT STATUS
.TP
.B 0
done: the output is complete, in order, holds exactly the input's records, and is on the disk. With --top, whose other
records nobody keeps, their content is not compared: only that all were read and that N are there, in order. With both -m
and --top no more is read than must be.
.TP
.B 1
only --check: not sorted
.TP
.B 2
wrong usage, or a file that is missing or unreadable, found before any work began
.TP
.B 3
the input breaks its format or limits, or changed while it was read
.TP
.B 4
an I/O error
.TP
.B 5
no space, quota or file-size limit
.TP
.B 6
out of host or GPU memory, after all fallbacks
.TP
.B 7
the GPU is absent, stopped working or gave no sign for too long, and --device gpu allowed no fallback
.TP
.B 8
integrity: a checksum, a count or the order does not agree. Look at the hardware; do not just try again. What is suspect is
named: a file, or who sorted (see GPUs that fail)
.TP
.B 9
an internal error: please report it
.TP
.B 75
only with --resume-dir: stopped by a signal; the same command goes on
.TP
.B 128+n
ended by signal n
.SH SIGNALS
SIGINT, SIGTERM, SIGHUP and all others that end a process and can be caught end the job by that signal, and leave no file
behind: within 0.5 s, or within 1 s if the job has a GPU, whose driver takes that long to let go. With --resume-dir the job
stops within 10 s, keeps what is done, and exits with 75; a second signal ends it at once. SIGUSR1 is no such signal without
--resume-dir: the job says how far it is and goes on (see Watching a job).
.SH ENVIRONMENT
.TP
.B TMPDIR
where to spill, if --temp-dir does not say it
.TP
.B LC_ALL, LC_COLLATE, LC_CTYPE, LC_NUMERIC, LC_TIME, LANG
the locale, for --locale, for keys of the type locale, and under the name sort. LC_ALL=C compares bytes, which is
fastest. A locale that the system does not have is exit 2.
.TP
.B GPUSORT_DEVICE
under the name sort, what --device is under the program's own: auto (the default: GPUs if there are any and the input is
worth it), cpu, gpu, or gpu:0,2; any other word is exit 2
.TP
.B GPUSORT_CUDA_MODULE
the file of the GPU backend, in place of the one that is found (see FILES)
.TP
.B POSIXLY_CORRECT, _POSIX2_VERSION
under the name sort: as for GNU sort
.SH FILES
The GPU backend is gpusort_cuda.so, of the same release as the program: beside it, in lib/gpusort of the folder above, or in
the folder that it was installed to. It is loaded when a GPU is wanted; without it all is sorted on the CPU, and --device gpu
is exit 7. --version says which one there is, and how to get it.
.PP
What is spilled belongs to no name, so that nothing remains after a crash; other users cannot read it. With --resume-dir it
has the name gpusort.runs, and stays. Where a file system makes no nameless files, the output has a hidden name in its
folder until it is complete.
.SH THE LOG AS JSON
With --log-format json each line on standard error and in --log-file is one JSON object (RFC 8259, UTF-8), usage errors
and the lines of --progress included; on a terminal, too. Every line has ts (RFC 3339, UTC, milliseconds), level (debug,
info, warning, error) and event; other members may come to those named here, none goes. --log-level says which are
shown: at info (the default here) the first line is started (wrong usage has none) and the last one done or failed; at warn,
failed and warnings are left. Only a process that is killed outright (SIGKILL) has no last line. --explain, --status and --stats write what they always do.
.TP
.B started
version, pid, inputs (the first 8), input_count, output (with --check: none)
.TP
.B plan
backend, memory, gpus, device_memory (of each), batch_bytes, block_bytes, fan_in, levels, temp_bytes (at most), runs (if it can be told);
anew when a job goes on with another plan
.TP
.B phase
phase (start, form runs, merge runs, publish; check) and state: begins, or ends with seconds, bytes_read, bytes_written (of
disks)
.TP
.B progress
phase, bytes, bytes_total (if known), bytes_per_second, percent and seconds_left (of the whole job, if known), waits_for (if
something stands out), message; when SIGUSR1 asks, and each second and at each phase's end, if --progress says
so or standard error is a terminal; at any level, and not in --log-file
.TP
.B note
message: fallbacks, what was skipped or is doubtful (level warning), what else is said (info, debug)
.TP
.B failed
exit_code, seconds, message, and where there is one: signal (its name; exit_code is then 128+n, or 75), errno (its name),
path, offset. Level error. Of a process that ends in its signal handler it has exit_code and signal only, and is not in
--log-file
.TP
.B done
exit_code, seconds, and of what was sorted records, bytes (as stored), runs, temp_bytes_written. A --check of what is not
sorted is done with exit_code 1, a message, and level error
.PP
In all members but message a byte that is no printable UTF-8 is \xNN, and a backslash is \x5c, so that names can be had back
as they are. message is for people: there, as in all texts of gpusort, a backslash stays as it is.
.SH LIMITS
A record has 1 byte to 1 GiB, a key up to 64 fields, all inputs together up to 1 EiB (a larger one is exit 3). Memory must
hold a few records of each of a few runs; if --memory is too small for that, the message says what would do.
.PP
Sorting spills about 1.05 times the (expanded) input to the temp folders, more with a few MiB of memory, very short lines or
records as long as a block, and nothing if all runs fit in memory. --explain says how much at most (for --locale and -g, an
estimate). Space is checked before the start.
.PP
Without --memory a job takes half of what is free: of the machine, of its control groups (version 1 and 2, also those above
its own; the page cache counts as free), and of ulimit -v and -d. Threads are as many as the cores that it may run on, and no
more than the groups' CPU quota is worth.
.PP
What a batch system granted bounds these defaults as well: memory by SLURM_MEM_PER_NODE, SLURM_MEM_PER_CPU,
SLURM_MEM_PER_GPU and ulimit -m (which LSF, Grid Engine and PBS set), threads by SLURM_CPUS_PER_TASK or SLURM_CPUS_ON_NODE,
PBS_NCPUS, PBS_NUM_PPN, NCPUS (with PBS_JOBID), LSB_DJOB_NUMPROC, LSB_MAX_NUM_PROCESSORS and NSLOTS. The tasks of a step of
Slurm share what is granted on a node. --explain and the log say which bound counts. --memory and --threads may ask for more.
.PP
A --memory that is more than the machine, a control group or ulimit allows is lowered to what is there, less a part for the
program itself, and a warning names both. Memory that is too small for all threads is planned for fewer, before anything is
refused.
.PP
--memory bounds what gpusort itself takes, pinned memory included. On top come the program (about 10 MiB), up to 32 MiB of
what is known of runs and their blocks (what passes that is counted, so huge inputs need more than a few MiB; of a stream it
is not counted), and the CUDA driver's own memory.
.PP
Only the size that a file has when it is opened is sorted: growth is a warning, shrinking is exit code 3.
.PP
What is said here of errors is tested with file systems, disks and GPUs that are made to fail: full, read-only, unmounted, over
quota, failing only at fsync; kills at random times; and what was not synced left out, for a loss of power. Not tested, because it
cannot be had: power lost by real disks that lie about what they have written, ECC errors (Xid) of real GPUs, and servers of
NFS, whose late errors count like those of a disk (exit 4).
.PP
Linux on x86-64; GPUs from compute capability 7.5 on.
.SH NOTES
Under its own name gpusort differs from GNU sort: two names are INPUT and OUTPUT; -m of several inputs needs -o, so that of
two inputs none is replaced; long names of options are not shortened; an option that is given twice must say the same
twice; % of -S is of all memory, or of the control group's limit; lines are compared as in the C locale unless --locale is
given; and exit codes tell more. The keys of old, +1 -2, and --check=quiet, silent or diagnose-first are taken as by GNU
sort.
.SH EXAMPLES
)";

constexpr const char* kManualBelow = R"(.SH SEE ALSO
gpusort_gen(1), which makes files to try it on; gpusort_check(1), an independent check of the result; sort(1), uniq(1), join(1),
split(1), zstd(1), locale(7)
)";

std::string FirstColumn(const OptionRow& row) {
  std::string text = row.letter == 0 ? "      " : std::string("  -") + row.letter;
  if (row.name[0] != '\0') text += (row.letter == 0 ? "--" : ", --") + std::string(row.name);
  if (row.argument[0] != '\0') text += std::string(" ") + row.argument;
  return text;
}

/// `words` behind `line`, in lines of 80 columns at most; further lines begin in `column`.
std::string Wrapped(std::string line, std::size_t column, const char* words) {
  constexpr std::size_t kWidth = 80;
  std::string text;
  line.resize(std::max(line.size() + 2, column) - 1, ' ');
  std::istringstream paragraphs(words);
  for (std::string paragraph; std::getline(paragraphs, paragraph);) {
    std::istringstream rest(paragraph);
    for (std::string word; rest >> word;) {
      if (line.size() + 1 + word.size() > kWidth) {
        text += line + "\n";
        line.assign(column - 1, ' ');
      }
      line += " " + word;
    }
    text += line + "\n";
    line.assign(column - 1, ' ');
  }
  return text;
}

std::string ShortHelp() {
  constexpr std::size_t kColumn = 28;
  std::string text = kUsage + std::string("\nOptions most often needed:\n");
  for (const OptionRow& row : kOptionRows) {
    if (row.brief[0] != '\0') text += Wrapped(FirstColumn(row), kColumn, row.brief);
  }
  return text + kShortExamples;
}

std::string AllOptions() {
  constexpr std::size_t kColumn = 28;
  std::string text = kUsage;
  for (const SectionTitle& section : kSectionTitles) {
    text += std::string("\n") + section.title + ":\n";
    for (const OptionRow& row : kOptionRows) {
      if (row.section == section.section) text += Wrapped(FirstColumn(row), kColumn, row.help);
    }
  }
  return text + kExitCodes;
}

std::string Examples() {
  const auto commands = [](const char* script) {
    std::string text;
    std::istringstream lines(script);
    for (std::string line; std::getline(lines, line);) text += "      " + line + "\n";
    return text;
  };
  std::string text = "Commands\n\n" + commands(kCommands);
  int number = 0;
  for (const Recipe& recipe : kCookbook) {
    text += '\n';
    text += std::to_string(++number) + ". " + recipe.title + "\n" + Wrapped("", 3, recipe.text) + "\n";
    text += commands(recipe.script);
  }
  return text;
}

/// For roff, as it is: quotes and accents that are bytes of a command, hyphens that are minus signs if `minus`.
std::string Escape(std::string_view text, bool minus) {
  std::string out = text.size() > 1 && (text[0] == '.' || text[0] == '\'') ? "\\&" : "";  // no control line
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '-':
        out += minus ? "\\-" : "-";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// A line of prose: words that are options become bold.
std::string Prose(const std::string& line) {
  std::string out;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const std::size_t begin = std::min(word.find_first_not_of("(["), word.size());
    const std::size_t end = std::max(word.find_last_not_of(".,;:)]") + 1, begin);
    const bool minus = word[begin] == '-';  // past the end there is a NUL
    const bool option = minus && (end - begin <= 2 || word[begin + 1] == '-');
    if (!out.empty()) out += ' ';
    out += Escape(word.substr(0, begin), false) + (option ? "\\%\\fB" : "") +
           Escape(word.substr(begin, end - begin), minus) + (option ? "\\fR" : "") + Escape(word.substr(end), false);
  }
  return out + "\n";
}

/// Text with macros.
std::string Roff(const char* text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const bool macro = line.size() > 1 && line[0] == '.' && std::isupper(static_cast<unsigned char>(line[1])) != 0;
    out += macro ? line + "\n" : Prose(line);
  }
  return out;
}

std::string RoffCommands(const char* script) {
  std::string text = ".PP\n.RS 4\n.EX\n";
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) text += Escape(line, true) + "\n";
  return text + ".EE\n.RE\n";
}

std::string RoffOption(const OptionRow& row) {
  std::string text = ".TP\n";
  if (row.letter != 0) text += std::string("\\fB\\-") + row.letter + "\\fR";
  if (row.name[0] != '\0') {
    text += std::string(row.letter == 0 ? "" : ", ") + "\\fB\\-\\-" + Escape(row.name, true) + "\\fR";
  }
  if (row.argument[0] != '\0') text += std::string(" \\fI") + row.argument + "\\fR";
  text += "\n";
  std::istringstream paragraphs(row.help);
  bool first = true;
  for (std::string paragraph; std::getline(paragraphs, paragraph); first = false) {
    text += (first ? "" : ".br\n") + Prose(paragraph);
  }
  if (row.more[0] != '\0') {
    text.pop_back();
    text += ".\n" + Prose(row.more);
  }
  return text;
}

std::string Manual() {
  std::string text = ".TH GPUSORT 1 \"\" \"gpusort " GPUSORT_VERSION "\" \"User Commands\"\n";
  text += ".SH NAME\ngpusort \\- sort files larger than memory, on a GPU or without one\n" + Roff(kManualAbove);
  for (const SectionTitle& section : kSectionTitles) {
    text += ".SS \"" + Escape(section.title, false) + "\"\n";
    for (const OptionRow& row : kOptionRows) {
      if (row.section == section.section) text += RoffOption(row);
    }
  }
  text += Roff(kManualBetween) + ".SS Commands\n" + RoffCommands(kCommands);
  int number = 0;
  for (const Recipe& recipe : kCookbook) {
    text += ".SS \"" + std::to_string(++number) + ". " + Escape(recipe.title, false) + "\"\n" + Prose(recipe.text);
    text += RoffCommands(recipe.script);
  }
  return text + Roff(kManualBelow);
}

}  // namespace

std::string HelpText(HelpTopic topic) {
  switch (topic) {
    case HelpTopic::kAll:
      return AllOptions();
    case HelpTopic::kExamples:
      return Examples();
    case HelpTopic::kManual:
      return Manual();
    case HelpTopic::kShort:
      break;
  }
  return ShortHelp();
}

}  // namespace gpusort
