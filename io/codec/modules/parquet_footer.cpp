// The libraries would hold some 2.5 KB for each column of each row group until the end of the file. Row groups are kept
// as the bytes of the footer instead, which Thrift has serialized, and take a tenth of that. The places of the page
// indexes are inserted at the end.
#include "io/codec/modules/parquet_footer.hpp"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <parquet/exception.h>

#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "kernels/error.hpp"

namespace gpusort {
namespace {

// The types of Thrift's compact protocol.
enum ThriftType : unsigned char {
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kI16 = 4,
  kI32 = 5,
  kI64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
};
// Numbers of fields in parquet.thrift.
constexpr int kFileRows = 3, kFileGroups = 4, kGroupColumns = 1, kChunkMetadata = 3;

[[noreturn]] void FailFooter() {
  throw Error(ErrorCode::kInternal, "the footer of the Parquet output is not as expected");
}

/// Reads structs of Thrift's compact protocol.
class ThriftReader {
 public:
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  struct Field {
    int number = 0;
    unsigned char type = 0;  ///< 0: the end of the struct
  };
  /// Reads the head of the field after the field `last`.
  Field NextField(int last) {
    const unsigned char head = Byte();
    const auto type = static_cast<unsigned char>(head & 0x0F);
    if (type == 0) return {};
    if (head >> 4 != 0) return {last + (head >> 4), type};
    return {static_cast<int>(Signed()), type};
  }
  /// Reads the head of a list. Returns its number of elements.
  std::uint64_t Count(unsigned char& type) {
    const unsigned char head = Byte();
    type = static_cast<unsigned char>(head & 0x0F);
    return head >> 4 == 15 ? Number() : head >> 4;
  }
  /// Reads a value. `in_list` is true for an element of a list, in which a bool has a byte.
  void Skip(unsigned char type, bool in_list = false) {
    switch (type) {
      case kTrue:
      case kFalse:
        return Advance(in_list ? 1 : 0);
      case kByte:
        return Advance(1);
      case kI16:
      case kI32:
      case kI64:
        Number();
        return;
      case kDouble:
        return Advance(8);
      case kBinary:
        return Advance(Number());
      case kList:
      case kSet: {
        unsigned char element = 0;
        for (std::uint64_t left = Count(element); left > 0; --left) Skip(element, true);
        return;
      }
      case kStruct: {
        int last = 0;
        for (Field field = NextField(last); field.type != 0; field = NextField(last)) {
          Skip(field.type);
          last = field.number;
        }
        return;
      }
      default:
        FailFooter();  // the metadata of Parquet has no map
    }
  }
  std::uint64_t Number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const unsigned char byte = Byte();
      number |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return number;
    }
    FailFooter();
  }
  std::int64_t Signed() {
    const std::uint64_t number = Number();
    return static_cast<std::int64_t>(number >> 1 ^ (~(number & 1) + 1));
  }
  std::size_t at() const { return at_; }

 private:
  unsigned char Byte() {
    Advance(1);
    return static_cast<unsigned char>(bytes_[at_ - 1]);
  }
  void Advance(std::uint64_t count) {
    if (count > bytes_.size() - at_) FailFooter();
    at_ += count;
  }

  const std::string_view bytes_;
  std::size_t at_ = 0;
};

void PutNumber(std::uint64_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
  out += static_cast<char>(number);
}
/// Appends the field after the field `last`, which must be less than 16 before `field`.
void PutSignedField(int last, int field, ThriftType type, std::uint64_t value, std::string& out) {
  out += static_cast<char>((field - last) << 4 | type);
  PutNumber(value << 1, out);
}
void PutListHead(std::uint64_t count, ThriftType element, std::string& out) {
  if (count < 15) {
    out += static_cast<char>(count << 4 | element);
  } else {
    out += static_cast<char>(0xF0 | element);
    PutNumber(count, out);
  }
}

/// The parts of a serialized footer.
struct FooterParts {
  std::string_view before_rows;  ///< the fields before the number of rows
  std::int64_t rows = 0;
  std::string_view row_groups;    ///< the elements of the list of row groups
  std::string_view after_groups;  ///< the fields after the row groups, and the end
};

FooterParts Divide(std::string_view footer) {
  FooterParts parts;
  ThriftReader reader(footer);
  int last = 0;
  for (;;) {
    const std::size_t begin = reader.at();
    const ThriftReader::Field field = reader.NextField(last);
    if (field.type == 0 || field.number > kFileGroups) FailFooter();
    if (field.number == kFileRows) {
      parts.before_rows = footer.substr(0, begin);
      parts.rows = reader.Signed();
    } else if (field.number == kFileGroups) {
      if (last != kFileRows) FailFooter();
      unsigned char type = 0;
      std::uint64_t count = reader.Count(type);
      const std::size_t first = reader.at();
      for (; count > 0; --count) reader.Skip(type, true);
      parts.row_groups = footer.substr(first, reader.at() - first);
      parts.after_groups = footer.substr(reader.at());
      return parts;
    } else {
      reader.Skip(field.type);
    }
    last = field.number;
  }
}

/// Writes the footer piece by piece.
class FooterFile {
 public:
  explicit FooterFile(arrow::io::OutputStream& out) : out_(out) {}
  void Write(std::string_view bytes) {
    PARQUET_THROW_NOT_OK(out_.Write(bytes.data(), static_cast<std::int64_t>(bytes.size())));
    written_ += bytes.size();
  }
  std::uint64_t written() const { return written_; }

