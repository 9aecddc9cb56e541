// Owner, group, mode, ACL and extended attributes of a file. An output that replaces a file gets those of the replaced
// file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "io/file.hpp"

namespace gpusort {

/// The rights and the extended attributes of a file.
struct FileRights {
  unsigned uid = 0, gid = 0, mode = 0;
  std::string acl;                                ///< the ACL in binary form; empty if `mode` says everything
  std::map<std::string, std::string> attributes;  ///< names and values, without ACLs
  std::vector<std::string> unread;                ///< names of unreadable attributes, each with the reason
  friend bool operator==(const FileRights&, const FileRights&) = default;

  /// Returns the rights of the file `name` in an open directory, or std::nullopt if there is no such regular file.
  /// `by_path` must be another path to the same file, because the calls that read an ACL or attributes take no
  /// directory. `path` is the file's name in messages. Throws SystemError.
  static std::optional<FileRights> Of(int directory, const std::string& name, const std::string& by_path,
                                      const std::string& path);
  /// Gives `file` this owner, group, ACL and mode. Throws SystemError if the mode cannot be set. If the owner, the
  /// group or the ACL cannot be set, adds each reason to `lost`, leaves rights out of the mode if necessary, and
  /// returns false. No user then has more rights on `file` than on the file from which these rights were read.
  bool GiveAccess(File& file, std::vector<std::string>& lost) const;
  /// Gives `file` all these rights and attributes, as far as possible. Adds each right or attribute that cannot be set
  /// to `lost`, with the reason.
  void GiveAll(File& file, std::vector<std::string>& lost) const;
  /// Gives `file` the mode and the ACL that the kernel gives to a new file of mode 0666 in the directory.
  static void GiveDefault(File& file, int directory, const std::string& path);
  static void RemoveAcl(File& file);

 private:
  void GiveAttributes(File& file, std::vector<std::string>& lost) const;
};

}  // namespace gpusort
