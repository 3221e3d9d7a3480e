import { textOf, useSubmission } from "../form.js";
import { Failure } from "../message.js";

/** Asks for the name of a new directory. Escape gives it up. */
export function NewFolder({
  where,
  onCreate,
  onClose,
}: {
  /** The directory that it is made in, as it is shown. */
  where: string;
  onCreate: (name: string) => Promise<void>;
  onClose: () => void;
}) {
  const { busy, error, submit } = useSubmission();
  return (
    <form
      class="new-folder"
      aria-label="New folder"
      onSubmit={(event) => {
        event.preventDefault();
        const name = textOf(event.currentTarget, "name");
        void submit(async () => {
          await onCreate(name);
          onClose();
        });
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <div class="new-folder-line">
        <input
          ref={(input) => input?.focus()}
          name="name"
          class="code"
          required
          spellcheck={false}
          autocomplete="off"
          aria-label={`Name of the new folder in ${where}`}
          placeholder={`New folder in ${where}`}
        />
        <button class="primary" disabled={busy}>
          Create
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
      <Failure error={error} />
    </form>
  );
}
