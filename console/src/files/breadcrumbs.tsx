import { House } from "lucide";
import { Icon } from "../design/icon.js";
import { above, shownName, shownPath } from "./raw-path.js";

/** The directory that the tree begins with, and those above it, to begin with one of them. */
export function Breadcrumbs({
  root,
  workspace,
  onShow,
}: {
  root: string;
  workspace: string;
  onShow: (root: string) => void;
}) {
  return (
    <nav class="breadcrumbs" aria-label="Directory that is shown">
      {root !== workspace && (
        <button
          class="quiet square"
          aria-label="Go to the workspace"
          title="Workspace"
          onClick={() => {
            onShow(workspace);
          }}
        >
          <Icon of={House} size={14} />
        </button>
      )}
      <ol>
        {[...above(root), root].map((directory) => (
          <li key={directory}>
            <button
              class="quiet small"
              aria-current={directory === root ? "true" : undefined}
              title={shownPath(directory)}
              onClick={() => {
                onShow(directory);
              }}
            >
              {shownName(directory)}
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}
