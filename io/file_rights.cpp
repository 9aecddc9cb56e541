#include "io/file_rights.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>

namespace gpusort {
namespace {

/// Returns the permission bits that a new file gets.
unsigned DefaultMode() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("Umask:", 0) == 0) return 0666u & ~static_cast<unsigned>(std::stoul(line.substr(6), nullptr, 8));
  }
  // Without /proc a program can only read the mask by setting it. Sets a strict mask, because other threads may create
  // files in the meantime.
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return 0666u & ~mask;
}

constexpr char kAcl[] = "system.posix_acl_access";

/// Reads an ACL in the kernel's binary form. Returns an empty string if there is no ACL, or if the file system or a
/// sandbox does not support ACLs. `named` is the file's name in a message.
std::string ReadAcl(const std::string& path, const char* which, const std::string& named) {
  std::string acl(std::size_t{1} << 16, '\0');
  const ssize_t got = ::lgetxattr(path.c_str(), which, acl.data(), acl.size());
  if (got < 0 && (errno == EIO || errno == ENOMEM || errno == ESTALE)) detail::FailOpen("the ACL of ", named, errno);
  acl.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return acl;
}

/// Reads the extended attributes except those of the system (ACLs). If `unread` is not null, adds to it the name of
/// each attribute that cannot be read, with the reason. `list` and `get` must call listxattr and getxattr for a file.
template <typename List, typename Get>
std::map<std::string, std::string> ReadAttributes(List list, Get get, std::vector<std::string>* unread = nullptr) {
  constexpr std::size_t kMost = std::size_t{1} << 16;  // XATTR_LIST_MAX and XATTR_SIZE_MAX
  std::map<std::string, std::string> attributes;
  std::string names(kMost, '\0');
  const ssize_t bytes = list(names.data(), names.size());
  names.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  for (std::size_t at = 0; at < names.size(); at += std::strlen(names.c_str() + at) + 1) {
    const char* const name = names.c_str() + at;
    if (std::string_view(name).starts_with("system.")) continue;
    std::string value(kMost, '\0');
    const ssize_t got = get(name, value.data(), value.size());
    if (got < 0) {
      // ENODATA: the attribute was removed in the meantime.
      if (errno != ENODATA && unread != nullptr) unread->push_back(name + (": " + detail::ErrnoText(errno)));
      continue;
    }
    value.resize(static_cast<std::size_t>(got));
    attributes.emplace(name, std::move(value));
  }
  return attributes;
}

/// Reads the extended attributes of a file. Does not follow links.
std::map<std::string, std::string> AttributesOf(const std::string& path, std::vector<std::string>& unread) {
  return ReadAttributes(
      [&](char* names, std::size_t size) { return ::llistxattr(path.c_str(), names, size); },
      [&](const char* name, char* value, std::size_t size) { return ::lgetxattr(path.c_str(), name, value, size); },
      &unread);
}
std::map<std::string, std::string> AttributesOf(int fd) {
  return ReadAttributes(
      [&](char* names, std::size_t size) { return ::flistxattr(fd, names, size); },
      [&](const char* name, char* value, std::size_t size) { return ::fgetxattr(fd, name, value, size); });
}

/// Returns why the new file does not get an attribute, or null if it does.
const char* WhyNotKept(std::string_view name) {
  if (name == "security.capability" || name == "security.ima" || name == "security.evm") {
    return "it vouches for the old content";
  }
  return name.starts_with("user.") || name.starts_with("security.") ? nullptr : "only user.* and security.* are kept";
}

/// Limits the default ACL of a directory as the kernel does for a file that is created with mode 0666. The mode limits
/// the entries for the owner, for others, and for the mask or, if there is no mask, for the group.
void KeepReadAndWrite(std::string& acl) {
  // The layout of linux/posix_acl_xattr.h: a version of 4 bytes, then entries of tag, permissions and id.
  struct Entry {
    std::uint16_t tag, permissions;
    std::uint32_t id;
  };
  constexpr std::size_t kHeader = 4;
  constexpr std::uint16_t kOwner = 0x01, kGroup = 0x04, kMask = 0x10, kOthers = 0x20;
  const auto limit = [&](std::uint16_t tag) {
    bool found = false;
    for (std::size_t at = kHeader; at + sizeof(Entry) <= acl.size(); at += sizeof(Entry)) {
      Entry entry;
      std::memcpy(&entry, acl.data() + at, sizeof entry);
      if (entry.tag != tag) continue;
      entry.permissions &= 06;
      std::memcpy(acl.data() + at, &entry, sizeof entry);
      found = true;
    }
    return found;
  };
  limit(kOwner);
  limit(kOthers);
  if (!limit(kMask)) limit(kGroup);
}

