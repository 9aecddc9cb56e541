// The rights of an output that replaces a file: owner, group, mode, ACL and extended attributes of the old file.
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
  std::string acl;                                ///< as the kernel stores it; empty if `mode` says everything
  std::map<std::string, std::string> attributes;  ///< without those of the system (ACLs)
  std::vector<std::string> unread;                ///< names of attributes that cannot be read, each with the reason
  friend bool operator==(const FileRights&, const FileRights&) = default;

  /// Reads the rights of the file `name` in an open directory. Returns std::nullopt if there is no regular file.
  /// `by_path` leads to the same file; `path` is its name in messages. Throws SystemError.
  static std::optional<FileRights> Of(int directory, const std::string& name, const std::string& by_path,
                                      const std::string& path);
  /// Gives `file` owner, group, mode and ACL. Returns false if some of them could not be given; then `lost` has the
  /// reasons, and no user can do more with the file than before. Throws SystemError if the mode cannot be set.
  bool GiveAccess(File& file, std::vector<std::string>& lost) const;
  /// Gives `file` all rights and all attributes that may be kept. Replaces `lost` by the rest, each with the reason.
  void GiveAll(File& file, std::vector<std::string>& lost) const;
  /// Gives `file` the mode and the ACL that the kernel gives a new file of mode 0666 in the directory.
  static void GiveDefault(File& file, int directory, const std::string& path);
  static void RemoveAcl(File& file);

 private:
  void GiveAttributes(File& file, std::vector<std::string>& lost) const;
};

}  // namespace gpusort
