import "@xterm/xterm/css/xterm.css";
import "./design/tokens.css";
import "./design/base.css";
import "./design/controls.css";

import { render } from "preact";
import { App } from "./app.js";
import { refuseStrayDrops } from "./files/stray-drops.js";
import { tokenIn } from "./sign-in/credentials.js";

const place = document.querySelector("#app");
if (place !== null) render(<App />, place);

refuseStrayDrops();

// Another link with a token was opened here: begin with that one.
addEventListener("hashchange", () => {
  if (tokenIn(location.hash) !== undefined) location.reload();
});
