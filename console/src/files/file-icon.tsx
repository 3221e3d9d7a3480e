import { File, FileSymlink, Folder, FolderOpen, FolderSymlink } from "lucide";
import type { FileInfo } from "sandpipe";
import { Icon } from "../design/icon.js";

/** What a name is, as a picture. */
export function FileIcon({ file, isExpanded }: { file: FileInfo; isExpanded?: boolean }) {
  const isLink = file.type === "symlink";
  if (!file.isDir) return <Icon of={isLink ? FileSymlink : File} size={15} />;
  const folder = isExpanded === true ? FolderOpen : Folder;
  return <Icon of={isLink ? FolderSymlink : folder} size={15} />;
}
