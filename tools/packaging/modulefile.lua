-- A module of Lmod for this bundle, wherever it is: module use BUNDLE/share/modulefiles, then module load gpusort.
local here = myFileName()
local root = here:match("^(.*)/share/modulefiles/gpusort/[^/]*$")
if not root then
  LmodError("gpusort: " .. here .. " is not in the folder share/modulefiles/gpusort of a bundle")
end
whatis("Name: gpusort")
whatis("Version: " .. myModuleVersion())
whatis("Description: sorts files that are larger than memory, on a GPU or without one")
help([[gpusort sorts lines of text, CSV, JSON Lines, database dumps and binary records. "man gpusort" has all options.
GPUs need NVIDIA's driver, and no other module.]])
prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share/man"))
