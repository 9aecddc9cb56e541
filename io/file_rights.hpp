// Reads the owner, group, mode, ACL and extended attributes of a file, and gives them to the new file that replaces it.
// Start at FileRights.
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
  std::map<std::string, std::string> attributes;  ///< the names and values of the extended attributes, without ACLs
  std::vector<std::string> unread;                ///< names of unreadable attributes, each with the reason
  friend bool operator==(const FileRights&, const FileRights&) = default;

  /// Returns the rights of the regular file `name` in the open directory `directory`. Returns std::nullopt if there is
  /// no such file. Throws SystemError.
  /// - by_path: a path to the file, for reading its ACL and attributes
  /// - path: the name of the file in messages
  static std::optional<FileRights> Of(int directory, const std::string& name, const std::string& by_path,
                                      const std::string& path);
  /// Gives `file` the owner, group, ACL and mode that this object stores. Returns false if the owner, the group or the
  /// ACL cannot be set, and adds the reasons to `lost`. In this case, also removes permissions from the mode, so that
  /// no other user gets more rights than on the original file. Throws SystemError if the mode cannot be set.
  bool GiveAccess(File& file, std::vector<std::string>& lost) const;
  /// Gives `file` the rights and extended attributes that this object stores. Sets `lost` to the list of rights and
  /// attributes that `file` does not get, each with the reason. Throws SystemError if the mode cannot be set.
  void GiveAll(File& file, std::vector<std::string>& lost) const;
  /// Gives `file` the default mode and the default ACL of new files in `directory`. `path` is its name for
  /// error messages.
  static void GiveDefault(File& file, int directory, const std::string& path);
  static void RemoveAcl(File& file);

 private:
  void GiveAttributes(File& file, std::vector<std::string>& lost) const;
};

}  // namespace gpusort
