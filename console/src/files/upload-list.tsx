import { Check, X } from "lucide";
import { Icon } from "../design/icon.js";
import { messageOf } from "../message.js";
import { useStore } from "../store.js";
import { shownName } from "./raw-path.js";
import { sizeText } from "./size-text.js";
import { isUnderWay, type Upload, type Uploads } from "./uploads.js";

/** How many of very many are shown one by one. */
const MAX_SHOWN = 50;

/** The files that are on their way, and what became of the others. */
export function UploadList({ uploads }: { uploads: Uploads }) {
  const all = useStore(uploads.store);
  if (all.length === 0) return null;
  const done = all.filter(({ state }) => state.kind === "done").length;
  const open = all.filter(({ state }) => state.kind !== "done");
  const shown = (open.length > 0 ? open : all).slice(0, MAX_SHOWN);
  return (
    <section class="uploads" aria-label="Uploads">
      <div class="uploads-head">
        <span role="status">
          {done} of {all.length === 1 ? "1 file" : `${all.length} files`} uploaded
        </span>
        <button
          class="quiet small"
          disabled={all.every(isUnderWay)}
          onClick={() => {
            uploads.clear();
          }}
        >
          Clear
        </button>
      </div>
      <ul>
        {shown.map((upload) => (
          <UploadItem key={upload.key} upload={upload} uploads={uploads} />
        ))}
      </ul>
    </section>
  );
}

function UploadItem({ upload, uploads }: { upload: Upload; uploads: Uploads }) {
  const { key, name, file, directory, state } = upload;
  const drop = () => {
    uploads.drop(key);
  };
  return (
    <li>
      <div class="upload-line">
        <span class="upload-name" title={name}>
          {name}
        </span>
        {state.kind === "exists" ? (
          <>
            <button
              class="small danger"
              aria-label={`Replace ${name}`}
              onClick={() => {
                uploads.replace(key);
              }}
            >
              Replace
            </button>
            <button class="small" aria-label={`Skip ${name}`} onClick={drop}>
              Skip
            </button>
          </>
        ) : state.kind === "done" ? (
          <span class="upload-done">
            <Icon of={Check} size={14} />
            {sizeText(file.size)}
          </span>
        ) : (
          <button
            class="quiet square"
            aria-label={`Give up ${name}`}
            title="Give up"
            onClick={drop}
          >
            <Icon of={X} size={14} />
          </button>
        )}
      </div>
      {state.kind === "sending" && (
        <progress
          aria-label={`Upload of ${name}`}
          max={Math.max(1, file.size)}
          value={state.bytes}
        />
      )}
      {state.kind === "exists" && (
        <p class="hint">There is one already in {shownName(directory)}.</p>
      )}
      {state.kind === "failed" && (
        <p class="upload-failure" role="alert">
          {messageOf(state.error)}
        </p>
      )}
    </li>
  );
}
