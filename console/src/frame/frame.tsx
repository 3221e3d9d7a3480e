import { LogOut } from "lucide";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { describe, type Connection } from "../connection/state.js";
import { Icon } from "../design/icon.js";
import icon from "../icon.svg";
import { PAGES, type Page } from "../route.js";
import { LossBanner } from "./banner.js";
import { PICTURES, TITLES } from "./descriptions.js";
import { Help } from "./help.js";
import { PolicyBadge } from "./policy-badge.js";
import { useShortcuts } from "./shortcuts.js";
import "./frame.css";

/** The frame of the page, which never scrolls: its head, what is wrong, the navigation, and the page. */
export function Frame({
  policy,
  url,
  page,
  connection,
  onTryNow,
  onSignOut,
  children,
}: {
  /** The agent's, as far as it is known. */
  policy: string | undefined;
  url: string;
  page: Page;
  connection: Connection;
  onTryNow: () => void;
  onSignOut: () => void;
  children: ComponentChildren;
}) {
  useShortcuts();
  useEffect(() => {
    document.title = `${TITLES[page]} – Sandpipe console`;
  }, [page]);
  return (
    <div class="frame">
      <header class="head">
        <span class="brand">
          <img src={icon} alt="" width="20" height="20" />
          Sandpipe
        </span>
        <p class={`badge connection ${connection.state}`} role="status">
          {describe(connection)}
        </p>
        <span class="badge agent">{new URL(url).host}</span>
        <PolicyBadge policy={policy} />
        <span class="head-end">
          <Help />
          <button class="quiet square" aria-label="Sign out" title="Sign out" onClick={onSignOut}>
            <Icon of={LogOut} />
          </button>
        </span>
      </header>
      <LossBanner connection={connection} onTryNow={onTryNow} onSignOut={onSignOut} />
      <nav class="navigation" aria-label="Pages">
        {PAGES.map((name) => (
          <a key={name} href={`#/${name}`} aria-current={name === page ? "page" : undefined}>
            <Icon of={PICTURES[name]} size={20} />
            <span>{TITLES[name]}</span>
          </a>
        ))}
      </nav>
      <main class="page">
        <h1 class="unseen">{TITLES[page]}</h1>
        {children}
      </main>
    </div>
  );
}
