import { FileQuestionMark, FolderPlus, FolderTree, Lock, RefreshCw, Unplug, Upload } from "lucide";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isSandpipeError, type FileInfo, type Files } from "sandpipe";
import type { Connection } from "../connection/state.js";
import { Confirm } from "../design/confirm.js";
import { Divider } from "../design/divider.js";
import { Empty } from "../design/empty.js";
import { Icon } from "../design/icon.js";
import { NARROW, useMedia } from "../media.js";
import { Failure, messageOf } from "../message.js";
import { hashOf } from "../route.js";
import { useStore } from "../store.js";
import { keep, kept } from "../tab-storage.js";
import { goTo } from "../use-route.js";
import type { FileActions } from "./actions.js";
import { Breadcrumbs } from "./breadcrumbs.js";
import { dropped, hasFiles } from "./dropped.js";
import { FilePane, DirectoryPane } from "./file-pane.js";
import { FileTree } from "./file-tree.js";
import { NewFolder } from "./new-folder.js";
import { parentOf, rawOfFile, shownName, within } from "./raw-path.js";
import { TreeView } from "./tree-view.js";
import { UploadList } from "./upload-list.js";
import { Uploads } from "./uploads.js";
import { useDownload } from "./use-download.js";
import { useFile } from "./use-file.js";
import { useRefresh } from "./use-refresh.js";
import { useLeaveQuestion } from "./use-leave-question.js";
import "./files.css";

