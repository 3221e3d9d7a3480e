// A page that uses the package: what Vite makes of it is what it downloads.
import { background, connect } from "sandpipe";

globalThis.sandpipe = { background, connect };
