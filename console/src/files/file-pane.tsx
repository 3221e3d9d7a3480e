import { ChevronLeft, Download, FileX, FolderPlus, Upload } from "lucide";
import type { ComponentChildren } from "preact";
import type { FileInfo, Files } from "sandpipe";
import { useNow } from "../clock.js";
import { Empty } from "../design/empty.js";
import { Icon } from "../design/icon.js";
import { Menu } from "../design/menu.js";
import { Failure } from "../message.js";
import { lineOf } from "../runs/command-line.js";
import { ageText } from "../runs/time-text.js";
import { actionsOf, type FileActions } from "./actions.js";
import { isReadable, MAX_PICTURE, MAX_TEXT, type Preview } from "./preview.js";
import { shownPath } from "./raw-path.js";
import { sizeText } from "./size-text.js";
import { usePreview } from "./use-preview.js";
import "../output/pane.css";

/** What is said of a file or a directory, and what can be done with it, above what is in it. */
function Head({
  file,
  facts,
  tools,
  actions,
  onBack,
}: {
  file: FileInfo;
  facts: readonly string[];
  tools: ComponentChildren;
  actions: FileActions;
  onBack: () => void;
}) {
  const now = useNow();
  const all = [
    ...facts,
    `changed ${ageText(Date.parse(file.modTime), now)}`,
    file.mode === undefined ? "" : `mode ${file.mode.toString(8).padStart(3, "0")}`,
    file.linkTarget === undefined ? "" : `a link to ${file.linkTarget}`,
    file.raw === undefined ? "" : `its path is not UTF-8: ${file.raw}`,
  ].filter((fact) => fact !== "");
  return (
    <div class="pane-head">
      <button class="quiet square narrow-only" aria-label="Back to the tree" onClick={onBack}>
        <Icon of={ChevronLeft} />
      </button>
      <div class="pane-title">
        <h2 class="code file-path" title={file.path}>
          <span class="shell">{file.path.slice(0, -file.name.length)}</span>
          <span>{file.name}</span>
        </h2>
        <p class="pane-facts">
          {all.map((fact) => (
            <span key={fact}>{fact}</span>
          ))}
        </p>
      </div>
      <div class="pane-tools">
        {tools}
        <Menu label={`More actions: ${file.name}`} items={() => actionsOf(file, actions)} />
      </div>
    </div>
  );
}

/** What there is to see of a file. */
export function FilePane({
  files,
  file,
  raw,
  actions,
  onBack,
}: {
  files: Files;
  file: FileInfo;
  raw: string;
  actions: FileActions;
  onBack: () => void;
}) {
  const { preview, error } = usePreview(files, file, raw);
  const download = () => {
    actions.download(file);
  };
  return (
    <section class="pane" aria-label={`File ${file.path}`}>
      <Head
        file={file}
        facts={[sizeText(file.size)]}
        actions={actions}
        onBack={onBack}
        tools={
          isReadable(file) && (
            <button onClick={download}>
              <Icon of={Download} size={14} />
              Download
            </button>
          )
        }
      />
      <Failure error={error} />
      {preview?.kind === "text" && !preview.isAll && (
        <p class="pane-note">
          The first {sizeText(MAX_TEXT)} of {sizeText(file.size)} are shown. Download has all of it.
        </p>
      )}
      <div class="pane-body">
        {preview === undefined ? (
          error === undefined && <p class="list-note">Reading…</p>
        ) : (
          <Content preview={preview} file={file} onDownload={download} />
        )}
      </div>
    </section>
  );
}

function Content({
  preview,
  file,
  onDownload,
}: {
  preview: Preview;
  file: FileInfo;
  onDownload: () => void;
}) {
  const button = <button onClick={onDownload}>Download {file.name}</button>;
  switch (preview.kind) {
    case "text":
      return <Text text={preview.text} name={file.name} />;
    case "picture":
      return (
        <div class="picture" role="group" aria-label={`Content of ${file.name}`} tabIndex={0}>
          <img src={preview.address} alt={file.name} />
        </div>
      );
    case "empty":
      return <p class="list-note">This file is empty.</p>;
    case "binary":
      return preview.large ? (
        <Empty icon={FileX} title="Too large to be shown" action={button}>
          A picture of {sizeText(file.size)}; up to {sizeText(MAX_PICTURE)} are shown here.
        </Empty>
      ) : (
        <Empty icon={FileX} title="This is not text" action={button}>
          {sizeText(file.size)} that are neither UTF-8 nor a picture that browsers know. Download
          keeps every byte.
        </Empty>
      );
    case "special":
      return (
        <Empty icon={FileX} title="Not a file">
          This is {preview.name}: it has no content to be shown or downloaded.
        </Empty>
      );
  }
}

/** A text with the numbers of its lines beside it. */
function Text({ text, name }: { text: string; name: string }) {
  const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
  const numbers = Array.from({ length: lines }, (_, index) => index + 1).join("\n");
  return (
    <div class="text" role="group" aria-label={`Content of ${name}`} tabIndex={0}>
      <pre class="line-numbers" aria-hidden="true">
        {numbers}
      </pre>
      <pre>{text}</pre>
    </div>
  );
}

/** What uploads the directory in which it is pasted. */
function copyCommand(directory: string, url: string): string {
  return lineOf({ command: "sandpipe", args: ["cp", "--url", url, ".", `sandbox:${directory}`] });
}

/** A directory: how much is in it, and how to put more there. */
export function DirectoryPane({
  directory,
  raw,
  url,
  count,
  actions,
  onBack,
  onUpload,
  onNewFolder,
}: {
  directory: FileInfo;
  raw: string;
  /** The agent's. */
  url: string;
  /** How many names are in it; undefined while that is not known. */
  count: number | undefined;
  actions: FileActions;
  onBack: () => void;
  onUpload: () => void;
  onNewFolder: () => void;
}) {
  return (
    <section class="pane" aria-label={`Directory ${directory.path}`}>
      <Head
        file={directory}
        facts={count === undefined ? [] : [count === 1 ? "1 name" : `${count} names`]}
        actions={actions}
        onBack={onBack}
        tools={
          <button onClick={onNewFolder}>
            <Icon of={FolderPlus} size={14} />
            New folder
          </button>
        }
      />
      <div class="pane-body">
        <Empty
          icon={Upload}
          title="Drop files or folders here"
          // A command line has no name that is not UTF-8.
          {...(directory.raw === undefined ? { command: copyCommand(directory.path, url) } : {})}
          action={
            <button class="primary" onClick={onUpload}>
              Choose files to upload
            </button>
          }
        >
          They are uploaded into <code>{shownPath(raw)}</code>, byte for byte. What is there already
          is replaced only if you say so.
        </Empty>
      </div>
    </section>
  );
}