std::string Octal(unsigned mode) {
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), "%04o", mode);
  return text.data();
}

}  // namespace

std::optional<FileRights> FileRights::Of(int directory, const std::string& name, const std::string& by_path,
                                         const std::string& path) {
  struct stat st;
  const int found = ::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW);
  // If this error were ignored, all users could read the new version of a private file.
  if (found != 0 && errno != ENOENT) detail::FailOpen("the access to ", path, errno);
  if (found != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  FileRights rights{st.st_uid, st.st_gid, st.st_mode & 07777, ReadAcl(by_path, kAcl, path), {}, {}};
  rights.attributes = AttributesOf(by_path, rights.unread);
  return rights;
}

bool FileRights::GiveAccess(File& file, std::vector<std::string>& lost) const {
  const int fd = file.fd_.get();
  const FileFacts now = file.Facts();
  unsigned allowed = mode;
  bool all = true;
  // Only root can change the owner. Other users can change the group to one of their own.
  if (now.uid != uid && ::fchown(fd, uid, static_cast<gid_t>(-1)) != 0) {
    all = false;
    lost.push_back("owner: " + detail::ErrnoText(errno));
    allowed &= ~static_cast<unsigned>(S_ISUID);
  }
  if (now.gid != gid && ::fchown(fd, static_cast<uid_t>(-1), gid) != 0) {
    all = false;
    lost.push_back("group: " + detail::ErrnoText(errno));
    allowed &= ~static_cast<unsigned>(S_ISGID) & (~070u | ((allowed & 07u) << 3));
  }
  // The new file never keeps an ACL from the default ACL of its directory.
  ::fremovexattr(fd, kAcl);
  if (!acl.empty() && (!all || ::fsetxattr(fd, kAcl, acl.data(), acl.size(), 0) != 0)) {
    lost.push_back("ACL: " + (all ? detail::ErrnoText(errno) : "it goes with owner and group"));
    all = false;
    allowed &= 0700u;
  }
  file.SetMode(allowed);
  // The kernel drops these bits if the user is not in the group.
  if (const unsigned kept = file.Facts().mode; ((mode & ~kept) & (S_ISUID | S_ISGID)) != 0) {
    lost.push_back("set-user-ID or set-group-ID: the new mode is " + Octal(kept));
  }
  return all;
}

/// Gives `file` the extended attributes. The mode of `file` must be 0600, because the old file's mode may forbid to
/// change attributes.
void FileRights::GiveAttributes(File& file, std::vector<std::string>& lost) const {
  const int fd = file.fd_.get();
  const std::map<std::string, std::string> mine = AttributesOf(fd);
  for (const auto& [name, value] : mine) {
    if (name.starts_with("user.") && !attributes.contains(name)) ::fremovexattr(fd, name.c_str());
  }
  for (const auto& [name, value] : attributes) {
    const auto same = mine.find(name);
    if (same != mine.end() && same->second == value) continue;  // the directory gave it, as SELinux's label
    if (const char* const why = WhyNotKept(name)) {
      lost.push_back(name + ": " + why);
    } else if (file.calls_.SetAttribute(fd, name.c_str(), value) != 0) {
      lost.push_back(name + ": " + detail::ErrnoText(errno));
    }
  }
}

void FileRights::GiveAll(File& file, std::vector<std::string>& lost) const {
  lost.clear();
  file.SetMode(0600);
  GiveAttributes(file, lost);
  lost.insert(lost.end(), unread.begin(), unread.end());
  GiveAccess(file, lost);
}

void FileRights::GiveDefault(File& file, int directory, const std::string& path) {
  std::string acl = ReadAcl(detail::ProcPath(directory) + "/.", "system.posix_acl_default", path);
  if (acl.empty()) return file.SetMode(DefaultMode());
  KeepReadAndWrite(acl);
  if (::fsetxattr(file.fd_.get(), kAcl, acl.data(), acl.size(), 0) != 0) file.Fail("set the ACL of", 0, 0, errno);
}

void FileRights::RemoveAcl(File& file) { ::fremovexattr(file.fd_.get(), kAcl); }

}  // namespace gpusort
