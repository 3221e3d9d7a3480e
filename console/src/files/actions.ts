import { Copy, Download, Link, Trash2 } from "lucide";
import type { FileInfo } from "sandpipe";
import type { MenuItem } from "../design/menu.js";
import { isReadable } from "./preview.js";

/** What can be done with a file or a directory. */
export interface FileActions {
  open: (raw: string) => void;
  download: (file: FileInfo) => void;
  copyPath: (file: FileInfo) => void;
  copyLink: (file: FileInfo) => void;
  remove: (file: FileInfo) => void;
}

/** The actions of a file, for its menu. */
export function actionsOf(file: FileInfo, actions: FileActions): readonly MenuItem[] {
  const download = {
    label: "Download",
    icon: Download,
    onSelect: () => {
      actions.download(file);
    },
  };
  return [
    ...(isReadable(file) ? [download] : []),
    {
      label: "Copy path",
      icon: Copy,
      onSelect: () => {
        actions.copyPath(file);
      },
    },
    {
      label: "Copy link",
      icon: Link,
      onSelect: () => {
        actions.copyLink(file);
      },
    },
    {
      label: "Remove",
      icon: Trash2,
      isDanger: true,
      onSelect: () => {
        actions.remove(file);
      },
    },
  ];
}