/** The files of the sandbox: a tree, and what is selected in it. */
export function FilesPage({
  files,
  url,
  connection,
  raw,
  isShown,
}: {
  files: Files;
  /** The agent's. */
  url: string;
  connection: Connection;
  /** The path that the address names. */
  raw: string | undefined;
  /** Nothing is read while another page is looked at. */
  isShown: boolean;
}) {
  const tree = useMemo(() => new FileTree(files), [files]);
  const uploads = useMemo(() => new Uploads(files, (raw) => void tree.readFor(raw)), [files, tree]);
  const root = useStore(tree.root);
  const workspace = useStore(tree.workspace);
  const treeError = useStore(tree.error);
  const listings = useStore(tree.listings);
  const isNarrow = useMedia(NARROW);
  const isLive = connection.state === "live";
  const [width, setWidth] = useState(() => Number(kept("tree-width") ?? 30));
  const [isNaming, setNaming] = useState(false);
  const [removing, setRemoving] = useState<FileInfo>();
  const [error, setError] = useState<unknown>();
  const chooser = useRef<HTMLInputElement>(null);
  const download = useDownload(files);
  const version = useRefresh(tree, isShown && isLive);
  const selected = raw ?? root;
  const { file, error: fileError } = useFile(files, selected, version, isShown && isLive);
  useLeaveQuestion(uploads);

  useEffect(() => {
    if (isShown && raw !== undefined && workspace !== undefined) tree.reveal(raw);
  }, [isShown, raw, workspace]);
  useEffect(() => {
    if (raw !== undefined && file?.isDir === true && rawOfFile(file) === raw) tree.expand(raw);
  }, [raw, file?.isDir]);
  useEffect(
    () => () => {
      uploads.close();
    },
    [uploads],
  );

  const directory = directoryOf(selected, file) ?? root;
  const actions: FileActions = {
    open: (raw) => {
      goTo({ page: "files", id: raw });
    },
    download: (file) => void download.begin(file),
    copyPath: ({ path }) => void navigator.clipboard.writeText(path).catch(setError),
    copyLink: (file) => {
      const hash = hashOf({ page: "files", id: rawOfFile(file) });
      void navigator.clipboard.writeText(new URL(hash, location.href).href).catch(setError);
    },
    remove: setRemoving,
  };
  async function remove(file: FileInfo) {
    const removed = rawOfFile(file);
    setError(undefined);
    try {
      // Of a link, not what it leads to.
      await files.remove(file, { recursive: file.isDir && file.type !== "symlink" });
      if (selected === removed || raw?.startsWith(`${removed}/`) === true) {
        goTo({ page: "files", id: parentOf(removed) });
      }
    } catch (error) {
      setError(error);
    }
    await tree.read(parentOf(removed));
  }
  const drop = (directory: string, transfer: DataTransfer) => {
    setError(undefined);
    dropped(transfer).then((sources) => {
      uploads.add(directory, sources);
    }, setError);
  };
  const choose = () => chooser.current?.click();
  const name = () => {
    setNaming(true);
  };

  if (treeError !== undefined && workspace === undefined) {
    return <NoFiles error={treeError} isLive={isLive} />;
  }
  const isPaneView = isNarrow && raw !== undefined && file?.isDir !== true;
  return (
    <div class="runs-page">
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={({ currentTarget: input }) => {
          const sources = [...(input.files ?? [])].map((file) => ({ name: file.name, file }));
          if (directory !== undefined) uploads.add(directory, sources);
          // The same ones can be chosen again.
          input.value = "";
        }}
      />
      {!isLive && root !== undefined && (
        <p class="pane-loss">
          <Icon of={Unplug} size={14} />
          <span>Not live: files may have changed since.</span>
        </p>
      )}
      <Failure error={error ?? download.error} />
      <div class="columns" style={{ "--list-width": `${width}%` }}>
        {!isPaneView && (
          <section class="list" aria-label="Files">
            <div class="list-head">
              {root !== undefined && workspace !== undefined ? (
                <Breadcrumbs
                  root={root}
                  workspace={workspace}
                  onShow={(root) => {
                    tree.show(root);
                    goTo({ page: "files", id: root });
                  }}
                />
              ) : (
                // Their room, so that nothing moves when they come.
                <div class="breadcrumbs" />
              )}
              <div class="file-tools">
                <button class="small" disabled={directory === undefined} onClick={choose}>
                  <Icon of={Upload} size={14} />
                  Upload
                </button>
                <button class="small" disabled={directory === undefined} onClick={name}>
                  <Icon of={FolderPlus} size={14} />
                  New folder
                </button>
                {directory !== undefined && directory !== root && (
                  <span class="hint">in {shownName(directory)}</span>
                )}
                <button
                  class="quiet square small"
                  aria-label="Read the tree again"
                  title="Refresh"
                  onClick={() => void tree.refresh(true)}
                >
                  <Icon of={RefreshCw} size={14} />
                </button>
              </div>
              {isNaming && directory !== undefined && (
                <NewFolder
                  where={shownName(directory)}
                  onCreate={async (name) => {
                    const made = within(directory, name);
                    await files.mkdir({ raw: made });
                    await tree.read(directory);
                    goTo({ page: "files", id: made });
                  }}
                  onClose={() => {
                    setNaming(false);
                  }}
                />
              )}
            </div>
            {root === undefined ? (
              <p class="list-note">Waiting for the agent…</p>
            ) : (
              <TreeView
                tree={tree}
                root={root}
                selected={selected}
                actions={actions}
                onDrop={drop}
              />
            )}
            <UploadList uploads={uploads} />
            {download.notice !== "" && (
              <p class="list-foot" role="status">
                {download.notice}
              </p>
            )}
          </section>
        )}
        {!isNarrow && (
          <Divider
            label="Divide tree and file"
            value={width}
            min={20}
            max={60}
            onChange={(value) => {
              keep("tree-width", value);
              setWidth(value);
            }}
          />
        )}
        {(!isNarrow || isPaneView) && (
          <div
            class="outputs"
            onDragOver={(event) => {
              if (hasFiles(event.dataTransfer) && directory !== undefined) event.preventDefault();
            }}
            onDrop={(event) => {
              if (!hasFiles(event.dataTransfer) || directory === undefined) return;
              event.preventDefault();
              drop(directory, event.dataTransfer);
            }}
          >
            {selected === undefined || (file === undefined && fileError === undefined) ? (
              <p class="list-note">Waiting for the agent…</p>
            ) : file === undefined ? (
              <NoFile
                raw={selected}
                error={fileError}
                onLeave={() => {
                  if (workspace !== undefined) tree.show(workspace);
                  goTo({ page: "files" });
                }}
              />
            ) : file.isDir ? (
              <DirectoryPane
                directory={file}
                raw={selected}
                url={url}
                count={listings.get(selected)?.files.length}
                actions={actions}
                onBack={() => {
                  goTo({ page: "files" });
                }}
                onUpload={choose}
                onNewFolder={name}
              />
            ) : (
              <FilePane
                files={files}
                file={file}
                raw={selected}
                actions={actions}
                onBack={() => {
                  goTo({ page: "files", id: parentOf(selected) });
                }}
              />
            )}
          </div>
        )}
      </div>
      {removing !== undefined && (
        <Confirm
          title={`Remove ${removing.name}?`}
          action="Remove"
          onConfirm={() => void remove(removing)}
          onClose={() => {
            setRemoving(undefined);
          }}
        >
          {removing.isDir && removing.type !== "symlink"
            ? "The directory goes with all that is in it. This can’t be undone."
            : "This can’t be undone."}
        </Confirm>
      )}
    </div>
  );
}

/** Where what is made or uploaded goes: into what is selected, or beside it. */
function directoryOf(selected: string | undefined, file: FileInfo | undefined): string | undefined {
  if (selected === undefined || file === undefined) return undefined;
  return file.isDir ? selected : parentOf(selected);
}

function NoFile({ raw, error, onLeave }: { raw: string; error: unknown; onLeave: () => void }) {
  const isMissing = isSandpipeError(error, "http") && error.status === 404;
  return (
    <Empty
      icon={FileQuestionMark}
      title={isMissing ? "This file is not there" : "This can’t be shown"}
      action={<button onClick={onLeave}>Show the workspace</button>}
    >
      {isMissing ? (
        <>
          The agent has no <code>{shownName(raw)}</code> there: it was removed or renamed, or the
          link is to another agent.
        </>
      ) : (
        <Failure error={error} />
      )}
    </Empty>
  );
}

function NoFiles({ error, isLive }: { error: unknown; isLive: boolean }) {
  if (isSandpipeError(error, "http") && error.status === 403) {
    return (
      <Empty icon={Lock} title="This token may not see files" command="sandpipe console">
        {messageOf(error)} Or have the command line do it:
      </Empty>
    );
  }
  if (!isLive) return <p class="list-note">Waiting for the agent…</p>;
  return (
    <Empty icon={FolderTree} title="No files to be shown">
      <Failure error={error} />
    </Empty>
  );
}