 private:
  arrow::io::OutputStream& out_;
  std::uint64_t written_ = 0;
};

/// Returns the row group with the places of its page indexes. `column_at` and `offset_at` are the places of its first
/// column index and of its first offset index.
std::string PlaceIndexes(const WrittenGroup& group, std::uint64_t column_at, std::uint64_t offset_at) {
  std::string out;
  ThriftReader reader(group.row_group);
  const std::string_view bytes = group.row_group;
  if (reader.NextField(0).number != kGroupColumns) FailFooter();
  unsigned char type = 0;
  if (reader.Count(type) != group.column_indexes.size()) FailFooter();
  std::size_t copied = 0;
  for (std::size_t i = 0; i < group.column_indexes.size(); ++i) {
    int last = 0;
    std::size_t end = reader.at();
    for (auto field = reader.NextField(last); field.type != 0; field = reader.NextField(last)) {
      reader.Skip(field.type);
      last = field.number;
      end = reader.at();
    }
    if (last != kChunkMetadata) FailFooter();
    out += bytes.substr(copied, end - copied);
    copied = end;
    const auto put = [&](std::uint64_t& at, std::uint32_t size, int field) {
      if (size == 0) return;
      PutSignedField(last, field, kI64, at, out);
      PutSignedField(field, field + 1, kI32, size, out);
      at += size;
      last = field + 1;
    };
    constexpr int kOffsetIndexAt = 4, kColumnIndexAt = 6;
    put(offset_at, group.offset_indexes[i], kOffsetIndexAt);
    put(column_at, group.column_indexes[i], kColumnIndexAt);
  }
  out += bytes.substr(copied);
  return out;
}

std::uint64_t Sum(const std::vector<std::uint32_t>& sizes) {
  std::uint64_t sum = 0;
  for (const std::uint32_t size : sizes) sum += size;
  return sum;
}

/// Returns the sizes of the indexes of `columns` columns. The indexes must follow each other from `at` on. Sets `at` to
/// their end.
std::vector<std::uint32_t> SizesOf(const parquet::IndexLocations& places, std::size_t columns, std::int64_t& at) {
  std::vector<std::uint32_t> sizes(columns);
  for (const auto& [chunk, place] : places) {
    const auto column = static_cast<std::size_t>(chunk.column_index);
    if (column >= columns || place.offset != at || place.length <= 0) FailFooter();
    sizes[column] = static_cast<std::uint32_t>(place.length);
    at += place.length;
  }
  return sizes;
}

}  // namespace

WrittenGroup DescribeGroup(parquet::FileMetaDataBuilder& metadata, parquet::PageIndexBuilder& indexes) {
  WrittenGroup group;
  const std::unique_ptr<parquet::FileMetaData> finished = metadata.Finish(nullptr);
  const std::string footer = finished->SerializeToString();
  const FooterParts parts = Divide(footer);
  group.rows = parts.rows;
  group.row_group = parts.row_groups;
  const auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  const parquet::PageIndexBuilder::WriteResult places = indexes.WriteTo(sink.get());
  const auto columns = static_cast<std::size_t>(finished->num_columns());
  std::int64_t end = 0;
  group.column_indexes = SizesOf(places.column_index_locations, columns, end);
  group.offset_indexes = SizesOf(places.offset_index_locations, columns, end);
  const std::shared_ptr<arrow::Buffer> bytes = sink->Finish().ValueOrDie();
  group.indexes = bytes->ToString();
  return group;
}

void WriteEnd(const GroupsFile& file, std::span<WrittenGroup> groups) {
  std::vector<std::uint64_t> places;
  std::int64_t rows = 0;
  for (WrittenGroup& group : groups) {
    places.push_back(static_cast<std::uint64_t>(file.out->Tell().ValueOrDie()));
    const std::string indexes = std::exchange(group.indexes, {});
    PARQUET_THROW_NOT_OK(file.out->Write(indexes.data(), static_cast<std::int64_t>(indexes.size())));
    rows += group.rows;
  }
  const std::string empty =
      parquet::FileMetaDataBuilder::Make(&file.schema, file.properties)->Finish(file.key_values)->SerializeToString();
  const FooterParts parts = Divide(empty);
  FooterFile footer(*file.out);
  std::string head(parts.before_rows);
  PutSignedField(kFileRows - 1, kFileRows, kI64, static_cast<std::uint64_t>(rows), head);
  head += static_cast<char>((kFileGroups - kFileRows) << 4 | kList);
  PutListHead(groups.size(), kStruct, head);
  footer.Write(head);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    WrittenGroup group = std::move(groups[i]);
    footer.Write(PlaceIndexes(group, places[i], places[i] + Sum(group.column_indexes)));
  }
  footer.Write(parts.after_groups);
  if (footer.written() > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorCode::kUsage, "the footer of the Parquet output has " + std::to_string(footer.written()) +
                                       " bytes, and readers take at most 2 GiB: give a larger --row-group-size");
  }
  const auto size = static_cast<std::uint32_t>(footer.written());
  std::string tail;
  for (unsigned shift = 0; shift < 32; shift += 8) tail += static_cast<char>(size >> shift & 0xFF);
  footer.Write(tail + "PAR1");
}

}  // namespace gpusort
