import "@xterm/xterm/css/xterm.css";
import "./style.css";

import { render } from "preact";
import { App } from "./app.js";

const place = document.querySelector("#app");
if (place !== null) render(<App />, place);
